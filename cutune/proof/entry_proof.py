"""The verdict about one entry of a PTX module, as values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import dropwhile

from cutune.core.codes import Code
from cutune.proof.memory.pointers import UNKNOWN_USES, PointerUses
from cutune.proof.source_lines import Locate, SourceLine
from cutune.proof.values.id_bounds import IdBound
from cutune.proof.values.launch_conditions import Spread
from cutune.proof.values.polynomial import IntegerPolynomial
from cutune.source.candidates import BlockUse
from cutune.source.program import Role
from cutune.toolchain.kernel_names import base_name

_ATOMIC = re.compile(r"'(?:atom|red)\.(\w+)'")
_MARKED = re.compile(r"'(?:ld|st)\.(volatile|relaxed|acquire|release|mmio)\b.*'")
_CALLED = re.compile(r"'(_Z\w+|%[a-z]+\d+)'")
#: Clocks as the source reads them; other special registers it reads by assembly.
_CLOCKS = {"'%clock'": "clock()", "'%clock64'": "clock64()"}
_TOGETHER = (Code.BARRIER, Code.SHARED_MEMORY, Code.WARP_LEVEL)


def nowhere(line: int) -> None:
    """No line of a source is known."""


@dataclass(frozen=True)
class EntryDimension:
    """The proof about one dimension; `raw` says why it may not be changed.

    `free_up_to`: where each of these is more than 0 and at most `MOST_SHARED_BY_GRID`, any number
    of threads does the same; empty: the number of threads stays. `in_one_round`: that is so only
    among numbers of threads that are no less than their sum.
    """

    indexed: bool
    raw: str | None = None
    bounds: tuple[IdBound, ...] = ()
    grid_stride: bool = False
    #: Any block, with the same number of them, while other dimensions have one thread.
    grid_kept: bool = False
    free_up_to: tuple[IntegerPolynomial, ...] = ()
    in_one_round: bool = False
    #: The line of the PTX where `raw` is used; 0: none.
    line: int = 0


@dataclass(frozen=True)
class Refused:
    """Why an entry may not change: the rule, its message, and the line of the PTX (0: none)."""

    code: Code
    message: str
    line: int = 0


@dataclass(frozen=True)
class EntryProof:
    """The verdict on an entry of a compiled module.

    Attributes:
        name: mangled.
        parameters: bytes of each parameter.
        structures: positions of those that are structures, or unions.
        refused: why no dimension may change, or None.
        needs_warps: must each warp hold the same threads with every block?
        single_thread: dimensions that stay, in which blocks must have one thread. Others keep their
            warps, or with `needs_warps` their size.
        pointers, spreads: conditions on a launch, see `Meetings`.
    """

    name: str
    parameters: tuple[int, ...]
    dimensions: tuple[EntryDimension, ...]
    refused: Refused | None = None
    needs_warps: bool = False
    pointers: tuple[tuple[str, str], ...] = ()
    spreads: tuple[Spread, ...] = ()
    max_threads: int = 1024
    #: How parameters reach the work, by place.
    roles: tuple[tuple[str, Role], ...] = ()
    #: Through which parameters it accesses memory.
    uses: PointerUses = UNKNOWN_USES
    #: Has it no loop, and does each thread run to its end?
    is_straight: bool = False
    #: Bytes of its narrowest access of global memory; 0: there is none.
    narrowest: int = 0
    #: Parameters, by place, in each product at which rows or planes of memory begin.
    row_products: tuple[frozenset[str], ...] = ()
    #: Registers that a thread needs at least, as far as the PTX tells.
    pressure: int = 0
    #: Has it launch bounds of its own?
    is_bounded: bool = False
    structures: frozenset[int] = frozenset()
    single_thread: tuple[str, ...] = ()
    #: Does it use shared memory, of which blocks of any size need the same?
    uses_shared: bool = False
    #: Gives the line of the source from which a line of the PTX came.
    locate: Locate = nowhere
    #: The line of its head in the PTX, and of its last instruction; (0, 0): not known.
    lines: tuple[int, int] = (0, 0)
    #: Does it hold warp-level code?
    warp_level: bool = False
    #: How it uses its block, where it is not proven for others.
    block_use: BlockUse = field(default_factory=BlockUse)
    #: Where its first raw value is the index of a block: what keeps it from being proven by rows.
    not_by_rows: str = ""
    #: Where a condition does not hold, no block may change, not even if warps keep their threads.
    must_hold: bool = False
    #: Is it proven for launches of fewer than 2^23 blocks, since it reads no more of their numbers?
    narrow_blocks: bool = False
    #: Threads of the blocks for which it is proven; empty: of any.
    widths: tuple[int, ...] = ()
    #: Bytes of dynamic shared memory that it needs with each of them; empty: none is used.
    shared_bytes: tuple[int, ...] = ()
    #: Does it need more of it, behind that, with a block of any size?
    keeps_shared: bool = False
    #: Does the order in which rounded numbers are combined depend on the block?
    reassociates: bool = False

    @property
    def is_tunable(self) -> bool:
        """May blocks change in a dimension that it indexes?"""
        is_free = any(one.indexed and one.raw is None for one in self.dimensions)
        return self.refused is None and is_free

    @property
    def own_places(self) -> set[tuple[str, int]]:
        """The lines of the sources that its code came from; of what it calls those of the calls.

        Until the compiler says anything of it, a line of PTX seems to belong to what stands before.
        """
        first, last = self.lines
        found = [_outermost(self.locate(line)) for line in range(first, last + 1)]
        own = dropwhile(lambda place: place == found[0], found)
        return {place for place in own if place is not None and place[1] > 0}


def in_source(what: str) -> str:
    """Name an instruction or a symbol as the source does."""
    if (operation := _ATOMIC.fullmatch(what)) is not None:
        return "atomicCAS" if operation[1] == "cas" else f"atomic{operation[1].capitalize()}"
    if (access := _MARKED.fullmatch(what)) is not None:
        return "volatile memory" if access[1] == "volatile" else f"{access[1]} accesses of memory"
    if what in _CLOCKS:
        return _CLOCKS[what]
    if (called := _CALLED.fullmatch(what)) is not None:
        return f"'{base_name(called[1])}'" if called[1][0] != "%" else "a function by its address"
    return what


def ordered_first(refused: Refused | None, use: BlockUse) -> Refused | None:
    """Results of atomic operations are refused for themselves, whatever threads do together."""
    operation, line = use.order
    if refused is None or refused.code not in _TOGETHER or not line:
        return refused
    what = Code.ATOMIC_RESULT.template.format(what=in_source(f"'atom.{operation}'"))
    return Refused(Code.ATOMIC_RESULT, what, line)


def _outermost(place: SourceLine | None) -> tuple[str, int] | None:
    while place is not None and place.call is not None:
        place = place.call
    return None if place is None else (place.file, place.line)
