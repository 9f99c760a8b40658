"""Launches of a kernel at which its copies are tried. Takes their counters, gives few of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from cutune.emulator.machine import LaunchCounters, pointer
from cutune.measure.replay.replay import ARRAY_BYTES, GHOST_BASE, GHOSTS, MAX_ARRAYS
from cutune.measure.trial_parameters import Numbers
from cutune.source.kernel_variant import KernelVariant

#: Launches with more are alike where there are many: one of so many is tried.
_LARGE, _OF_LARGE = 250_000, 5
_PAGE = 4096

Assigned = tuple[tuple[str, int], ...]
"""Integer parameters by their names, and a value of each."""


@dataclass(frozen=True)
class TriedLaunch:
    """A launch of a kernel, with the arrays that it accesses."""

    sizes: Assigned
    numbers: Numbers
    parameters: bytes
    #: Per pointer that is followed: its place among the parameters, where in an array it leads to,
    #: and the bytes of that array.
    arrays: tuple[tuple[int, int, int], ...] = ()
    warp_instructions: int = 0

    def said(self, names: Sequence[str]) -> str:
        """Return the sizes and, if parameters have these names, the numbers in words."""
        numbers = [(names[index], value) for index, value in self.numbers] if names else []
        return ", ".join(f"{name} = {value:.6g}" for name, value in (*self.sizes, *numbers))


Ended = tuple[TriedLaunch | None, str]
"""A launch with its arrays; None where it tells nothing, and what the checker found, if any."""
EndedWell = Callable[[TriedLaunch], TriedLaunch | None]
"""Gives a launch with its arrays, or None where it does not end well."""


def arrays_of(counted: LaunchCounters, places: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
    """Return `TriedLaunch.arrays` of a launch without data; nothing where they are not known.

    `places`: of pointers among the parameters.
    """
    ranges: dict[int, tuple[int, int]] = {}
    for site in counted.sites:
        low, high = int(site["lowest"]), int(site["highest"])
        if site["traced"] and GHOST_BASE <= low < GHOST_BASE + GHOSTS[1]:
            array = (low - GHOST_BASE) // ARRAY_BYTES
            known = ranges.get(array, (low, high))
            ranges[array] = min(low, known[0]), max(high, known[1])
    if not ranges or len(places) > MAX_ARRAYS or max(ranges) >= len(places):
        return ()
    begins = {one: GHOST_BASE + one * ARRAY_BYTES + ARRAY_BYTES // 2 for one in ranges}
    return tuple(
        (places[array], begins[array] - low, high - low)
        for array, (low, high) in sorted(ranges.items())
    )


def arrays_behind(
    launch: TriedLaunch, drawn: Iterator[NDArray[np.uint8]]
) -> tuple[bytes, list[NDArray[np.uint8]]]:
    """Return the parameters of a launch with pointers to arrays, and these, with what is drawn."""
    parameters, arrays = bytearray(launch.parameters), list[NDArray[np.uint8]]()
    for offset, place, size in launch.arrays:
        # As far behind a page as the array of a launch without data.
        room = np.zeros(size + 2 * _PAGE, np.uint8)
        begin = -(pointer(room) + place) % _PAGE
        array = room[begin : begin + size]
        array[:] = next(drawn)
        arrays.append(array)
        parameters[offset : offset + 8] = (pointer(array) + place).to_bytes(8, "little")
    return bytes(parameters), arrays


def without_most_large(
    counted: Sequence[TriedLaunch], ended_well: EndedWell, few: int, asks_all: bool
) -> list[TriedLaunch]:
    """Return launches that end well, the longest first: of more than a few large ones not all.

    `counted`: the longest first. `asks_all`: is it asked of all of them how they end?
    """
    large = [one for one in counted if one.warp_instructions > _LARGE]
    others = [*_ended(counted[len(large) :], ended_well)]
    if not asks_all and len(large) > few:
        return [*_of_large(large, ended_well, few), *others]
    tried = [*_ended(large, ended_well)]
    return [*tried[:: _OF_LARGE if len(tried) > few else 1], *others]


def _ended(launches: Iterable[TriedLaunch], ended_well: EndedWell) -> Iterator[TriedLaunch]:
    return (found for one in launches if (found := ended_well(one)) is not None)


def _of_large(
    large: Sequence[TriedLaunch], ended_well: EndedWell, few: int
) -> Iterator[TriedLaunch]:
    """One of so many, and others where these are few."""
    parts = [[*large[n : n + _OF_LARGE]] for n in range(0, len(large), _OF_LARGE)]
    left, count = list[TriedLaunch](), 0
    for part in parts:
        asked = iter(part)
        found = next(_ended(asked, ended_well), None)
        left += asked
        if found is not None:
            count += 1
            yield found
    yield from islice(_ended(left, ended_well), max(0, few - count))


def may_join(copy: KernelVariant, found: Sequence[KernelVariant]) -> bool:
    """Is a copy another one than those, and do its launches mean the same as theirs?"""
    is_alike = all(
        copy.tile is not None and one.tile is not None and copy.tile.extents == one.tile.extents
        for one in found
    )
    return is_alike and copy.name not in {one.name for one in found}


def only_where(copy: KernelVariant, divided: tuple[str, ...], multiple: int) -> KernelVariant:
    """Return a copy for sizes at which parameters are multiples of a number."""
    assert copy.tile is not None, "the copy of a tile"
    return replace(copy, tile=replace(copy.tile, divided=divided, multiple=multiple))
