"""A compiled kernel as measurements hold it: its basic blocks, memory accesses, registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

from cutune.core.typed import Count, Index, Meta, Name, Symbol, one_of, require
from cutune.toolchain.ptxas import StaticCounters


@dataclass(frozen=True)
class CodeBlock:
    """A basic block of a kernel.

    Attributes:
        loop: its innermost loop; -1: none.
        instructions: issue slots.
        load_phases: dependent load steps.
        double, special: passes through the FP64 and the special-function units.
        barriers: waits for all warps of the thread block.
        constants: uniform registers filled from constant memory.
    """

    loop: Index
    instructions: Count
    load_phases: Count
    double: Count
    special: Count
    barriers: Count
    constants: Count = 0


@dataclass(frozen=True)
class MemoryInstruction:
    """A static memory instruction in global or shared memory.

    Attributes:
        site: its index among the memory instructions of the kernel.
        kind: `load`, `store` or `atomic`.
        bytes: per lane.
        block: index of its basic block.
        shared: is it in shared memory?
        real: does an atomic operation work on floating-point numbers?
        phase: of a load, its load phase; loads of one phase overlap.
    """

    site: Count
    kind: Annotated[str, one_of("load", "store", "atomic")]
    bytes: Annotated[int, Meta(ge=1, le=1024)]
    block: Count
    shared: bool
    real: bool = False
    phase: Count = 0


@dataclass(frozen=True)
class LeastWork:
    """The work of the shortest ways through the code; 0 where it is not known.

    Attributes:
        instructions: issue slots of any thread.
        of_working: of one that accesses memory.
        accesses: what that one executes of the instructions that access global memory.
    """

    instructions: Count = 0
    of_working: Count = 0
    accesses: Count = 0


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel as compiled: registers, basic blocks, memory instructions."""

    static: StaticCounters
    code_blocks: tuple[CodeBlock, ...] = ()
    memory: tuple[MemoryInstruction, ...] = ()
    #: Data-dependent memory instructions, each executed at most once per thread.
    uncertain: Count = 0
    least: LeastWork = LeastWork()

    @staticmethod
    def entries(entry: Mapping[str, Any]) -> dict[str, Any]:
        """Its entries in the line of a kernel, which has them among its own."""
        names = [field.name for field in fields(CompiledKernel)]
        # Older files say nothing of `least`.
        return {name: entry[name] for name in names if name in entry or name != "least"}

    def __post_init__(self) -> None:
        most = len(self.code_blocks) or 1 << 62
        require(all(m.block < most for m in self.memory), "`memory` is in blocks that there are")


@dataclass(frozen=True)
class BoundedCopy:
    """A variant with launch bounds: the same code, in other registers and blocks of fewer threads.

    `variant`: its name; `entry`: mangled.
    """

    variant: Name
    entry: Symbol
    max_threads: Annotated[int, Meta(ge=1, le=1024)]
    static: StaticCounters
