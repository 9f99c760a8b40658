"""Runs at other sizes, as options to paste. Takes a run and its launches, gives a message's end.

Which words of a command line are sizes is not known; a number that a kernel was given as an
argument is one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

from cutune.collect.run import Run
from cutune.emulator.launch_log import LaunchRecord

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


def try_smaller(run: Run, launches: Sequence[LaunchRecord]) -> str:
    """`; try: --run './app {n}' --vary n=128,256` for n = 1024; empty where no size is found."""

    def smaller(size: int) -> tuple[int, int]:
        return (size * 3 // 5, size * 4 // 5) if size < STEPWISE else (size // 8, size // 4)

    return _proposed(run, launches, smaller)


def try_two(run: Run, launches: Sequence[LaunchRecord]) -> str:
    """`; try: --run './app {n}' --vary n=512,1024` for n = 1024, or an example in general.

    A run whose values vary is counted, and so is one with half of them.
    """
    if halved := [_halved(*one) for one in run.values.items()]:
        return f"; try: {' '.join(halved)}"
    program = "./{program}" if any("{program}" in word for word in run.words) else "./app"
    example = f", such as --run '{program} {_HOLE}' --vary n=256,1024"
    return _proposed(run, launches, lambda size: (size // 2, size)) or example


def _proposed(
    run: Run, launches: Sequence[LaunchRecord], sizes: Callable[[int], tuple[int, int]]
) -> str:
    if run.values or run.shell:
        return ""
    given = {number for launch in launches for number in _numbers(launch.parameters)}
    for place, word in enumerate(run.words[1:], 1):
        match = _NUMBER.fullmatch(word)
        size = int(match[2]) if match is not None else 0
        if match is not None and size >= LEAST_SIZE and size in given:
            words = [*run.words]
            words[place] = f"{match[1] or ''}{_HOLE}"
            values = ",".join(map(str, sizes(size)))
            return f"; try: --run {shlex.quote(_joined(words))} --vary n={values}"
    return ""


def _halved(name: str, value: str) -> str:
    half = f"{int(value) // 2}," if value.isdecimal() and int(value) > 1 else ""
    return f"--vary {shlex.quote(f'{name}={half}{value}')}"


def _joined(words: Sequence[str]) -> str:
    return " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words)


def _numbers(parameters: bytes) -> set[int]:
    places = range(0, len(parameters) - _WIDTH + 1, _WIDTH)
    return {int.from_bytes(parameters[place : place + _WIDTH], "little") for place in places}
