"""Copies of a kernel among which launches choose; of one with other constants, its one launch."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cutune.core.source import Edit, Source
from cutune.source.host_formula import names_in
from cutune.toolchain.device.thread_block import Block

#: The dimensions of the grid that the program asks for.
ASKED = ("gridDim.x", "gridDim.y", "gridDim.z")


#: Begins what a number is called that stands in a block as it is written.
BLOCK_OF = "block_of_"


def value_text(name: str, value: object) -> str:
    """`TILE = 32`; `64 in place of 128` of a number that is written."""
    is_written = name.startswith(BLOCK_OF)
    return f"{value} in place of {name[len(BLOCK_OF) :]}" if is_written else f"{name} = {value}"


@dataclass(frozen=True)
class Tile:
    """The launch of a copy in which a constant that the block follows has another value.

    In each dimension the program asks for as many blocks of `own_block` as cover an extent, each of
    them so many elements. A copy is launched with as many of `block` as cover it then.

    Attributes:
        extents: C text of integers, over the integer parameters of the kernel, and `gridDim.x`, …:
            the grid that the program asks for, whatever it is made of.
        covered, own_covered: elements of an extent per block of the copy, and of the program.
        divided: parameters that have to be multiples of `multiple`.
        whole: blocks that the program asks for are multiples of these.
    """

    block: Block
    own_block: Block
    extents: tuple[str, str, str]
    covered: Block
    own_covered: Block
    divided: tuple[str, ...] = ()
    multiple: int = 1
    whole: Block = (1, 1, 1)
    #: Bytes of dynamic shared memory of a block of the copy, and of the program.
    shared: int = 0
    own_shared: int = 0
    #: The other values, by the names of the constants.
    values: tuple[tuple[str, int], ...] = ()

    @property
    def text(self) -> str:
        """`TILE = 32`, as messages have it."""
        return ", ".join(value_text(*one) for one in self.values)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters of which extents are made."""
        return tuple(name for name in names_in(" ".join(self.extents)) if name not in ASKED)

    def is_asked(self, axis: int) -> bool:
        """Is an extent made of the grid that the program asks for?"""
        return ASKED[axis] in names_in(self.extents[axis])

    def threads(self, axis: int) -> str:
        """C text of the threads of a dimension, of all blocks together."""
        covered = self.covered[axis]
        return f"({self.extents[axis]} + {covered - 1}) / {covered} * {self.block[axis]}"

    def own(self) -> Tile:
        """The program's own launch: the same for all copies that are launched in its place."""
        own_block, own_covered = self.own_block, self.own_covered
        own = replace(self, block=own_block, covered=own_covered, shared=self.own_shared)
        return replace(own, values=())


@dataclass(frozen=True)
class KernelVariant:
    """A copy of a kernel that does the same, under a condition that is asked at the launch."""

    #: What is done to the kernel: `restrict_x2`.
    name: str
    #: Name of the copy: `gemm_kernel__restrict_x2`.
    kernel: str
    #: The file that it is inserted into, and the edit that inserts it.
    source: Source
    edit: Edit
    #: The last step that made the copy (`restrict`, `coarsen` …). Each step has its own proof.
    transform: str
    #: Positions of the pointers that the launch asks about. Empty: there is no condition.
    pointers: tuple[int, ...] = ()
    #: Those of them that it writes through (stores, atomics).
    written: tuple[int, ...] = ()
    #: Ids that each thread does, per dimension.
    coarsen: Block = (1, 1, 1)
    #: Positions of pointers that have to be multiples of 16.
    aligned: tuple[int, ...] = ()
    #: Positions of integers that have to be multiples of the ids that each thread does.
    divided: tuple[int, ...] = ()
    #: Inserts a copy for the proof, which takes its place from marked registers.
    moved: Edit | None = None
    #: Threads of its largest block, and blocks for which ptxas leaves room on an SM.
    bounds: tuple[int, int] | None = None
    tile: Tile | None = None  # its one launch, if a constant has another value in it
    #: Declares it where its kernel is declared before its launches.
    declaration: Edit | None = None
