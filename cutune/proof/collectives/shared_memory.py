"""Shared memory of a block that runs: what lies there, and which threads may meet in it.

Between two barriers of the block, or of a warp for threads of that warp, no thread may use what
another one writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from cutune.proof.collectives.lanes import Flags, Lanes, Numbers, unknown
from cutune.proof.values.terms import WARP
from cutune.ptx.types import Variable

_NOBODY, SEVERAL = -1, -2
#: Several threads of warp w stand as `_OF_WARP - w`.
_OF_WARP = -3
#: Bytes of the largest array whose size the launch gives.
_MOST_BYTES = 48 << 10


#: Distance of shared variables in the addresses of a run.
_APART = 1 << 24


@dataclass(frozen=True)
class SharedAddresses:
    """The addresses that shared variables have in a run, far apart. `variables`: of all spaces."""

    variables: Mapping[str, Variable]

    @cached_property
    def _shared(self) -> list[Variable]:
        return [one for one in self.variables.values() if one.space == "shared"]

    @cached_property
    def _begins(self) -> dict[str, int]:
        return {one.name: _APART * number for number, one in enumerate(self._shared, 1)}

    def of(self, name: str) -> int | None:
        """Return the address of a variable; None where it is not in shared memory."""
        return self._begins.get(name)

    def variable_at(self, address: int) -> Variable | None:
        """Return the variable that an address lies in, or beyond whose end it lies."""
        number = address // _APART - 1
        return self._shared[number] if 0 <= number < len(self._shared) else None


#: What is to be done about a race, by who may meet.
BETWEEN_WARPS = "which blocks of one warp do not show: put __syncthreads()"
WITHIN_A_WARP = "as lanes of a warp need not run in step: put __syncwarp()"


class Race(Exception):
    """Two threads may use one place at the same time, of which one writes."""


@dataclass
class SharedArray:
    """The elements of one shared variable, all of the same width in bytes.

    `first`, `last`: elements that were used before the first barrier and behind the last one, as
    numbers of elements, and the thread that has done so, or `SEVERAL`; written ones stand there as
    `-1 - element`.
    """

    name: str
    size: int
    is_sized: bool
    width: int
    content: Lanes
    writer: Numbers
    written_in: Numbers
    reader: Numbers
    read_in: Numbers
    first: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)

    @staticmethod
    def of(name: str, size: int, width: int) -> SharedArray:
        """An array of nothing known. `size` in bytes; 0: the launch gives it."""
        count = (size or _MOST_BYTES) // width
        nobody = np.full(count, _NOBODY, np.int64)
        never = np.full(count, -1, np.int64)
        return SharedArray(
            name,
            size or _MOST_BYTES,
            size > 0,
            width,
            unknown(count),
            nobody,
            never,
            nobody.copy(),
            never.copy(),
        )

    def copy(self) -> SharedArray:
        """An array that changes by itself."""
        return replace(
            self,
            writer=self.writer.copy(),
            written_in=self.written_in.copy(),
            reader=self.reader.copy(),
            read_in=self.read_in.copy(),
            first={**self.first},
            last={**self.last},
        )

    @property
    def used_bytes(self) -> int:
        """The bytes up to the last element that was used."""
        used = np.flatnonzero((self.written_in >= 0) | (self.read_in >= 0))
        return int(used[-1] + 1) * self.width if used.size else 0


@dataclass
class Clock:
    """Barriers passed: `block` by all threads, `warps` by each warp since the last one of these."""

    warps: Numbers
    block: int = 0

    def times(self, threads: Numbers) -> Numbers:
        """Return the time at which each thread is; larger means later."""
        return self.block * _ONE_PHASE + self.warps[threads // WARP]


#: More barriers of a warp than lie between two of the block.
_ONE_PHASE = 1 << 20


def used(array: SharedArray, places: Numbers, threads: Numbers, clock: Clock, writes: bool) -> None:
    """Note that threads use elements now.

    Raises:
        Race: others use them, too.
    """
    now = clock.times(threads)
    _apart(array.writer[places], array.written_in[places], threads, now)
    if writes:
        _apart(array.reader[places], array.read_in[places], threads, now)
        array.writer[places], array.written_in[places] = threads, now
        array.writer[places[_repeated(places)]] = SEVERAL
    else:
        again = array.read_in[places] // _ONE_PHASE == clock.block
        is_one_warp = _warps(array.reader[places]) == threads // WARP
        # What a warp has read before a barrier of its own lies behind all that it does from now on.
        is_over = is_one_warp & (array.read_in[places] < now)
        others = again & (array.reader[places] != threads) & ~is_over
        several = np.where(is_one_warp, _OF_WARP - threads // WARP, SEVERAL)
        readers = np.where(others, several, threads)
        array.reader[places], array.read_in[places] = readers, now
        _note_several(array, places, _warps(readers))
    for place, thread in zip(places.tolist(), threads.tolist(), strict=True):
        mark = -1 - place if writes else place
        for users in (array.first, array.last) if clock.block == 0 else (array.last,):
            users[mark] = thread if users.get(mark, thread) == thread else SEVERAL


def _note_several(array: SharedArray, places: Numbers, warps: Numbers) -> None:
    """Note who reads elements that several threads read at once: one warp, or several."""
    several = places[_repeated(places)]
    one, is_mixed = np.empty_like(array.reader), np.zeros(len(array.reader), np.bool_)
    one[places] = warps
    is_mixed[places[warps != one[places]]] = True
    is_one = ~is_mixed[several] & (one[several] >= 0)
    array.reader[several] = np.where(is_one, _OF_WARP - one[several], SEVERAL)


def _repeated(places: Numbers) -> Flags:
    is_repeated: Flags = np.bincount(places)[places] > 1
    return is_repeated


def _warps(users: Numbers) -> Numbers:
    """The warp of each user; -1 where that is none, or several."""
    of_warp = np.where(users <= _OF_WARP, _OF_WARP - users, -1)
    return np.where(users >= 0, users // WARP, of_warp)


def _apart(user: Numbers, when: Numbers, threads: Numbers, now: Numbers) -> None:
    """Was every other user there before a barrier that both have passed?"""
    is_other = (user != threads) & (user != _NOBODY)
    in_phase = when // _ONE_PHASE == now // _ONE_PHASE
    in_warp = _warps(user) == threads // WARP
    meeting = is_other & in_phase & ~(in_warp & (when < now))
    if meeting.any():
        raise Race(WITHIN_A_WARP if in_warp[meeting].all() else BETWEEN_WARPS)
