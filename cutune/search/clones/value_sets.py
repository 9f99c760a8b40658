"""Chooses the value sets of one program by size. Takes times, gives a `SetChoice`, and it as C.

Also gives the pass `choose-values` for the value sets whose copies are proven.

A copy of code per set costs room, so that few are wanted: sets are taken greedily, each time the
one that is within `COVERED` of the best at most sizes where none is yet, until every measured size
has one or there are `MOST_SETS`. The program's own values cost nothing: they are there in any case.

The C is valid in C++11. A decision is a comparison per interval; of several sizes, a distance per
measured place, so that each thread remembers what it decided last.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic, Warn
from cutune.core.typed import Integer, MemberName, Word, require
from cutune.passes import ChooseValues
from cutune.proof.compiled import UnitCompiler
from cutune.search.clones.dependence import NotBySize
from cutune.search.clones.prove_copies import (
    ProgramWithCopies,
    by_size_verdicts,
    found_copies,
    note_of,
    tag,
    without_unproven,
)
from cutune.search.neighbours.classifier import ChoiceModel, fit_choice
from cutune.search.neighbours.emit_classifier import (
    LIBRARY,
    c_name,
    emit_choices,
    range_tests,
    run_mode,
)
from cutune.search.neighbours.table import Configuration, Point, TimeTable
from cutune.search.regions import HostMeasurement, Settings
from cutune.search.tunables.compiled_values import best_times, own_values_of, set_table
from cutune.source.program import Program
from cutune.source.rewrite.c_text import c_string
from cutune.source.tunable import HostTunable, TunableConstant
from cutune.space.condition import Condition
from cutune.space.parameter import ParameterOptions

#: Most value sets besides the program's own.
MOST_SETS = 8
#: A set serves a size where it is at most so much slower than the best that was measured there.
COVERED = 0.03
#: The label of the program's own values.
OWN = 0


@dataclass(frozen=True)
class SetChoice:
    """Value sets, and the classifier that gives the number of one by sizes.

    Attributes:
        names: of the parameters.
        sets: those with the numbers 1, 2, …; 0 stands for the program's own values.
        model: of one tunable, the number.
    """

    names: tuple[MemberName, ...]
    sets: tuple[tuple[Integer | Word, ...], ...]
    model: ChoiceModel

    def check(self) -> None:
        """Raise ValueError where entries of a file do not fit together."""
        model = self.model
        model.check()
        require(0 < len(self.sets) <= MOST_SETS, "there are one to eight sets")
        require(all(len(one) == len(self.names) for one in self.sets), "a set has all values")
        is_number = len(model.tunables) == 1 and not model.given
        require(is_number, "one number is chosen, by sizes alone")
        labels = {label for choice in model.choices for (label,) in choice.configurations}
        require(all(0 <= label <= len(self.sets) for label in labels), "a number is that of a set")

    def fits(self, one: HostMeasurement, own: Settings) -> bool:
        """Was it measured with the values that are chosen at its sizes?"""
        sizes = _sizes_of(one, self.names)
        if not {*self.model.sizes} <= sizes.keys():
            return False
        (label,) = self.model.choose(tuple(sizes[name] for name in self.model.sizes))
        wanted = own_values_of(self.names, own) if label == OWN else self.sets[label - 1]
        return wanted == tuple(one.values.get(name) for name in self.names)


def fit_sets(
    measured: Sequence[HostMeasurement],
    names: Sequence[str],
    sizes: Sequence[str],
    own: Settings,
    limit: float,
) -> SetChoice | None:
    """Return the sets that cover the measured sizes; None where one set is best everywhere.

    Args:
        measured: where all other compiled parameters have the values that they will have.
        limit: the regret that is accepted for the sake of fewer intervals.
    """
    points = []
    for one in measured:
        at = _sizes_of(one, names)
        if one.milliseconds and {*names} <= one.values.keys() and {*sizes} <= at.keys():
            points.append((tuple(at[name] for name in sizes), one))
    times = best_times(points, names)
    own_set = own_values_of(names, own)
    sets = list(dict.fromkeys(one for each in times.values() for one in each))
    table = set_table(sizes, times, sets)
    kept = covering(table, sets.index(own_set) if own_set in sets else None)
    few = _relabelled(table, {number: number for number in kept})
    if not few.times:
        return None
    first = fit_choice(few, limit)
    used = {label for choice in first.choices for (label,) in choice.configurations}
    others = [number for number in kept if number in used and sets[number] != own_set]
    if len(used) < 2 or not others:
        return None
    labels = {number: label for label, number in enumerate(others, 1)}
    labels |= {number: OWN for number in used if sets[number] == own_set}
    model = fit_choice(_relabelled(few, labels), limit)
    return SetChoice(tuple(names), tuple(sets[number] for number in others), model)


def _relabelled(table: TimeTable, labels: Mapping[int, int]) -> TimeTable:
    """Return the table of those numbers that get labels, at the sizes where there is one."""
    times: dict[Point, dict[Configuration, float]] = {
        point: {(labels[number],): time for (number,), time in own.items() if number in labels}
        for point, own in table.times.items()
    }
    return replace(table, times={point: own for point, own in times.items() if own})


def covering(table: TimeTable, own: int | None) -> list[int]:
    """Choose sets greedily; the program's own set, where it was measured, comes first."""
    kept = [] if own is None else [own]
    open_ = {p for p in table.points if not any(_covers(table, p, one) for one in kept)}
    candidates = [label for (label,) in table.configurations]
    while open_ and len(kept) < MOST_SETS + (own is not None):
        best = max(candidates, key=lambda one: _gain(table, open_, one))
        kept.append(best)
        open_ = {point for point in open_ if not _covers(table, point, best)}
    return kept


