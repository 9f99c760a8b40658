"""The fitted model of a kernel: counts as functions of the sizes, features per class and block."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from cutune.model.measurement.measurement import MeasuredKernel
from cutune.model.rational.functions import RationalFunction
from cutune.toolchain.device.thread_block import Block, threads_of

#: Kinds of columns that only the published models read, per execution and group: 32-byte sectors,
#: instructions that need more of them than a coalesced one, and the sectors of these.
SECTORS, UNCOALESCED, SCATTERED = "sectors", "uncoalesced", "scattered"

#: Kinds of columns about the whole kernel: ratios to its counts. Where the grid is kept, columns
#: with the suffix `FIXED` hold the work of a warp that does not grow with the counts.
ISSUE, STEP, BARRIER, FIXED = "issue", "step", "barrier", "_fixed"

#: Atomic operations on integers, and on floating-point numbers.
ATOMIC, ATOMIC_REAL = "atomic", "atomic_real"

#: All kinds of columns; see `FeatureColumn`.
KINDS = frozenset(
    (
        *(SECTORS, UNCOALESCED, SCATTERED, ATOMIC, ATOMIC_REAL),
        *(kind + suffix for kind in (ISSUE, STEP, BARRIER) for suffix in ("", FIXED)),
        *("load", "store", "shared", "request", "rewritten", "rewritten_lines"),
        *("missed", "missing", "busiest"),
    )
)


@dataclass(frozen=True)
class SizeRange:
    """The least and the largest value of a size at which counts are known.

    `factor`: how many times as large as any that took part in fitting it the largest is.
    """

    least: int
    largest: int
    factor: int = 1


@dataclass(frozen=True)
class Array:
    """A pointer parameter, and the bytes between the lowest and the highest accessed address."""

    parameter: int
    extent_bytes: RationalFunction
    is_loaded: bool
    is_stored: bool


@dataclass(frozen=True)
class FeatureColumn:
    """One address feature, per execution by a warp, for every (alignment class, block).

    Costs per thread and trip of the count group `group`, except `issue`, `barrier`, `step` and
    `busiest`: these are ratios to the counts of the whole kernel:

    - `load`: wavefronts, or 0.35 per line if that is more; `store`: bytes / 32, plus 1.5 per line
      with a partially written sector, or 1.65 per line if that is more; `shared`: wavefronts.
    - `request`: executions; only where the grid is kept, elsewhere they follow from the trips.
    - `rewritten`: sectors of which the warp's previous store wrote another part; they are not in
      `store`. `rewritten_lines`: the lines that such a store accesses.
    - `missed`: sectors that the block accesses for the first time in a window of eight executions;
      they cost only if `array` is not small.
    - `missing`: the share of steps in which the block misses L1.
    - `atomic`, `atomic_real`: bytes that atomic operations change, on integers and on
      floating-point numbers.
    - `busiest`: load steps of the busiest warp, relative to the mean.
    - `issue`, `barrier`: instructions and barriers of a warp, relative to those of a thread.
    - Where the grid is kept, a warp has `issue` times the instructions of a thread of the block
      that was counted, plus `issue_fixed`; likewise for `barrier`, and `step` for load steps.

    `values[class * blocks + block]`, in single precision.
    """

    kind: str
    group: int
    array: int | None
    values: tuple[float, ...]


@dataclass(frozen=True)
class PublishedCounts:
    """Counters per warp as the published method fits them, in a size and the block's dimensions."""

    issued: RationalFunction
    memory: RationalFunction
    uncoalesced: RationalFunction
    scattered: RationalFunction
    sectors: RationalFunction
    barriers: RationalFunction


@dataclass(frozen=True)
class Totals:
    """Totals over the threads of a launch, as functions of the kernel's variables.

    Attributes:
        working: threads that access memory.
        steps: dependent load steps.
        instructions: issue slots.
        double, special: passes through the FP64 and the special-function units.
        constants: uniform reads of constant memory, of 8 bytes each.
    """

    working: RationalFunction
    steps: RationalFunction
    instructions: RationalFunction
    double: RationalFunction
    special: RationalFunction
    barriers: RationalFunction
    constants: RationalFunction

    @property
    def totals(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(Totals)}


