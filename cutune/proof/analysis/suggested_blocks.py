"""Which blocks to propose for a kernel. Takes a refused kernel, gives `block(…)` and `grid(…)`.

Only what its compiled code shows: a dimension whose width it does not read has one width alone;
where the index of a block stands alone, the number of blocks stays; shared arrays with a place for
each thread are at least as long as the block is wide; halving a width needs powers of two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

from cutune.source.program import DIMENSIONS, Kernel
from cutune.toolchain.device.thread_block import LARGEST, LARGEST_Z, WARP

#: Storage of a collective of cub, named by its type or by another name of that type.
_STORAGE = re.compile(r"(\w+)\s*(?:<[^;]*>)?\s*::\s*TempStorage\b")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Proposal:
    """A proposed annotation.

    `blocks`: widths per dimension, as they are written; `kept_grids`: dimensions whose grid stays.
    """

    blocks: dict[str, str]
    kept_grids: tuple[str, ...]

    @property
    def clauses(self) -> str:
        """block(…), and grid(…) where it is needed."""
        block = ", ".join(f"{d}: {widths}" for d, widths in self.blocks.items())
        if not self.kept_grids:
            return f"block({block})"
        last = DIMENSIONS.index(self.kept_grids[-1]) + 1
        grid = ", ".join("keep" if d in self.kept_grids else "1" for d in DIMENSIONS[:last])
        return f"block({block}) grid({grid})"


def proposal(kernel: Kernel) -> Proposal | None:
    """The blocks that the code allows; None where it allows one alone."""
    use = kernel.block_use
    if collective(kernel) is not None:
        return None
    kept_grids = [d for d in DIMENSIONS if d in use.kept_grids]
    # A formula of the grid has no word for a dimension that follows its number of threads.
    chosen = kept_grids or [d for d in DIMENSIONS if d in use.widths]
    limits = {d: _limit(kernel, d) for d in chosen}
    least = WARP if chosen == ["x"] or kernel.warp_level else 1
    blocks = {d: _widths(least if d == "x" else 1, limits[d], d in use.halved) for d in chosen}
    if not chosen or prod(limits.values()) < WARP or not all(blocks.values()):
        return None
    return Proposal(blocks, tuple(kept_grids))


def collective(kernel: Kernel) -> str | None:
    """A collective of a whole block, whose width is an argument of its template."""
    for name in _STORAGE.findall(_COMMENT.sub(" ", kernel.source[kernel.span])):
        alias = re.search(
            rf"\busing\s+{name}\s*=([^;]*);|\btypedef\s+([^;]*?)\b{name}\s*;", kernel.source.text
        )
        type_ = (alias[1] or alias[2]) if alias is not None else name
        if not re.search(r"\bWarp[A-Z]", type_):
            return str(name)
    return None


def _widths(least: int, most: int, needs_powers: bool) -> str:
    """`32..1024`, or the powers of two among them; nothing where there is but one."""
    if most <= least:
        return ""
    powers = [1 << exponent for exponent in range(11) if least <= 1 << exponent <= most]
    return ", ".join(map(str, powers)) if needs_powers else f"{least}..{most}"


def _limit(kernel: Kernel, d: str) -> int:
    """The widest block that shared arrays and the kernel allow."""
    most = min(LARGEST_Z if d == "z" else LARGEST, kernel.max_threads)
    least = min(most, dict(kernel.block_use.limits).get(d, most))
    # Rows are often one element longer than they need be.
    return least - least % WARP if least > WARP else least
