"""Values that are compiled in: one set for all sizes. Takes measurements, gives a `FixedChoice`.

Constants, options of nvcc and words of the command line cannot follow the sizes of one program. The
set is taken that loses least on the average over all sizes, host integers at their best; the
program's own set, where that is hardly slower: who wrote it may have known of other sizes. The
values are also written as a header, or as options of nvcc, for the original source: what they set
must be open to it, by `#ifndef` or as `{NAME}`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.search.neighbours.classifier import Regret, regret
from cutune.search.neighbours.table import Configuration, Point, TimeTable
from cutune.search.program_space import own_values
from cutune.search.regions import HostMeasurement, Settings
from cutune.search.trials import plain
from cutune.source.program import Program
from cutune.space.parameter import ParameterOptions, holes

#: So much more may the program's own set lose, and stays. Two sweeps of one program differ by more:
#: their medians by 1.0 to 5.0 % (docs/bat.md).
HARDLY_SLOWER = 0.01
#: Values of some parameters, in the order of their names.
ValueSet = tuple[int | str, ...]


@dataclass(frozen=True)
class FixedChoice:
    """One set of values, and how it compares.

    Attributes:
        sizes: the names of `Regret.worst_point`.
        lost: the time that it loses against the best set of each size.
        own: the program's own values, as far as they were measured; `own_lost`: what they lose.
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
    data = [{n: v for data in one.data.values() for n, v in data.items()} for one in known]
    # No size is a parameter itself.
    parameters = {name for one in known for name in one.values}
    sizes = tuple(sorted({name for one in data for name in one} - parameters))
    points = [tuple(one.get(name, 0) for name in sizes) for one in data]
    times = best_times(zip(points, known, strict=True), names)
    sets = list(dict.fromkeys(tuple(one.values[name] for name in names) for one in known))
    table = set_table(sizes, times, sets)
    losses = [regret(table, lambda _, n=number: (n,)) for number in range(len(sets))]  # type: ignore[misc]
    ranks = [(0, 0.0) if lost is None else (-lost.known, lost.mean) for lost in losses]
    best = ranks.index(min(ranks))
    own_set = own_values_of(names, own)
    if own_set not in sets:
        return FixedChoice(dict(zip(names, sets[best], strict=True)), sizes, losses[best])
    own_lost = losses[sets.index(own_set)]
    best_lost = losses[best]
    if (
        own_lost is not None
        and best_lost is not None
        and own_lost.known == best_lost.known
        and own_lost.mean <= best_lost.mean + HARDLY_SLOWER
    ):
        best = sets.index(own_set)
    chosen, own_named = (dict(zip(names, one, strict=True)) for one in (sets[best], own_set))
    return FixedChoice(chosen, sizes, losses[best], own_named, own_lost)


def own_values_of(names: Sequence[str], own: Settings) -> ValueSet:
    """Return the program's own values of some parameters, "" where they are not known."""
    return tuple(own.get(name, "") for name in names)


def best_times(
    measured: Iterable[tuple[Point, HostMeasurement]], names: Sequence[str]
) -> Mapping[Point, Mapping[ValueSet, float]]:
    """Return the best time of each value set per point, with any host integers."""
    best: dict[Point, dict[ValueSet, float]] = {}
    for point, one in measured:
        times, values = best.setdefault(point, {}), tuple(one.values[name] for name in names)
        time = one.milliseconds or 0.0
        times[values] = min(times.get(values, time), time)
    return best


def set_table(
    sizes: Sequence[str], times: Mapping[Point, Mapping[ValueSet, float]], sets: Sequence[ValueSet]
) -> TimeTable:
    """Return a table in which the number of a value set stands for it."""
    numbers = {one: number for number, one in enumerate(sets)}
    labelled: dict[Point, Mapping[Configuration, float]] = {
        p: {(numbers[one],): t for one, t in own.items()} for p, own in times.items()
    }
    return TimeTable(tuple(sizes), ("set",), labelled)


HEADER, FLAGS = "header", "flags"


def options_text(program: Program, values: Settings, asked: ParameterOptions) -> str:
    """Return one option per line, for `nvcc --options-file`. Raises CT810 for a fixed constant."""
    defined = _guarded(program, values)
    words = [*compiler_flags(values, asked), *(f"-D{n}={v}" for n, v in defined.items())]
    return "".join(f"{word}\n" for word in words)


def header_text(program: Program, values: Settings) -> str:
    """Return macros, for `nvcc -include`. Raises CT810 for a constant that is not open."""
    defined = _guarded(program, values)
    lines = [f"#ifndef {n}\n#define {n} {v}\n#endif\n" for n, v in defined.items()]
    return "".join(["// The values that were fastest over all sizes.\n", *lines])


def compiler_flags(values: Settings, asked: ParameterOptions) -> tuple[str, ...]:
    """Return the options in which a chosen value stands."""
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
    """Return notes about values that neither the source nor an option of nvcc holds."""
    named = holes([*asked.flags, asked.make])
    known = {constant.name for constant in program.constants} | named
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
