"""Launches with fewer blocks than a GPU has multiprocessors. Takes numbers, gives words."""

from __future__ import annotations

from cutune.core.codes import Code

#: A launch has few blocks where so many times as many would still have a multiprocessor each.
_FEW = 4
#: What more threads gain is told where it is as much as this.
_TOLD = 1.1


def idle_text(blocks: int, multiprocessors: int, gain: float | None = None) -> str:
    """Return that most multiprocessors are idle; empty where they are not.

    `gain`: how many times as fast the launch would be with as many threads as fill the GPU.
    """
    if not 0 < blocks * _FEW <= multiprocessors:
        return ""
    cost = f", predicted {gain:.3g} times as fast with enough threads" if _is_told(gain) else ""
    return Code.FEW_BLOCKS.template.format(
        blocks="1 block" if blocks == 1 else f"{blocks} blocks",
        idle=multiprocessors - blocks,
        all=multiprocessors,
        cost=cost,
    )


def _is_told(gain: float | None) -> bool:
    return gain is not None and gain >= _TOLD