def _gain(table: TimeTable, points: set[Point], label: int) -> tuple[int, float]:
    """Return at how many sizes a set serves, and then how little it loses there."""
    lost = [table.regret(p, (label,)) or 0.0 for p in points if _covers(table, p, label)]
    return len(lost), -sum(lost)


def _covers(table: TimeTable, point: Point, label: int) -> bool:
    lost = table.regret(point, (label,))
    return lost is not None and lost <= COVERED


def _sizes_of(one: HostMeasurement, names: Sequence[str]) -> Mapping[str, int]:
    return {n: v for name in names for n, v in one.data.get(name, {}).items()}


#: What CUTUNE and CUTUNE_VALUES ask for.
_ASKED = f"""\
{LIBRARY}#ifndef CUTUNE_SETS
#define CUTUNE_SETS
{run_mode("cutune_sets_mode")}\
// -1: by size; -2: each call takes the next set (CUTUNE_VALUES=next); else the number of a set, 0
// being the program's own values (CUTUNE=off, CUTUNE_VALUES=0).
static inline int cutune_sets_asked() {{
    const char *const wanted = cutune_environment("CUTUNE_VALUES");
    if (cutune_sets_mode() == 0) return 0;
    if (wanted == nullptr || *wanted == '\\0') return -1;
    return __builtin_strcmp(wanted, "next") == 0 ? -2 : cutune_number(wanted);
}}
#endif
"""


def emit_sets(choice: SetChoice, routine: str, cases: Mapping[int, int], own: Sequence[str]) -> str:
    """Return a function that gives the number of the copy to call, 0 outside the measured sizes.

    Args:
        cases: the number of the copy by the number of the set; a set without one runs as 0.
        own: the program's own values, as they are written.
    """
    choose = f"of_{routine}"
    several = len(choice.model.sizes) > 1
    model = replace(choice.model, tunables=(choose,))
    names = [f"cutune_{c_name(name)}" for name in model.sizes]
    parameters = ", ".join(f"long long {name}" for name in names)
    within = " && ".join(range_tests(names, model.choices[0].lowest, model.choices[0].highest))
    table = ", ".join(str(cases.get(number, 0)) for number in range(len(choice.sets) + 1))
    copies = max(cases.values(), default=0)
    set_of = {copy: number for number, copy in reversed([*cases.items()])}
    texts = [own, *(choice.sets[set_of[copy] - 1] for copy in range(1, copies + 1))]
    named = ([f"{n} = {v}" for n, v in zip(choice.names, one, strict=True)] for one in texts)
    shown = ", ".join(c_string(", ".join(one)) for one in named)
    sizes = ", ".join(f"{name} = %lld" for name in model.sizes)
    line = c_string(f"cutune: %s for {sizes}\n")
    others = " || ".join(f"cutune_last[{i}] != {name}" for i, name in enumerate(names))
    chosen = f"cutune_cases[cutune_choose_{c_name(choose)}({', '.join(names)})]"
    decide = _remembering(names, chosen) if several else f"        cutune_case = {chosen};\n"
    remembered = " ".join(f"cutune_last[{i}] = {name};" for i, name in enumerate(names))
    return f"""\
{_ASKED}{emit_choices([model])}static inline int {routine}({parameters})
{{
    static const signed char cutune_cases[] = {{{table}}};
    static const int cutune_asked = cutune_sets_asked();
    static const bool cutune_shown = cutune_sets_mode() == 2;
    int cutune_case = 0;
    if (cutune_asked == -2) {{
        static thread_local int cutune_next = 0;
        cutune_case = cutune_next++ % {copies + 1};
    }} else if (cutune_asked >= 0) {{
        cutune_case = cutune_asked <= {copies} ? cutune_asked : 0;
    }} else if ({within}) {{
{decide}    }}
    if (cutune_shown) {{
        static const char *const cutune_names[] = {{{shown}}};
        static thread_local long long cutune_last[{len(names) + 1}] = {{0}};
        if (cutune_last[{len(names)}] != cutune_case + 1 || {others}) {{
            {remembered} cutune_last[{len(names)}] = cutune_case + 1;
            cutune_say(cutune_stderr, {line}, cutune_names[cutune_case], {", ".join(names)});
        }}
    }}
    return cutune_case;
}}
"""


