"""Values that are compiled in: one set for all sizes. Takes measurements, gives a `FixedChoice`.

Constants, options of nvcc and words of the command line cannot follow the sizes of one program. The
set is taken that loses least on the average over all sizes, host integers at their best; the
program's own set, where that is hardly slower: who wrote it may have known of other sizes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cutune.search.regions import HostMeasurement, Settings
from cutune.tunables.neighbours.classifier import Regret, regret
from cutune.tunables.neighbours.table import Point, TimeTable

#: So much more may the program's own set lose, and stays. Two sweeps of one program differ by more:
#: their medians by 1.0 to 5.0 % (docs/bat.md).
HARDLY_SLOWER = 0.01


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

    def to_json(self) -> dict[str, Any]:
        """As an entry of choices.json, without its evidence."""
        return dict(self.values)

    def without(self, names: Collection[str]) -> FixedChoice:
        """The values of the other parameters, without what is known of the whole set."""
        return FixedChoice({n: v for n, v in self.values.items() if n not in names})

    def fits(self, one: HostMeasurement) -> bool:
        """Was it measured with these values?"""
        return all(one.values.get(name) == value for name, value in self.values.items())


def fit_fixed(
    measured: Sequence[HostMeasurement], names: Sequence[str], own: Settings, held: Iterable[str]
) -> FixedChoice | None:
    """The best set of values of some parameters; None where nothing has a time.

    A set that was measured at more sizes comes first, and only then the faster one; and the own
    one before one that is hardly faster.

    Args:
        own: the program's own values, as far as they are known.
        held: parameters that keep these.
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
    sizes = _size_names(known)
    sets = list(dict.fromkeys(_set(one, names) for one in known))
    table = TimeTable(sizes, ("set",), _times(known, names, sizes, sets))
    losses = [regret(table, lambda _, n=number: (n,)) for number in range(len(sets))]  # type: ignore[misc]
    best = min(range(len(sets)), key=lambda n: _rank(losses[n]))
    own_set = tuple(own.get(name, "") for name in names)
    if own_set not in sets:
        return FixedChoice(_named(names, sets[best]), sizes, losses[best])
    own_lost = losses[sets.index(own_set)]
    if _is_hardly_slower(own_lost, losses[best]):
        best = sets.index(own_set)
    chosen, own_named = _named(names, sets[best]), _named(names, own_set)
    return FixedChoice(chosen, sizes, losses[best], own_named, own_lost)


def _named(names: Sequence[str], values: Sequence[int | str]) -> Settings:
    return dict(zip(names, values, strict=True))


def _is_hardly_slower(own: Regret | None, best: Regret | None) -> bool:
    """Was it measured at as many sizes, and does it lose about as little?"""
    if own is None or best is None:
        return False
    return own.known == best.known and own.mean <= best.mean + HARDLY_SLOWER


def _rank(lost: Regret | None) -> tuple[int, float]:
    return (-lost.known, lost.mean) if lost is not None else (0, 0.0)


def _set(one: HostMeasurement, names: Iterable[str]) -> tuple[int | str, ...]:
    return tuple(one.values[name] for name in names)


def _size_names(known: Iterable[HostMeasurement]) -> tuple[str, ...]:
    """All sizes that any parameter depends on; none of these is a parameter itself."""
    found = {name for one in known for data in one.data.values() for name in data}
    return tuple(sorted(found - {name for one in known for name in one.values}))


def _times(
    known: Iterable[HostMeasurement],
    names: Sequence[str],
    sizes: Sequence[str],
    sets: Sequence[tuple[int | str, ...]],
) -> Mapping[Point, Mapping[tuple[int, ...], float]]:
    """Per point the best time of each set, whatever host integers it was reached with."""
    numbers = {one: number for number, one in enumerate(sets)}
    found: dict[Point, dict[tuple[int, ...], float]] = {}
    for one in known:
        seen = {name: value for data in one.data.values() for name, value in data.items()}
        times = found.setdefault(tuple(seen.get(name, 0) for name in sizes), {})
        label = (numbers[_set(one, names)],)
        time = one.milliseconds or 0.0
        times[label] = min(times.get(label, time), time)
    return found
