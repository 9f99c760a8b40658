"""The verdict about one entry of a PTX module, as values."""

from __future__ import annotations

from dataclasses import dataclass

from cutune.core.codes import Code
from cutune.proof.memory.pointers import UNKNOWN_USES, PointerUses
from cutune.proof.values.id_bounds import IdBound
from cutune.proof.values.launch_conditions import Spread
from cutune.source.program import Role


@dataclass(frozen=True)
class EntryDimension:
    """The proof about one dimension; `raw` says why it may not be changed.

    `grid_kept`: any block, with the same number of them, while other dimensions have one thread.
    """

    indexed: bool
    raw: str | None = None
    bounds: tuple[IdBound, ...] = ()
    grid_stride: bool = False
    grid_kept: bool = False


@dataclass(frozen=True)
class Refused:
    """Why an entry may not be changed in any dimension.

    Attributes:
        code: of the rule that failed.
        message: its template, filled in.
    """

    code: Code
    message: str


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
    #: Where a condition does not hold, no block may change, not even if warps keep their threads.
    must_hold: bool = False
