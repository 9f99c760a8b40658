"""The verdict about one entry of a PTX module, as values."""

from __future__ import annotations

from dataclasses import dataclass, field

from cutune.core.codes import Code
from cutune.proof.memory.pointers import UNKNOWN_USES, PointerUses
from cutune.proof.source_lines import Locate
from cutune.proof.values.id_bounds import IdBound
from cutune.proof.values.launch_conditions import Spread
from cutune.proof.values.polynomial import IntegerPolynomial
from cutune.source.candidates import BlockUse
from cutune.source.program import Role


@dataclass(frozen=True)
class EntryDimension:
    """The proof about one dimension; `raw` says why it may not be changed.

    `grid_kept`: any block, with the same number of them, while other dimensions have one thread.
    `free_up_to`: where each of these is more than 0 and at most `MOST_SHARED_BY_GRID`, any number
    of threads does the same; empty: the number of threads stays.
    """

    indexed: bool
    raw: str | None = None
    bounds: tuple[IdBound, ...] = ()
    grid_stride: bool = False
    grid_kept: bool = False
    free_up_to: tuple[IntegerPolynomial, ...] = ()
    #: The line of the PTX where `raw` is used; 0: none.
    line: int = 0


@dataclass(frozen=True)
class Refused:
    """Why an entry may not be changed in any dimension.

    Attributes:
        code: of the rule that failed.
        message: its template, filled in.
        line: of the PTX that broke it; 0: none.
    """

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
        single_thread: so it must unless a block has one thread in these dimensions, which stay;
            where it must anyway, no block with several may change.
        pointers, spreads: conditions on a launch, see `places`.
    """

    name: str
    parameters: tuple[int, ...]
    dimensions: tuple[EntryDimension, EntryDimension, EntryDimension]
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
    #: Registers that a thread needs at least, as far as the PTX tells.
    pressure: int = 0
    #: Has it launch bounds of its own?
    is_bounded: bool = False
    structures: frozenset[int] = frozenset()
    single_thread: tuple[str, ...] = ()
    #: Does it use shared memory, of which blocks of any size need the same?
    uses_shared: bool = False
    #: Gives the line of the source from which a line of the PTX came.
    locate: Locate = lambda line: None
    #: Does it hold warp-level code?
    warp_level: bool = False
    #: How it uses its block, where it is not proven for others.
    block_use: BlockUse = field(default_factory=BlockUse)
    #: Where a condition does not hold, no block may change, not even if warps keep their threads.
    must_hold: bool = False
    #: Threads of the blocks for which it is proven; empty: of any.
    widths: tuple[int, ...] = ()
    #: Bytes of dynamic shared memory that it needs with each of them; empty: none is used.
    shared_bytes: tuple[int, ...] = ()
    #: Does the order in which rounded numbers are combined depend on the block?
    reassociates: bool = False
