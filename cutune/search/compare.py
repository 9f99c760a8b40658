"""Techniques compared on recorded trials. Takes trials and techniques, gives scores per size.

The score is how many configurations a technique measures until it is within 5 % of the best, and
that of Willemsen et al. (FGCS 2024, doi 10.1016/j.future.2024.05.021), here over the number of
measured configurations: how much of the way from what random search has found on the average to
the optimum it is ahead; 0 is random search, which is computed exactly, 1 the optimum at once.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf
from pathlib import Path
from statistics import fmean, median, quantiles

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.progress import Progress, Reporter
from cutune.model.measurement.measurement import Origin
from cutune.search.program_space import ProgramSpace, device_values, program_space
from cutune.search.techniques.registry import Technique, search
from cutune.search.techniques.tries import Allowance, Rows, SearchEnd, Timed, Tries
from cutune.search.trial_runs import integers, named
from cutune.search.trials import BegunTrial, EndedTrial, plain, read_trials
from cutune.source.program import Program
from cutune.space.parameter import ParameterOptions
from cutune.space.space import Configuration, Space
from cutune.toolchain.device.profile import DeviceProfile

REPETITIONS = 20
#: What counts as found: this share of the best speed.
GOAL = 0.95
#: The score ends where random search has come so far from the median to the optimum.
CUT = 0.95
#: A technique that measures more has not found it.
MOST = 1000


@dataclass(frozen=True)
class KnownTime:
    """The time of a configuration, None where it failed, and the seconds that its runs took."""

    milliseconds: float | None
    seconds: float


@dataclass(frozen=True)
class TechniqueScore:
    """The result of a technique.

    `needed`: by repetition, configurations until one is within the goal; inf: none was. `seconds`:
    that their runs took. `curve`: the mean best time after 1, 2, … of them, as far as it counts.
    """

    technique: str
    needed: tuple[float, ...]
    seconds: tuple[float, ...]
    score: float
    curve: tuple[float, ...] = ()


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    if inf in values:
        # Order is enough: what lies between a number and infinity is none.
        ordered = sorted(values)
        last = len(ordered) - 1
        return ordered[last // 4], ordered[last // 2], ordered[-(-last * 3 // 4)]
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, median(values), high


def replayed(
    space: Space,
    known: Mapping[int, KnownTime],
    technique: Technique,
    repetitions: int = REPETITIONS,
    begin: Sequence[Rows] = (),
) -> TechniqueScore:
    """Score a technique on the times of a whole space; each repetition has another start.

    `begin`: what all of them try before that.
    """
    curves, needed, seconds = [], [], []
    goal, chance, worst = least(known) / GOAL, random_curve(known), max(_times(known), default=inf)
    for state in range(repetitions):
        order = _order(space, known, technique, state, len(chance), begin)
        times = [known[number].milliseconds for number in order]
        first = next((i for i, one in enumerate(times) if one is not None and one <= goal), None)
        needed.append(inf if first is None else first + 1.0)
        spent = sum(known[number].seconds for number in order[: (first or 0) + 1])
        seconds.append(inf if first is None else spent)
        curves.append([*accumulate((worst if one is None else one for one in times), min)])
    mean = [fmean(one[min(i, len(one) - 1)] for one in curves) for i, _ in enumerate(chance)]
    best, pairs = least(known), zip(chance, mean, strict=True)
    ahead = [(expected - found) / (expected - best) for expected, found in pairs if expected > best]
    score = fmean(ahead) if ahead else 1.0
    return TechniqueScore(technique.name, tuple(needed), tuple(seconds), score, tuple(mean))


def _times(known: Mapping[int, KnownTime]) -> list[float]:
    return [one.milliseconds for one in known.values() if one.milliseconds is not None]


def least(known: Mapping[int, KnownTime]) -> float:
    """The time of the optimum; infinite where nothing ran."""
    return min(_times(known), default=inf)


def expected_of_chance(known: Mapping[int, KnownTime]) -> float:
    """Return how many configurations random search measures, on average, to reach the goal."""
    goal = least(known) / GOAL
    return (len(known) + 1) / (sum(time <= goal for time in _times(known)) + 1)


def random_curve(known: Mapping[int, KnownTime]) -> list[float]:
    """Return the expected best of 1, 2, … different draws, as far as the score goes.

    Of n times in rising order the i-th is the least of k draws with the probability that it is
    drawn and no earlier one is; from one time to the next that falls by (n - k - i) / (n - 1 - i).
    """
    count, times = len(known), sorted(_times(known))
    times += [times[-1] if times else inf] * (count - len(times))
    optimum = times[0]
    end = optimum + (median(times) - optimum) * (1 - CUT)
    curve = []
    for draws in range(1, count + 1):
        expected, probability = 0.0, draws / count
        for index, time in enumerate(times[: count - draws + 1]):
            expected += probability * time
            if index < count - 1:
                probability *= (count - draws - index) / (count - 1 - index)
        curve.append(expected)
        if expected <= end or draws >= MOST:
            break
    return curve


def _order(
    space: Space,
    known: Mapping[int, KnownTime],
    technique: Technique,
    state: int,
    scored: int,
    first: Sequence[Rows],
) -> list[int]:
    """Return numbers of configurations as they are measured; `scored` count for the score."""
    order: list[int] = []
    optimum = least(known)
    is_found = False

    def timed(configuration: Configuration) -> Timed:
        nonlocal is_found
        last = known[order[-1]].milliseconds if order else None
        is_found |= last is not None and last <= optimum / GOAL
        # What comes behind the optimum, or behind all that is asked for, changes nothing.
        if last == optimum or (is_found and len(order) >= scored):
            raise SearchEnd
        number = space.number(configuration)
        assert number is not None
        order.append(number)
        return Timed(known[number].milliseconds)

    start = random.Random(state).randrange(space.size)
    tries = Tries(space, timed, Allowance(min(space.size, MOST)))
    search(technique, tries, space.rows(start), state, first)
    return order


COMMAND = "cutune collect --tunables --on gpu"


@dataclass(frozen=True)
class RecordedTable:
    """The known times at one size on one device, by number of the configuration."""

    where: str
    space: Space
    known: Mapping[int, KnownTime]


@dataclass(frozen=True)
class TunerComparison:
    """Scores of techniques at one size, beside the mean need of random search (`chance`)."""

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
    """Replay techniques at each size at which all configurations of `names` (none: all) were tried.

    Raises CT009 without trials, CT820 where no space was tried as a whole, and as `program_space`.
    """
    origin = Origin.of(program.source, program.tunable_headers)
    recorded = read_trials(path, origin, COMMAND, reporter.warn)
    sizes = list(dict.fromkeys(name for one, _ in recorded for name in one.sizes))
    whole = program_space(program, parameters, template, sizes, device_values(device))
    space = whole.restricted(names) if names else whole
    # Trials of one table share GPU, options, command line and sizes.
    groups: dict[_Key, list[tuple[BegunTrial, EndedTrial]]] = {}
    for one, ended in recorded:
        groups.setdefault((one.how, tuple(one.sizes.items())), []).append((one, ended))
    tables = [_table(program, dict(at), own, space) for (_, at), own in groups.items()]
    whole_tables = (one for one in tables if len(one.known) == one.space.size)
    complete = [one for one in whole_tables if least(one.known) < inf]
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
    """Replay all techniques on a table of recorded times."""
    scores = []
    for index, technique in enumerate(techniques):
        progress("replaying", index, len(techniques))
        scores.append(replayed(table.space, table.known, technique))
    progress("replaying", 1, 1)
    chance = expected_of_chance(table.known)
    return TunerComparison(table.where, table.space.size, chance, scores, table.known)


_Key = tuple[str, tuple[tuple[str, str], ...]]


def _table(
    program: Program,
    sizes: Mapping[str, str],
    recorded: Sequence[tuple[BegunTrial, EndedTrial]],
    whole: ProgramSpace,
) -> RecordedTable:
    space = whole.at(integers(sizes))
    values = {one.name: {plain(value): value for value in one.values} for one in space.parameters}
    known = {}
    for one, ended in recorded:
        exact = {n: values[n].get(v) for n, v in one.configuration.items() if n in values}
        if {*one.configuration} == {*values} and None not in exact.values():
            number = space.number({n: v for n, v in exact.items() if v is not None})
            if number is not None:
                known[number] = KnownTime(ended.milliseconds(program.tunables), ended.seconds)
    where = f"at {named(sizes)}" if sizes else "here"
    return RecordedTable(where, space, known)
