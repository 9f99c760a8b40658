"""Runs at other sizes than those that were asked for. Takes runs and their launches.

Small runs of a data-dependent kernel differ from large ones: in divergence of its loops, in sectors
that threads share by chance, in cache hits. So the largest run is repeated with its sizes doubled,
as often as the limits allow.

Runs at smaller sizes are proposed as options to paste, at the end of a message. Which words of a
command line are sizes is not known; a number that a kernel was given as an argument is one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log, log2

from cutune.measure.program_runs import RecordedRun, Run

MOST_DOUBLINGS = 6
#: If doubling a value multiplies the work by less than this, the value is not a size.
LEAST_GROWTH = 1.25


@dataclass(frozen=True)
class Cost:
    """Warp instructions to count all candidates of a run, about, and bytes that kernels reach."""

    work: int
    memory: int


#: Limits of the larger run: a few seconds, and the memory of a small machine.
LIMIT = Cost(300_000_000, 1 << 30)


def larger_run(runs: Sequence[Run], costs: Sequence[Cost]) -> Run | None:
    """The largest run with its sizes doubled as often as possible; None where that is never.

    Its sizes are the values in which it exceeds the smallest run. `costs`: per run, all of the same
    kernels; a run in which nothing was counted has no work.
    """
    known = sorted((cost.work, index) for index, cost in enumerate(costs) if cost.work)
    if not known:
        return None
    least, most = known[0][1], known[-1][1]
    pairs = ((name, runs[least].values[name], value) for name, value in runs[most].values.items())
    grown = {
        name: int(after) / int(before)
        for name, before, after in pairs
        if before.isdecimal() and after.isdecimal() and 0 < int(before) < int(after)
    }
    if not grown:
        return None
    doublings = sum(log2(growth) for growth in grown.values()) / len(grown)
    work = _growth(costs[least].work, costs[most].work, doublings)
    memory = _growth(costs[least].memory, costs[most].memory, doublings)
    if work < LEAST_GROWTH:
        return None
    times = min(MOST_DOUBLINGS, int(log(LIMIT.work / costs[most].work) / log(work)))
    if memory > 1:
        times = min(times, int(log(LIMIT.memory / costs[most].memory) / log(memory)))
    if times < 1:
        return None
    # Powers of two: sizes that have to be multiples of something still are.
    larger = {name: str(int(runs[most].values[name]) << times) for name in grown}
    return replace(runs[most], values={**runs[most].values, **larger})


def _growth(before: int, after: int, doublings: float) -> float:
    return (after / before) ** (1 / doublings) if before else 1.0


#: Smaller numbers are seldom sizes: steps, radii, selectors.
LEAST_SIZE = 8
#: Work may double with each step of a number below, as with the depth of a search: it is reduced
#: a little only.
STEPWISE = 64
#: Bytes of an integer argument; the lower half of a wider one holds its value, too.
_WIDTH = 4
_HOLE = "{n}"
_NUMBER = re.compile(r"(--?[\w-]+=)?(\d{1,9})")
#: Words that need no quotes.
_PLAIN = re.compile(r"[\w@%+=:,./{}-]+")


def try_smaller(made: RecordedRun) -> str:
    """`; try: --run './app {n}' --vary n=128,256` for n = 1024; empty where no size is found."""

    def smaller(size: int) -> tuple[int, int]:
        return (size * 3 // 5, size * 4 // 5) if size < STEPWISE else (size // 8, size // 4)

    return _proposed(made, smaller)


def try_two(made: RecordedRun) -> str:
    """`; try: --run './app {n}' --vary n=512,1024` for n = 1024, or an example in general.

    A run whose values vary is counted, and so is one with half of them.
    """
    if halved := [_halved(*one) for one in made.run.values.items()]:
        return f"; try: {' '.join(halved)}"
    program = "./{program}" if any("{program}" in word for word in made.run.words) else "./app"
    example = f", such as --run '{program} {_HOLE}' --vary n=256,1024"
    return _proposed(made, lambda size: (size // 2, size)) or example


def _proposed(made: RecordedRun, sizes: Callable[[int], tuple[int, int]]) -> str:
    run = made.run
    if run.values or run.shell:
        return ""
    given = {number for launch in made.launches for number in _numbers(launch.parameters)}
    for place, word in enumerate(run.words[1:], 1):
        match = _NUMBER.fullmatch(word)
        size = int(match[2]) if match is not None else 0
        if match is not None and size >= LEAST_SIZE and size in given:
            words = [*run.words]
            words[place] = f"{match[1] or ''}{_HOLE}"
            line = " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words)
            values = ",".join(map(str, sizes(size)))
            return f"; try: --run {shlex.quote(line)} --vary n={values}"
    return ""


def _halved(name: str, value: str) -> str:
    half = f"{int(value) // 2}," if value.isdecimal() and int(value) > 1 else ""
    return f"--vary {shlex.quote(f'{name}={half}{value}')}"


def _numbers(parameters: bytes) -> set[int]:
    places = range(0, len(parameters) - _WIDTH + 1, _WIDTH)
    return {int.from_bytes(parameters[place : place + _WIDTH], "little") for place in places}
