"""Recorded results for replay. Takes results, gives tables: a space, and the time of each of it.

A space whose configurations are listed has the same axes as one with conditions: the list is the
product of the groups of parameters that depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.interchange.results import Result, Results, Setting, Settings
from cutune.search.techniques.replay import KnownTime
from cutune.space.asked import ParameterOptions
from cutune.space.condition import Value
from cutune.space.listed import listed_space
from cutune.space.space import Configuration, Space


@dataclass(frozen=True)
class RecordedTable:
    """The known times at one size on one device.

    Attributes:
        where: the device and the sizes, for people.
        known: by number of the configuration.
    """

    where: str
    space: Space
    known: Mapping[int, KnownTime]


def recorded_tables(results: Results, asked: ParameterOptions) -> Iterator[RecordedTable]:
    """Return one table per device and size at which something ended well.

    Args:
        asked: a space, in place of what is recorded.

    Raises:
        CutuneError: CT831 where a configuration of the space is not recorded, or configurations
            have different parameters, and what `Space` says.
    """
    groups: dict[tuple[object, ...], list[Result]] = {}
    for one in results.results:
        groups.setdefault((one.device, *sorted(one.sizes.items())), []).append(one)
    useful = [g for g in groups.values() if any(one.milliseconds is not None for one in g)]
    if not useful:
        raise _incomplete("nothing in it has a time")
    return (_recorded(group, asked) for group in useful)


def _recorded(group: Sequence[Result], asked: ParameterOptions) -> RecordedTable:
    # What was timed again counts as it was timed last.
    latest = {tuple(sorted(_exact(one.configuration).items())): one for one in group}
    names = [*group[0].configuration]
    if not names or any({*one.configuration} != {*names} for one in group):
        raise _incomplete("its configurations have not all the same parameters")
    every: list[Configuration] = [_exact(one.configuration) for one in latest.values()]
    where = _where(group[0])
    if asked.parameters:
        space = Space.of(asked.parameters, asked.conditions, _exact(group[0].sizes))
    else:
        space = listed_space([{name: one[name] for name in names} for one in every])
    known = {}
    for configuration, one in zip(every, latest.values(), strict=True):
        number = space.number(configuration) if {*configuration} >= {*space.names} else None
        if number is not None:
            known[number] = KnownTime(one.milliseconds, one.cost_seconds)
    if len(known) < space.size:
        raise _incomplete(f"{where}: {len(known)} of {space.size} configurations are recorded")
    return RecordedTable(where, space, known)


def _exact(settings: Settings) -> dict[str, Value]:
    return {name: _value(setting) for name, setting in settings.items()}


def _value(setting: Setting) -> Value:
    if isinstance(setting, bool):
        return int(setting)
    return Fraction(str(setting)) if isinstance(setting, float) else setting


def _where(one: Result) -> str:
    sizes = ", ".join(f"{name} = {value}" for name, value in one.sizes.items())
    return ", ".join(filter(None, [one.device, sizes])) or "here"


def _incomplete(reason: str) -> CutuneError:
    return CutuneError.at(Code.NOT_WHOLE, reason=reason)
