"""What measurements keep of a kernel: an assembled kernel in, its blocks and accesses out."""

from __future__ import annotations

from cutune.emulator.bytecode.module import Kernel
from cutune.fit.measurement.measurement import CodeBlock, MemoryInstruction

_COUNTED_SPACES = ("global", "generic", "shared")


def code_blocks(code: Kernel) -> tuple[CodeBlock, ...]:
    """The basic blocks with what one execution of each asks of the units of an SM."""
    return tuple(
        CodeBlock(
            block.loop,
            block.demand.slots,
            block.load_phases,
            block.demand.double,
            block.demand.special,
            block.demand.barriers,
            block.demand.constants,
        )
        for block in code.blocks
    )


def memory_instructions(code: Kernel) -> tuple[MemoryInstruction, ...]:
    """The static instructions that access memory, each with the position of its block."""
    place = {block.index: position for position, block in enumerate(code.blocks)}
    return tuple(
        MemoryInstruction(
            index,
            site.kind,
            site.bytes,
            place[site.block],
            site.space == "shared",
            site.real,
            site.phase,
        )
        for index, site in enumerate(code.sites)
        if site.space in _COUNTED_SPACES
    )
