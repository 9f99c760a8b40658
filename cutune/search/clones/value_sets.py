"""Chooses values that are compiled in. Takes times, gives one set for all sizes, or several.

Of sets for all sizes that one is taken which loses least on the average, host integers at their
best; but the program's own set where it is hardly slower: who wrote it may have known of other
sizes. The values are also written as a header, or as options of nvcc, for the original source.

A copy of code per set lets a program choose by size (`SetChoice`, also as C++11). Copies cost room:
sets are taken greedily, each time the one that is within `COVERED` of the best at most sizes where
none is yet, until every measured size has one or there are `MOST_SETS`. The pass `choose-values` is
given for the sets whose copies are proven. With several sizes a decision computes a distance per
measured place, so that each thread remembers what it decided last.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn
from cutune.core.typed import Integer, MemberName, Word, require
from cutune.passes import ChooseValues
from cutune.proof.compiled import UnitCompiler
from cutune.search.clones.dependence import NotBySize
from cutune.search.clones.find_copies import by_size_verdict, found_copies, note_of, tag
from cutune.search.clones.prove_copies import ProgramWithCopies, without_unproven
from cutune.search.neighbours.classifier import ChoiceModel, Regret, fit_choice, regret
from cutune.search.neighbours.emit_classifier import (
    LIBRARY,
    c_name,
    c_names,
    emit_choices,
    range_tests,
    run_mode,
)
from cutune.search.neighbours.table import Configuration, Point, TimeTable
from cutune.search.program_space import own_values
from cutune.search.regions import HostMeasurement, Settings
from cutune.search.trial_runs import named
from cutune.search.trials import plain
from cutune.source.program import HostTunable, Program, TunableConstant
from cutune.source.rewrite.c_text import c_string
from cutune.space.annotation import Condition
from cutune.space.parameter import ParameterOptions, holes

#: So much more may the program's own set lose, and stays. Two sweeps of one program differ by more:
#: their medians by 1.0 to 5.0 % (docs/bat.md).
HARDLY_SLOWER = 0.01
#: Values of some parameters, in the order of their names.
ValueSet = tuple[int | str, ...]


@dataclass(frozen=True)
class FixedChoice:
    """One set of values, and the time that is `lost` with it against the best set of each size.

    `sizes`: the names of `Regret.worst_point`. `own`: the program's own values, as far as they were
    measured; `own_lost`: what they lose.
    """

    values: Settings
    sizes: tuple[str, ...] = ()
    lost: Regret | None = None
    own: Settings | None = None
    own_lost: Regret | None = None

    def without(self, names: Collection[str]) -> FixedChoice:
        return FixedChoice({n: v for n, v in self.values.items() if n not in names})

    def fits(self, one: HostMeasurement) -> bool:
        return all(one.values.get(name) == value for name, value in self.values.items())


def fit_fixed(
    measured: Sequence[HostMeasurement], names: Sequence[str], own: Settings, held: Iterable[str]
) -> FixedChoice | None:
    """Return the best set of values of some parameters; None where nothing has a time.

    A set that was measured at more sizes comes before a faster one, and the program's own set,
    `own`, before one that is hardly faster. Parameters that are `held` keep their own values.
    """
    kept = {name: own.get(name) for name in held if name in names}
    known = [
        one
        for one in measured
        if one.milliseconds
        and {*names} <= one.values.keys()
        and all(one.values[name] == value for name, value in kept.items())
    ]
    if not known or not names:
        return None
    sizes, losses = _losses(known, names)
    best = min(losses, key=lambda one_set: (-losses[one_set].known, losses[one_set].mean))
    own_set = own_values_of(names, own)
    own_lost, least = losses.get(own_set), losses[best]
    if own_lost is None:
        return FixedChoice(dict(zip(names, best, strict=True)), sizes, least)
    if own_lost.known == least.known and own_lost.mean <= least.mean + HARDLY_SLOWER:
        best = own_set
    chosen, own_named = (dict(zip(names, one_set, strict=True)) for one_set in (best, own_set))
    return FixedChoice(chosen, sizes, losses[best], own_named, own_lost)


def _losses(
    known: Sequence[HostMeasurement], names: Sequence[str]
) -> tuple[tuple[str, ...], Mapping[ValueSet, Regret]]:
    """The names of all sizes, and what each set of values loses over them."""
    data = [{n: v for data in one.data.values() for n, v in data.items()} for one in known]
    # No size is a parameter itself.
    parameters = {name for one in known for name in one.values}
    sizes = tuple(sorted({name for one in data for name in one} - parameters))
    points = [tuple(one.get(name, 0) for name in sizes) for one in data]
    times = best_times(zip(points, known, strict=True), names)
    sets = list(dict.fromkeys(tuple(one.values[name] for name in names) for one in known))
    table = set_table(sizes, times, sets)
    losses = dict[ValueSet, Regret]()
    for number, one_set in enumerate(sets):
        if (lost := regret(table, lambda _, n=number: (n,))) is not None:  # type: ignore[misc]
            losses[one_set] = lost
    return sizes, losses


def own_values_of(names: Sequence[str], own: Settings) -> ValueSet:
    return tuple(own.get(name, "") for name in names)


def best_times(
    measured: Iterable[tuple[Point, HostMeasurement]], names: Sequence[str]
) -> Mapping[Point, Mapping[ValueSet, float]]:
    """The least time of each set of values, at each point."""
    best: dict[Point, dict[ValueSet, float]] = {}
    for point, one in measured:
        times, values = best.setdefault(point, {}), tuple(one.values[name] for name in names)
        time = one.milliseconds or 0.0
        times[values] = min(times.get(values, time), time)
    return best


def set_table(
    sizes: Sequence[str], times: Mapping[Point, Mapping[ValueSet, float]], sets: Sequence[ValueSet]
) -> TimeTable:
    """Times by the numbers of sets, as a classifier takes them."""
    numbers = {one: number for number, one in enumerate(sets)}
    labelled: dict[Point, Mapping[Configuration, float]] = {
        p: {(numbers[one],): t for one, t in own.items()} for p, own in times.items()
    }
    return TimeTable(tuple(sizes), ("set",), labelled)


HEADER, FLAGS = "header", "flags"


def options_text(program: Program, values: Settings, asked: ParameterOptions) -> str:
    """Return one option per line, for `nvcc --options-file`. Raises CT810 for a fixed constant."""
    defined = (f"-D{name}={value}" for name, value in _guarded(program, values).items())
    return "".join(f"{word}\n" for word in (*compiler_flags(values, asked), *defined))


def header_text(program: Program, values: Settings) -> str:
    """Return macros, for `nvcc -include`. Raises CT810 for a constant that is not open."""
    macros = _guarded(program, values).items()
    lines = (f"#ifndef {name}\n#define {name} {value}\n#endif\n" for name, value in macros)
    return "".join(["// The values that were fastest over all sizes.\n", *lines])


def compiler_flags(values: Settings, asked: ParameterOptions) -> tuple[str, ...]:
    with_names = [word for word in asked.flags if holes([word]) & values.keys()]
    return ParameterOptions(asked.parameters, (), tuple(with_names)).flags_at(values)


def make_command(values: Settings, asked: ParameterOptions) -> str:
    """Return the command that builds a project with the chosen values; "" where it has none."""
    chosen = {name: one for name, one in values.items() if name in holes([asked.make])}
    return asked.make_at(chosen) if chosen else ""


def changed(
    program: Program, values: Settings, asked: ParameterOptions
) -> dict[str, tuple[str, str]]:
    """Return the own and the chosen value of each name that is compiled in otherwise."""
    constants = {constant.name: constant.own_text for constant in program.constants}
    own = {name: str(plain(value)) for name, value in own_values(program, asked).items()}
    before, compiled = {**constants, **own}, {*constants, *holes([*asked.flags, asked.make])}
    texts = {name: str(value) for name, value in values.items() if name in compiled}
    return {n: (before[n], t) for n, t in texts.items() if before.get(n, t) != t}


def without_place(program: Program, values: Settings, asked: ParameterOptions) -> list[Diagnostic]:
    """Messages about chosen values of which no constant and no option has the name."""
    known = {one.name for one in program.constants} | holes([*asked.flags, asked.make])
    return [
        Diagnostic.at(Code.CHOSEN_NOWHERE, name=name, value=value)
        for name, value in values.items()
        if name not in known
    ]


def _guarded(program: Program, values: Settings) -> dict[str, int | str]:
    """Return the macros that a header or `-D` can set; raise CT810 for others."""
    chosen = [constant for constant in program.constants if constant.name in values]
    for one in chosen:
        if not one.is_guarded:
            code, path = Code.UNGUARDED_CONSTANT, one.source.path
            raise CutuneError.at(code, one.source, one.value, name=one.name, path=path)
    return {constant.name: values[constant.name] for constant in chosen}


#: Most value sets besides the program's own.
MOST_SETS = 8
#: A set serves a size where it is at most so much slower than the best that was measured there.
COVERED = 0.03
OWN = 0


@dataclass(frozen=True)
class SetChoice:
    """Value sets, and the classifier of sizes that gives the number of one.

    `sets` have the numbers 1, 2, …; 0 stands for the program's own values.
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

    In what was `measured`, other compiled parameters have the values that they will have. `limit`:
    the regret that is accepted for the sake of fewer intervals.
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
    times: dict[Point, dict[Configuration, float]] = {
        point: {(labels[number],): time for (number,), time in own.items() if number in labels}
        for point, own in table.times.items()
    }
    return replace(table, times={point: own for point, own in times.items() if own})


