"""Sizes at which copies are tried. Takes what blocks cover, gives values of all integers.

Also such that no block divides, near the numbers that the code names, and far larger ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import lcm

import numpy as np

from cutune.source.kernel_variant import ASKED, Tile

#: Drawn sizes, and as many drawn combinations of several.
_DRAWN = 16
#: Values in as many elements as a block covers, of an integer that no grid follows.
_DENSE = 64
#: Grids that are asked for, one after the other, and at most half of those that are tried.
_MOST_BLOCKS = 5
_GRIDS = (2, 1, 3, 5, 4)

Sizes = Mapping[str, int]


class Domain(Enum):
    """The sizes at which a copy is tried."""

    ANY = "any"
    #: What blocks share out are multiples of what they cover; other integers are any.
    EXTENTS = "extents"
    MULTIPLES = "multiples"


def numbers_of(tiles: Sequence[Tile]) -> set[int]:
    """What blocks cover, and their own sizes, in all launches that are tried."""
    shapes = (shape for t in tiles for shape in (t.covered, t.own_covered, t.own_block))
    return {number for shape in shapes for number in shape if number > 1}


@dataclass(frozen=True)
class SizesTried:
    """The sizes of a kernel. `integers`: its integer parameters. `named`: numbers of its code."""

    integers: tuple[str, ...]
    tiles: tuple[Tile, ...]
    named: Sequence[int]

    @property
    def multiple(self) -> int:
        """A number that is a multiple of what each block covers."""
        return lcm(*(n for tile in self.tiles for n in (*tile.covered, *tile.own_covered)))

    def assignments(self, tile: Tile, domain: Domain) -> Iterator[Sizes]:
        """Values of all integers, and of what extents take of the grid that the program asks for.

        Each grid is tried with many values, and some values with each grid.
        """
        asked = [name for axis, name in enumerate(ASKED) if tile.is_asked(axis)]
        known = [*self._integers_tried(tile, domain)]
        for number, sizes in enumerate(known):
            places = ((number + 3 * n) % len(_GRIDS) for n in range(len(asked)))
            grid = {name: _GRIDS[n] for name, n in zip(asked, places, strict=True)}
            yield {**sizes, **grid}
        for sizes in known[:: max(1, len(known) // 4)]:
            for name in asked:
                for blocks in range(1, 2 * _MOST_BLOCKS):
                    yield {**sizes, **dict.fromkeys(asked, 2), name: blocks}

    def _integers_tried(self, tile: Tile, domain: Domain) -> Iterator[Sizes]:
        """Values of all integers: equal ones, drawn ones, and one after the other for each that no
        grid follows: up to which of them the kernel is right is told by where it fails.
        """
        numbers = numbers_of(self.tiles)
        small, big = min(numbers, default=8), max(numbers, default=8)
        near = {small - 1, small, small + 1, big - 1, big, big + 1, big + small + 1}
        sizes = sorted({1, 3, 2 * big - 3, 2 * big, 2 * big + small, 3 * big, *near} - {0})
        names, random = self.integers, np.random.default_rng(big)
        extents = {*tile.names}
        divided = {Domain.ANY: set[str](), Domain.EXTENTS: extents}.get(domain, {*names})
        multiples = [self.multiple * times for times in range(1, 9)]
        base = multiples[1] if divided else sizes[len(sizes) // 2]
        for size in multiples if divided else [*sizes, *random.integers(1, 3 * big, _DRAWN)]:
            yield dict.fromkeys(names, int(size))
        few = [0, 1, 2, *sizes]
        for size in self.named if not divided else ():
            if size <= 3 * big:
                yield dict.fromkeys(names, size)
        for number in range(_DRAWN if len(names) > 1 else 0):
            of = sizes if number % 2 else few
            yield {n: int(random.choice(multiples if n in divided else of)) for n in names}
        for name in names:
            dense = () if name in extents else range(0, 2 * big + 2, -(-big // _DENSE))
            far = (one for one in self.named if one > 3 * big or name not in extents)
            for value in sorted({*dense, *far}) if name not in divided else ():
                yield {**dict.fromkeys(names, base), name: value}