@dataclass(frozen=True)
class FittedModel(Totals):
    """Everything that the performance model needs of one kernel.

    Attributes:
        looped: does a loop contain global memory accesses?
        groups: executions of the instructions of each count group.
        requests: memory instructions in each count group.
        classes: per data parameter the class of each residue modulo the length of the tuple.
        blocks: the candidates, in the order of the columns' values.
        held_out_error: of the worst count function, 0 when all are exact.
        transactions: columns of the published models.
        published: what the published models read instead, where their method was used.
        confirmed_on: the device on which timings confirm the model: at a timed size it chooses a
            block other than the program's own, and that block was no slower.
        reached: per variable where the counts are known: sizes that took part, and larger ones and
            corners that were held out.
        is_exact: are all counts exact, also where they were held out?
    """

    kernel: MeasuredKernel
    looped: bool
    groups: tuple[RationalFunction, ...]
    requests: tuple[int, ...]
    arrays: tuple[Array, ...]
    classes: tuple[tuple[int, ...], ...]
    blocks: tuple[Block, ...]
    columns: tuple[FeatureColumn, ...]
    held_out_error: float
    transactions: tuple[FeatureColumn, ...] = ()
    published: PublishedCounts | None = None
    confirmed_on: str | None = None
    variants: tuple[FittedModel, ...] = ()
    reached: tuple[SizeRange, ...] = ()
    is_exact: bool = False

    @property
    def one_dimensional(self) -> bool:
        """Is exactly one dimension free and no other used?"""
        kernel = self.kernel
        return sum(kernel.free) == 1 and all(
            free or size == 1 for free, size in zip(kernel.free, kernel.original, strict=True)
        )

    @property
    def variant_names(self) -> frozenset[str]:
        return frozenset(one.kernel.variant for one in self.variants)

    def only(self, variants: Collection[str]) -> FittedModel:
        """The model without other variants."""
        kept = tuple(one for one in self.variants if one.kernel.variant in variants)
        return replace(self, variants=kept)

    def restricted(self, blocks: Collection[Block]) -> FittedModel:
        """The model with only those of its candidates."""
        kept = [index for index, block in enumerate(self.blocks) if block in blocks]
        count = len(self.blocks)

        def values(column: FeatureColumn) -> tuple[float, ...]:
            rows = range(0, len(column.values), count)
            return tuple(column.values[row + index] for row in rows for index in kept)

        return replace(
            self,
            blocks=tuple(self.blocks[index] for index in kept),
            columns=tuple(replace(c, values=values(c)) for c in self.columns),
            transactions=tuple(replace(c, values=values(c)) for c in self.transactions),
        )


def with_variants(models: Sequence[FittedModel]) -> list[FittedModel]:
    """The models of kernels, each with those of its variants; a variant without a kernel goes."""

    def variants(model: FittedModel) -> tuple[FittedModel, ...]:
        measured = [
            other
            for other in models
            if other.kernel.variant and other.kernel.launched == model.kernel.launched
        ]
        return (*measured, *(copy for one in (model, *measured) for copy in _bounded(one)))

    kernels = (model for model in models if not model.kernel.variant)
    return [replace(model, variants=variants(model) or model.variants) for model in kernels]


def _bounded(model: FittedModel) -> Iterator[FittedModel]:
    """The models of those variants with launch bounds that have the same code."""
    for copy in model.kernel.bounded:
        kernel = replace(
            model.kernel,
            variant=copy.variant,
            entry=copy.entry,
            max_threads=copy.max_threads,
            compiled=replace(model.kernel.compiled, static=copy.static),
            bounded=(),
        )
        blocks = [block for block in model.blocks if threads_of(block) <= copy.max_threads]
        if blocks:
            yield replace(model, kernel=kernel, variants=()).restricted(blocks)


def in_single_precision(values: Sequence[float]) -> tuple[float, ...]:
    """Rounded, as tables of the emitted C hold them."""
    return tuple(np.array(values, np.float32).astype(np.float64).tolist())
