"""What launches of a trial are given. Takes a kernel and what blocks cover, gives its parameters.

All integers get sizes, also such that no block divides, near the numbers that the code names, and
far larger ones. A launch is given its parameters as bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import product
from math import lcm

import numpy as np

from cutune.emulator.module_metadata import KernelCode
from cutune.measure.replay.replay import ARRAY_BYTES, GHOST_BASE
from cutune.measure.trial_code import HALVES
from cutune.measure.trial_contents import of_each_outcome
from cutune.source.kernel_variant import ASKED, Tile
from cutune.source.program import Kernel

#: Warp instructions of one launch of a kernel.
_LONG = 600_000
#: Drawn sizes, and as many drawn combinations of several.
_DRAWN = 16
#: Values in as many elements as a block covers, of an integer that no grid follows.
_DENSE = 64
#: Elements of a last block that are tried, at most; and all other sizes then.
_RESTS, _FEW_STEPS = 256, 8
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


def covered(tiles: Sequence[Tile]) -> set[int]:
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
    def is_one(self) -> bool:
        """Has the kernel one size? Of its multiples there are few."""
        return len(self.integers) == 1

    @property
    def longest(self) -> int:
        """Warp instructions of the longest launch: where there are few, larger ones are tried."""
        return 4 * _LONG if self.is_one else _LONG

    def multiple(self, tile: Tile) -> int:
        """A number that is a multiple of what blocks of copies cover, and of the program."""
        tiles = (tile,) if self.is_one else self.tiles
        return lcm(*(n for one in tiles for n in (*one.covered, *one.own_covered)))

    def divided(self, tile: Tile | None, domain: Domain) -> tuple[tuple[str, ...], int]:
        """Return the parameters that are multiples of a number in a domain, and the number."""
        if domain is Domain.ANY or tile is None:
            return (), 1
        is_all = domain is Domain.MULTIPLES
        return tuple(n for n in self.integers if is_all or n in tile.names), self.multiple(tile)

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
        numbers = covered(self.tiles)
        small, big = min(numbers, default=8), max(numbers, default=8)
        near = {small - 1, small, small + 1, big - 1, big, big + 1, big + small + 1}
        sizes = sorted({1, 3, 2 * big - 3, 2 * big, 2 * big + small, 3 * big, *near} - {0})
        names, random = self.integers, np.random.default_rng(big)
        extents = {*tile.names}
        divided = {Domain.ANY: set[str](), Domain.EXTENTS: extents}.get(domain, {*names})
        multiple = self.multiple(tile)
        multiples = [multiple * times for times in range(1, 9)]
        base = multiples[1] if divided else sizes[len(sizes) // 2]
        if divided:
            # A block may have more threads than it covers: rows that all of them share are longer.
            longer = {size - size % multiple for size in sizes} - {*range(multiples[-1] + 1)}
            equal = [*multiples, *sorted(longer)]
        else:
            equal = [*sizes, *random.integers(1, 3 * big, _DRAWN)]
        for size in equal:
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

    def rests(self, tile: Tile) -> Iterator[Sizes]:
        """Extents that leave each number of elements to the last block of a dimension.

        What one place alone does where it is the last one (`t == 27 && i == n - 1`) shows there.
        """
        asked = {name: 2 for axis, name in enumerate(ASKED) if tile.is_asked(axis)}
        extents = [name for name in self.integers if name in tile.names]
        most = max(covered(self.tiles), default=0) if extents else 0
        for rest in range(0, most, max(1, -(-most // _RESTS))):
            each = {n: 1 + (rest + k * most // 3) % most for k, n in enumerate(extents)}
            yield {**dict.fromkeys(self.integers, _FEW_STEPS), **each, **asked}


#: The letters of real numbers; `b`: the upper half of a `float`.
_REALS = {"float": "f", "double": "d"}
_REALS |= {name: {"f16": "e", "bf16": "b"}[bits] for name, bits in HALVES.items()}
#: Combinations of values of real numbers that a kernel compares with others, at most.
_MOST_COMBINED = 16

Numbers = tuple[tuple[int, float], ...]
"""Real parameters by their places, and a value of each."""


@dataclass(frozen=True)
class LaunchParameters:
    """The parameters of a kernel. `compared`: numbers with which it compares real ones."""

    kernel: Kernel
    compared: Mapping[int, frozenset[float]]

    def kind(self, index: int) -> str | None:
        """`p`: a pointer; `i`: an integer; one of `_REALS`: a number; None: something else."""
        parameter = self.kernel.parameters[index]
        if parameter.is_pointer:
            return "p" if parameter.type.count("*") == 1 else None
        real = _REALS.get(" ".join(parameter.words))
        return real or ("i" if parameter.integer is not None else None)

    @property
    def places_of_integers(self) -> list[int]:
        return [n for n in range(len(self.kernel.parameters)) if self.kind(n) == "i"]

    @cached_property
    def integers(self) -> tuple[str, ...]:
        """The names of its integers."""
        return tuple(self.kernel.parameters[n].name for n in self.places_of_integers)

    def least(self, divided: Collection[str], multiple: int) -> dict[int, int]:
        """Return the least values of integers that are multiples of a number, by their places."""
        pairs = zip(self.places_of_integers, self.integers, strict=True)
        return {place: multiple for place, name in pairs if name in divided}

    @cached_property
    def combined(self) -> list[Numbers]:
        """What real parameters are together, first such that no product is a whole number.

        Empty: they are compared with too many numbers.
        """
        each = [
            [
                (index, value)
                for value in of_each_outcome(
                    self.compared.get(index, frozenset()), 0.8125 + index / 7
                )
            ]
            for index in range(len(self.kernel.parameters))
            if self.kind(index) in _REALS.values()
        ]
        found = [*product(*each)]
        return found if len(found) <= _MOST_COMBINED else []

    def offsets_of_pointers(self, code: KernelCode) -> list[int]:
        """Return where pointers lie among the bytes of its parameters."""
        places = enumerate(code.parameters)
        return [place.offset for index, place in places if self.kind(index) == "p"]

    def packed(self, code: KernelCode, sizes: Sizes, numbers: Numbers) -> bytes:
        """Return the bytes of all parameters; pointers lead to ghosts."""
        buffer = bytearray(code.parameter_bytes)
        array, reals = 0, dict(numbers)
        for index, (parameter, place) in enumerate(
            zip(self.kernel.parameters, code.parameters, strict=True)
        ):
            kind, at = self.kind(index), slice(place.offset, place.offset + place.size)
            if kind == "p":
                address = GHOST_BASE + array * ARRAY_BYTES + ARRAY_BYTES // 2
                buffer[at] = address.to_bytes(8, "little")
                array += 1
            elif kind == "i":
                value = sizes[parameter.name] & ((1 << 8 * place.size) - 1)
                buffer[at] = value.to_bytes(place.size, "little")
            elif kind == "b":
                buffer[at] = struct.pack("<f", reals[index])[2:]
            else:
                buffer[at] = struct.pack(f"<{kind}", reals[index])
        return bytes(buffer)