def covering(table: TimeTable, own: int | None) -> list[int]:
    """Choose sets greedily; the program's own set, where it was measured, comes first."""
    kept = [] if own is None else [own]
    open_ = {p for p in table.points if own is None or table.regret(p, (own,)) > COVERED}
    candidates = [label for (label,) in table.configurations]
    while open_ and len(kept) < MOST_SETS + (own is not None):
        best = max(candidates, key=lambda one: _gain(table, open_, one))
        kept.append(best)
        open_ = {point for point in open_ if table.regret(point, (best,)) > COVERED}
    return kept


def _gain(table: TimeTable, points: set[Point], label: int) -> tuple[int, float]:
    lost = [one for point in points if (one := table.regret(point, (label,))) <= COVERED]
    return len(lost), -sum(lost)


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

    `cases`: the number of the copy by that of the set; a set without one runs as 0. `own`: the
    program's own values, as they are written.
    """
    model = replace(choice.model, tunables=(f"of_{routine}",))
    names = c_names(model)
    parameters = ", ".join(f"long long {name}" for name in names)
    within = " && ".join(range_tests(model, model.choices[0]))
    table = ", ".join(str(cases.get(number, 0)) for number in range(len(choice.sets) + 1))
    copies = max(cases.values(), default=0)
    chosen = f"cutune_cases[cutune_choose_{c_name(model.tunables[0])}({', '.join(names)})]"
    several = len(model.sizes) > 1
    decide = _remembering(names, chosen) if several else f"        cutune_case = {chosen};\n"
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
{_telling(model, names, _values_of_copies(choice, cases, own))}    return cutune_case;
}}
"""


