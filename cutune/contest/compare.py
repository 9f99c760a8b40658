"""Techniques compared on the trials of a program. Takes what was tried, gives scores per size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.progress import Progress, Reporter
from cutune.device.profile import DeviceProfile
from cutune.fit.measurement.measurement import Origin
from cutune.frontend.program import Program
from cutune.search.program_space import ProgramSpace, device_values, program_space
from cutune.search.techniques.registry import Technique
from cutune.search.techniques.replay import Known, Score, expected_of_chance, replayed
from cutune.search.trial_runs import integers
from cutune.search.trials import RecordedTrial, plain, read_trials
from cutune.space.asked import Asked
from cutune.space.space import Space

COMMAND = "cutune collect --tunables --on gpu"


@dataclass(frozen=True)
class Comparison:
    """Techniques at one size.

    Attributes:
        where: the sizes, as a message names them.
        size: of the space.
        chance: configurations that random search needs on the average.
        known: what each configuration takes, by its number.
    """

    where: str
    size: int
    chance: float
    scores: Sequence[Score]
    known: Mapping[int, Known]


def compare(
    reporter: Reporter,
    parameters: Asked,
    program: Program,
    template: str,
    path: Path,
    names: Sequence[str],
    techniques: Sequence[Technique],
    device: DeviceProfile,
) -> Iterator[Comparison]:
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
    sizes = list(dict.fromkeys(name for one in recorded for name in one.sizes))
    whole = program_space(program, parameters, template, sizes, device_values(device))
    space = whole.restricted(names) if names else whole
    tables = [_Table.of(program, key, own, space) for key, own in _grouped(recorded).items()]
    complete = [one for one in tables if len(one.known) == one.space.size and one.is_useful]
    if not complete:
        most = max(tables, key=lambda one: len(one.known), default=None)
        where, count = (most.where, len(most.known)) if most is not None else ("here", 0)
        size = space.space.size if most is None else most.space.size
        raise CutuneError(
            Diagnostic.at(Code.NOT_ALL_TRIED, None, where=where, count=count, size=size)
        )
    for table in complete:
        yield compared(table.where, table.space, table.known, techniques, reporter.progress)


def compared(
    where: str,
    space: Space,
    known: Mapping[int, Known],
    techniques: Sequence[Technique],
    progress: Progress,
) -> Comparison:
    """Techniques on the times of a whole space."""
    scores = []
    for index, technique in enumerate(techniques):
        progress("replaying", index, len(techniques))
        scores.append(replayed(space, known, technique))
    progress("replaying", 1, 1)
    return Comparison(where, space.size, expected_of_chance(known), scores, known)


_Key = tuple[str, tuple[tuple[str, str], ...]]


def _grouped(recorded: Sequence[RecordedTrial]) -> dict[_Key, list[RecordedTrial]]:
    """By what was held: GPU, options, command line, sizes."""
    found: dict[_Key, list[RecordedTrial]] = {}
    for one in recorded:
        found.setdefault((one.how, tuple(one.sizes.items())), []).append(one)
    return found


@dataclass(frozen=True)
class _Table:
    """What is known at one size, by numbers of configurations."""

    where: str
    space: Space
    known: Mapping[int, Known]

    @property
    def is_useful(self) -> bool:
        return any(one.milliseconds is not None for one in self.known.values())

    @staticmethod
    def of(
        program: Program, key: _Key, recorded: Sequence[RecordedTrial], whole: ProgramSpace
    ) -> _Table:
        sizes = dict(key[1])
        space = whole.at(integers(sizes))
        values = {
            one.name: {plain(value): value for value in one.values} for one in space.parameters
        }
        known = {}
        for one in recorded:
            own = {n: values[n].get(v) for n, v in one.configuration.items() if n in values}
            if {*one.configuration} == {*values} and None not in own.values():
                configuration = {n: v for n, v in own.items() if v is not None}
                number = space.number(configuration)
                if number is not None:
                    known[number] = Known(
                        one.ended.milliseconds(program.tunables), one.ended.seconds
                    )
        where = "at " + ", ".join(f"{n} = {v}" for n, v in sizes.items()) if sizes else "here"
        return _Table(where, space, known)
