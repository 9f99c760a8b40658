"""What `fit` knows of a kernel: counts as functions of the sizes, features per class and block."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from cutune.candidates import Block
from cutune.rational import RationalFunction


@dataclass(frozen=True)
class StaticCounters:
    """What ptxas says of a kernel."""

    registers: int
    static_shared_bytes: int = 0
    spill_bytes: int = 0


@dataclass(frozen=True)
class Array:
    """One pointer parameter: bytes between the lowest and the highest address that is touched."""

    parameter: int
    extent_bytes: RationalFunction


@dataclass(frozen=True)
class FeatureColumn:
    """One address feature, per execution by a warp, for every (alignment class, block).

    `kind`: `load` (wavefronts, or 0.35 per line if that is more), `store` (full sectors plus twice
    the partial ones, or 1.65 per line if that is more), `missed` (sectors that the block touches
    first in a window of eight executions; counts only where the array is not small). `group`: the
    count group whose trips multiply it. `values[class * blocks + block]`.
    """

    kind: str
    group: int
    array: int | None
    values: tuple[Fraction, ...]


@dataclass(frozen=True)
class FittedModel:
    """Everything that the performance model needs of one kernel.

    All functions are totals over a launch, over threads, in the data parameters `parameters`.

    Attributes:
        kernel: name in the source; `entry`: name in the PTX (one model per instantiation).
        positions: index among the kernel's parameters of each data parameter.
        kept: per other scalar argument, its recorded value is built in (launch counters).
        free: per dimension, may the block be changed?
        extents: per dimension the guard bound as C text, or None where only the thread space
            grid * block is known, or the text of a function of the sizes that gives it.
        working: threads that touch memory.
        steps: dependent load steps. instructions: those that take an issue slot.
        looped: does a loop hold memory accesses?
        groups: executions of the instructions of each count group.
        requests: memory instructions in each count group.
        classes: per data parameter the class of each residue modulo the length of the tuple.
        lowest, highest: per data parameter the sizes that the fit has seen.
    """

    kernel: str
    entry: str
    code: str
    parameters: tuple[str, ...]
    positions: tuple[int, ...]
    kept: tuple[tuple[str, int], ...]
    free: tuple[bool, bool, bool]
    extents: tuple[str | None, str | None, str | None]
    guarded: tuple[bool, bool, bool]
    static: StaticCounters
    dynamic_shared_bytes: int
    working: RationalFunction
    steps: RationalFunction
    instructions: RationalFunction
    looped: bool
    groups: tuple[RationalFunction, ...]
    requests: tuple[int, ...]
    arrays: tuple[Array, ...]
    classes: tuple[tuple[int, ...], ...]
    blocks: tuple[Block, ...]
    original: Block
    columns: tuple[FeatureColumn, ...]

    @property
    def one_dimensional(self) -> bool:
        """Is exactly one dimension free and no other used?"""
        return sum(self.free) == 1 and all(
            free or size == 1 for free, size in zip(self.free, self.original, strict=True)
        )