def _values_of_copies(
    choice: SetChoice, cases: Mapping[int, int], own: Sequence[str]
) -> Iterator[str]:
    """Yield the values of each copy in words, the program's own first."""
    sets = {copy: choice.sets[number - 1] for number, copy in reversed([*cases.items()])}
    for values in (own, *(sets[copy] for copy in sorted(sets))):
        yield named(dict(zip(choice.names, values, strict=True)))


def _telling(model: ChoiceModel, names: Sequence[str], copies: Iterable[str]) -> str:
    """Return C that says which copy is called, where it or the sizes are not the last ones."""
    shown = ", ".join(map(c_string, copies))
    sizes = ", ".join(f"{name} = %lld" for name in model.sizes)
    line = c_string(f"cutune: %s for {sizes}\n")
    others = " || ".join(f"cutune_last[{i}] != {name}" for i, name in enumerate(names))
    remembered = " ".join(f"cutune_last[{i}] = {name};" for i, name in enumerate(names))
    return f"""\
    if (cutune_shown) {{
        static const char *const cutune_names[] = {{{shown}}};
        static thread_local long long cutune_last[{len(names) + 1}] = {{0}};
        if (cutune_last[{len(names)}] != cutune_case + 1 || {others}) {{
            {remembered} cutune_last[{len(names)}] = cutune_case + 1;
            cutune_say(cutune_stderr, {line}, cutune_names[cutune_case], {", ".join(names)});
        }}
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


def chosen_together(
    compiler: UnitCompiler, parameters: ParameterOptions, program: Program, names: Collection[str]
) -> list[TunableConstant]:
    """Return the most parameters that one function of the host can choose by size."""
    sized = [one for one in program.constants if one.name in names and one.data]
    if not sized:
        return []
    free = _without_conditions(parameters, program, {one.name for one in sized})
    groups: dict[str, list[TunableConstant]] = {}
    for one in sized:
        if one.name in free and (outer := by_size_verdict(compiler, program, one).outer):
            groups.setdefault(outer, []).append(one)
    return max(groups.values(), key=len, default=[])


def _without_conditions(
    parameters: ParameterOptions, program: Program, names: Collection[str]
) -> set[str]:
    places: list[HostTunable | TunableConstant] = [*program.tunables, *program.constants]
    conditions = [Condition.read(one.where) for one in places if one.where is not None]
    conditions += parameters.conditions
    others = {one.name for one in (*places, *parameters.parameters)}
    free = {*names}
    while tied := free & {n for one in conditions if one.names & others - free for n in one.names}:
        free -= tied
    return free


def sets_in_program(
    compiler: UnitCompiler, warn: Warn, program: Program, choice: SetChoice | None, fixed: Settings
) -> ChooseValues | None:
    """Return the pass with the proven copies for the chosen sets; None without any."""
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
        values = named(copies.sets[prefix])
        warn(Diagnostic.at(Code.COPY_LEFT_OUT, program.source, values=values, reason=reason))
    if not proven:
        return None
    cases = {list(copies.sets).index(prefix) + 1: case for case, prefix in enumerate(proven, 1)}
    left = replace(copies, sets={prefix: copies.sets[prefix] for prefix in proven})
    return ChooseValues(left, emit_sets(choice, routine, cases, own), routine)
