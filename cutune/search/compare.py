"""Techniques compared on recorded trials. Takes trials and techniques, gives scores per size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.progress import Progress, Reporter
from cutune.model.measurement.measurement import Origin
from cutune.search.program_space import ProgramSpace, device_values, program_space
from cutune.search.techniques.registry import Technique
from cutune.search.techniques.replay import KnownTime, TechniqueScore, expected_of_chance, replayed
from cutune.search.trial_runs import integers
from cutune.search.trials import BegunTrial, EndedTrial, plain, read_trials
from cutune.source.program import Program
from cutune.space.parameter import ParameterOptions
from cutune.space.space import Space
from cutune.toolchain.device.profile import DeviceProfile

COMMAND = "cutune collect --tunables --on gpu"


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


@dataclass(frozen=True)
class TunerComparison:
    """The scores of techniques at one size.

    Attributes:
        where: the sizes, as a message names them.
        size: of the space.
        chance: configurations that random search needs on the average.
        known: what each configuration takes, by its number.
    """

    where: str
    size: int
    chance: float
    scores: Sequence[TechniqueScore]
    known: Mapping[int, KnownTime]


def compare(
    reporter: Reporter,
    parameters: ParameterOptions,
    program: Program,
    template: str,
    path: Path,
    names: Sequence[str],
    techniques: Sequence[Technique],
    device: DeviceProfile,
) -> Iterator[TunerComparison]:
    """Replay techniques at every size at which all configurations were tried.

    Args:
        path: of the trials.
        names: the parameters that were varied; none: all.

    Raises:
        CutuneError: CT009 without trials, CT820 where no space was tried as a whole, and what
            `program_space` says.
    """
    origin = Origin.of(program.source, program.tunable_headers)
    recorded = read_trials(path, origin, COMMAND, reporter.warn)
    sizes = list(dict.fromkeys(name for one, _ in recorded for name in one.sizes))
    whole = program_space(program, parameters, template, sizes, device_values(device))
    space = whole.restricted(names) if names else whole
    tables = [_table(program, key, own, space) for key, own in _grouped(recorded).items()]
    complete = [one for one in tables if len(one.known) == one.space.size and _is_useful(one)]
    if not complete:
        most = max(tables, key=lambda one: len(one.known), default=None)
        where, count = (most.where, len(most.known)) if most is not None else ("here", 0)
        size = space.space.size if most is None else most.space.size
        raise CutuneError.at(Code.NOT_ALL_TRIED, where=where, count=count, size=size)
    for table in complete:
        yield compared(table, techniques, reporter.progress)


def compared(
    table: RecordedTable, techniques: Sequence[Technique], progress: Progress
) -> TunerComparison:
    """Compare techniques on the times of a whole space."""
    scores = []
    for index, technique in enumerate(techniques):
        progress("replaying", index, len(techniques))
        scores.append(replayed(table.space, table.known, technique))
    progress("replaying", 1, 1)
    chance = expected_of_chance(table.known)
    return TunerComparison(table.where, table.space.size, chance, scores, table.known)


_Key = tuple[str, tuple[tuple[str, str], ...]]
_Recorded = Sequence[tuple[BegunTrial, EndedTrial]]


def _grouped(recorded: _Recorded) -> Mapping[_Key, _Recorded]:
    groups: dict[_Key, list[tuple[BegunTrial, EndedTrial]]] = {}
    for one, ended in recorded:
        groups.setdefault((one.how, tuple(one.sizes.items())), []).append((one, ended))
    return groups


def _is_useful(table: RecordedTable) -> bool:
    return any(one.milliseconds is not None for one in table.known.values())


def _table(program: Program, key: _Key, recorded: _Recorded, whole: ProgramSpace) -> RecordedTable:
    sizes = dict(key[1])
    space = whole.at(integers(sizes))
    values = {one.name: {plain(value): value for value in one.values} for one in space.parameters}
    known = {}
    for one, ended in recorded:
        exact = {n: values[n].get(v) for n, v in one.configuration.items() if n in values}
        if {*one.configuration} == {*values} and None not in exact.values():
            number = space.number({n: v for n, v in exact.items() if v is not None})
            if number is not None:
                known[number] = KnownTime(ended.milliseconds(program.tunables), ended.seconds)
    where = "at " + ", ".join(f"{n} = {v}" for n, v in sizes.items()) if sizes else "here"
    return RecordedTable(where, space, known)
