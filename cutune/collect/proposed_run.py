"""Runs at other sizes, as options to paste. Takes a run and its launches, gives text or nothing.

Which words of a command line are sizes is not known; a number that a kernel was given as an
argument is one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from cutune.collect.run import Run
from cutune.emulator.launch_log import LaunchRecord

#: Smaller numbers are seldom sizes: steps, radii, selectors.
LEAST_SIZE = 8
#: Integers among arguments: their bytes, in each place where they may lie.
_BYTES = (4, 8)
_NAME = "n"
#: Words that need no quotes.
_PLAIN = re.compile(r"[\w@%+=:,./{}-]+")


def smaller_sizes(run: Run, launches: Sequence[LaunchRecord]) -> str:
    """`--run './app {n}' --vary n=128,256` for a run with n = 1024; empty where nothing fits."""
    return _proposed(run, launches, (8, 4))


def two_sizes(run: Run, launches: Sequence[LaunchRecord]) -> str:
    """`--run './app {n}' --vary n=512,1024` for a run with n = 1024; empty where nothing fits."""
    return _proposed(run, launches, (2, 1))


def _proposed(run: Run, launches: Sequence[LaunchRecord], divisors: Iterable[int]) -> str:
    found = next(_sizes(run, launches), None)
    if found is None:
        return ""
    place, size = found
    values = sorted({max(1, size // divisor) for divisor in divisors})
    if len(values) < 2:
        return ""
    words = [*run.words]
    words[place] = words[place].replace(str(size), f"{{{_NAME}}}")
    command = " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words)
    return f"--run {shlex.quote(command)} --vary {_NAME}={','.join(map(str, values))}"


def _sizes(run: Run, launches: Sequence[LaunchRecord]) -> Iterator[tuple[int, int]]:
    """Words of the command line, and the numbers in them that kernels were given."""
    if run.values or run.shell:
        return
    given = {number for launch in launches for number in _numbers(launch.parameters)}
    for place, word in enumerate(run.words[1:], 1):
        size = re.fullmatch(r"(?:--?[\w-]+=)?(\d{1,9})", word)
        if size is not None and int(size[1]) >= LEAST_SIZE and int(size[1]) in given:
            yield place, int(size[1])


def _numbers(parameters: bytes) -> Iterator[int]:
    for width in _BYTES:
        for place in range(0, len(parameters) - width + 1, width):
            yield int.from_bytes(parameters[place : place + width], "little")