def _remembering(names: Sequence[str], chosen: str) -> str:
    """Return C that decides again only where the sizes are not the last ones of this thread."""
    known = [f"cutune_known[{index}]" for index in range(len(names) + 1)]
    is_other = " || ".join(f"{k} != {name}" for k, name in zip(known, names, strict=False))
    kept = " ".join(f"{k} = {name};" for k, name in zip(known, names, strict=False))
    return f"""\
        static thread_local long long cutune_known[{len(known)}] = {{0}};
        if ({known[-1]} == 0 || {is_other}) {{
            {kept} {known[-1]} = 1 + {chosen};
        }}
        cutune_case = (int){known[-1]} - 1;
"""


@dataclass(frozen=True)
class ChosenTogether:
    """Parameters that may be chosen by size together, and by which sizes."""

    names: tuple[str, ...]
    sizes: tuple[str, ...]


def chosen_together(
    compiler: UnitCompiler, parameters: ParameterOptions, program: Program, names: Collection[str]
) -> ChosenTogether | None:
    """Return the most parameters that one function of the host can choose, or None."""
    sized = [one for one in program.constants if one.name in names and one.data]
    if not sized:
        return None
    free = _without_conditions(parameters, program, {one.name for one in sized})
    verdicts = by_size_verdicts(compiler, program)
    groups: dict[str, list[TunableConstant]] = {}
    for one in sized:
        if one.name in free and (outer := verdicts[one.name].outer):
            groups.setdefault(outer, []).append(one)
    if not groups:
        return None
    chosen = max(groups.values(), key=len)
    sizes = dict.fromkeys(size for one in chosen for size in one.data)
    return ChosenTogether(tuple(one.name for one in chosen), tuple(sizes))


def _without_conditions(
    parameters: ParameterOptions, program: Program, names: Collection[str]
) -> set[str]:
    """Return those that no condition ties to a parameter that is not chosen with them."""
    places: list[HostTunable | TunableConstant] = [*program.tunables, *program.constants]
    conditions = [Condition.read(one.where) for one in places if one.where is not None]
    conditions += parameters.conditions
    others = {one.name for one in places} | {one.name for one in parameters.parameters}
    free = {*names}
    while tied := {
        name
        for condition in conditions
        if condition.names & others - free
        for name in condition.names & free
    }:
        free -= tied
    return free


@dataclass(frozen=True)
class SetsInProgram:
    """The pass with the proven sets, and the names of the parameters that are chosen by size."""

    step: ChooseValues
    names: tuple[str, ...]


def sets_in_program(
    compiler: UnitCompiler, warn: Warn, program: Program, choice: SetChoice | None, fixed: Settings
) -> SetsInProgram | None:
    """Return the proven copies for the chosen sets; None without any."""
    if choice is None:
        return None
    constants = [one for one in program.constants if one.name in choice.names]
    rest = {n: str(v) for n, v in fixed.items() if n not in choice.names}
    texts = [dict(zip(choice.names, map(str, one), strict=True)) for one in choice.sets]
    try:
        found, copies = found_copies(compiler, program, constants, rest, texts)
    except NotBySize as problem:
        warn(note_of(constants[0], problem))
        return None
    routine = f"cutune_set_{tag(program.source, texts)}"
    own_texts = {constant.name: constant.own_text for constant in constants}
    own = [own_texts[name] for name in choice.names if name in own_texts]
    every = {number: number for number in range(1, len(texts) + 1)}
    step = ChooseValues(copies, emit_sets(choice, routine, every, own), routine)
    copied = ProgramWithCopies(compiler, program, found, copies, rest, step)
    proven, refused = without_unproven(copied)
    for prefix, reason in refused.items():
        values = ", ".join(f"{n} = {v}" for n, v in copies.sets[prefix].items())
        warn(Diagnostic.at(Code.COPY_LEFT_OUT, program.source, values=values, reason=reason))
    if not proven:
        return None
    cases = {list(copies.sets).index(prefix) + 1: case for case, prefix in enumerate(proven, 1)}
    left = replace(copies, sets={prefix: copies.sets[prefix] for prefix in proven})
    selection = emit_sets(choice, routine, cases, own)
    return SetsInProgram(ChooseValues(left, selection, routine), choice.names)


def fixed_for_all_sizes(chosen: Settings, by_size: SetsInProgram | None) -> dict[str, int | str]:
    """Return the chosen values without those of parameters that are chosen by size."""
    names = by_size.names if by_size is not None else ()
    return {name: value for name, value in chosen.items() if name not in names}
