"""Code and counters as measurements keep them. Takes a kernel's code, gives a `CompiledKernel`.

The least that a thread does needs no function of the sizes: whatever they are, a thread that
accesses memory went a way from the entry to an access, and on to an end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from cutune.collect.replay.least import least_work
from cutune.emulator.bytecode.module import KernelCode
from cutune.emulator.counters import site_counters as counters_of_machine
from cutune.fit.measurement.compiled_kernel import CodeBlock, CompiledKernel, MemoryInstruction
from cutune.fit.measurement.measurement import SiteCounters
from cutune.toolchain.ptxas import StaticCounters

_COUNTED_SPACES = ("global", "generic", "shared")
#: The counters of the machine that a measurement has unchanged.
_KEPT = {f.name for f in fields(SiteCounters)} & {c.name for c in counters_of_machine()}
NOT_EXECUTED = SiteCounters(**dict.fromkeys(_KEPT, 0), array=-1, low=0, high=0)


def compiled_kernel(code: KernelCode, static: StaticCounters) -> CompiledKernel:
    """A kernel's code as measurements hold it, with the compiler's static counters."""
    uncertain = code.obliviousness.uncertain
    blocks, memory = _code_blocks(code), _memory_instructions(code)
    return CompiledKernel(static, blocks, memory, uncertain, least_work(code))


def _code_blocks(code: KernelCode) -> tuple[CodeBlock, ...]:
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


def _memory_instructions(code: KernelCode) -> tuple[MemoryInstruction, ...]:
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


def site_counters(counted: Mapping[str, int] | np.void, array: int, start: int) -> SiteCounters:
    """Counters of one memory instruction in one launch, by the machine's names.

    `array`: the pointer parameter that it went through, or -1; `start`: what that points to.
    """
    values: dict[str, Any] = {name: int(counted[name]) for name in _KEPT}
    low, high = (int(counted[end]) - start if array >= 0 else 0 for end in ("lowest", "highest"))
    return SiteCounters(**values, array=array, low=low, high=high)
