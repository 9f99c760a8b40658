"""The fitted model of a kernel: counts as functions of the sizes, features per class and block.

In models.json rationals are written as "numerator/denominator". Columns of features have a row per
alignment class. A model's distinct rows are written once, and each column says which of them it
has; a row of one value is that number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from math import prod
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from cutune.core.typed import (
    Count,
    Integer,
    MemberName,
    Meta,
    Name,
    Quantity,
    Small,
    Text,
    Time,
    require,
    typed,
)
from cutune.core.workspace import Json, checking, read_document, write_document
from cutune.model.emit.selected_programs import command_of, decided_by_device, decisive
from cutune.model.measurement.alignment import MAX_CLASSES
from cutune.model.measurement.measurement import MeasuredKernel, Origin
from cutune.model.rational.functions import RationalFunction, constant_function
from cutune.source.program import Program
from cutune.toolchain.device.thread_block import Block, Extents, is_block, threads_of

#: Kinds of columns that only the published models read, per execution and group: 32-byte sectors,
#: instructions that need more of them than a coalesced one, and the sectors of these.
SECTORS, UNCOALESCED, SCATTERED = "sectors", "uncoalesced", "scattered"

#: Kinds of columns about the whole kernel: ratios to its counts. Where the grid is kept, columns
#: with the suffix `FIXED` hold the work of a warp that does not grow with the counts.
ISSUE, STEP, BARRIER, CHAIN, FIXED = "issue", "step", "barrier", "chain", "_fixed"

#: Atomic operations on integers, and on floating-point numbers.
ATOMIC, ATOMIC_REAL = "atomic", "atomic_real"

#: Bytes of a sector.
SECTOR = 32

#: What is not counted in files of earlier versions.
NOT_COUNTED = constant_function((), 0)

#: Of an array that blocks go through in several passes.
LOADED, REPEATED, BETWEEN = "loaded", "repeated", "between"

#: All kinds of columns; see `FeatureColumn`.
KINDS = frozenset((SECTORS, UNCOALESCED, SCATTERED, ATOMIC, ATOMIC_REAL)).union(
    (kind + suffix for kind in (ISSUE, STEP, BARRIER, CHAIN) for suffix in ("", FIXED)),
    ("load", "store", "shared", "request", "rewritten", "rewritten_lines"),
    ("missed", "missing", "busiest", LOADED, REPEATED, BETWEEN),
)


@dataclass(frozen=True)
class SizeRange:
    """Sizes at which counts are known, up to `factor` times as large as those that were fitted."""

    least: int
    largest: int
    factor: int = 1


@dataclass(frozen=True)
class Array:
    """A pointer parameter, and the bytes between the lowest and the highest accessed address."""

    parameter: Small
    extent_bytes: RationalFunction
    is_loaded: bool
    is_stored: bool


@dataclass(frozen=True)
class FeatureColumn:
    """One address feature, per execution by a warp, for every (alignment class, block).

    Costs per thread and trip of the count group `group`. Those without a group of their own are of
    the whole kernel: `issue`, `barrier`, `step` and `busiest`, ratios to its counts, and what tells
    of passes:

    - `load`: wavefronts, or 0.35 per line if that is more; `store`: bytes / 32, plus 1.5 per line
      with a partially written sector, or 1.65 per line if that is more; `shared`: wavefronts.
    - `request`: executions; only where the grid is kept, elsewhere they follow from the trips.
    - `rewritten`: sectors of which the warp's previous store wrote another part; they are not in
      `store`. `rewritten_lines`: the lines that such a store accesses.
    - `missed`: sectors that the block accesses for the first time in a window of eight executions;
      they cost only if `array` is not small.
    - `missing`: the share of steps in which the block misses L1.
    - Of an array that blocks go through in several passes, `loaded` and `repeated`: the shares of
      its `missed` that are loaded, and that are loaded though an earlier pass has touched them.
      `between`: what a pass touches, relative to `missed` of all arrays.
    - `atomic`, `atomic_real`: bytes that atomic operations change, on integers and on
      floating-point numbers.
    - `busiest`: load steps of the busiest warp, relative to the mean.
    - `issue`, `barrier`: instructions and barriers of a warp, relative to those of a thread.
    - Where the grid is kept, a warp has `issue` times the instructions of a thread of the block
      that was counted, plus `issue_fixed`; likewise for `barrier`, `chain`, and `step` for load
      steps.

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
        chain: issue slots that follow each other, because each needs what the one before gives.
        single: additions and products of the FP32 units.
    """

    working: RationalFunction
    steps: RationalFunction
    instructions: RationalFunction
    double: RationalFunction
    special: RationalFunction
    barriers: RationalFunction
    constants: RationalFunction
    chain: RationalFunction
    single: RationalFunction = field(default=NOT_COUNTED, kw_only=True)

    @property
    def totals(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(Totals)}


_Factor = Annotated[float, Meta(gt=0, le=1e9)]


@dataclass(frozen=True)
class ShortlistLaunch:
    """A launch of the runs on a GPU: `sizes` by parameter, threads to cover, times by candidate."""

    sizes: tuple[Integer, ...]
    extents: Extents
    microseconds: tuple[Time | None, ...]


@dataclass(frozen=True)
class ShortlistTimes:
    """What a device has told of some candidates.

    Attributes:
        device: the name of its profile.
        predicted_us: at some lengths of launches, in each the predicted times by candidate.
        factors: at each of these, by candidate: how much longer it takes there.
        beyond: the factors far from all of these, by candidate.
        launches: at which some candidates were timed; a kernel and its variants have as many.
    """

    device: Text
    predicted_us: tuple[tuple[Time, ...], ...]
    factors: tuple[tuple[_Factor, ...], ...]
    beyond: tuple[_Factor, ...]
    launches: tuple[ShortlistLaunch, ...]

    def restricted(self, kept: Sequence[int]) -> ShortlistTimes:
        launches = tuple(
            replace(one, microseconds=tuple(one.microseconds[index] for index in kept))
            for one in self.launches
        )
        predicted, factors, (beyond,) = (
            tuple(tuple(row[index] for index in kept) for row in rows)
            for rows in (self.predicted_us, self.factors, (self.beyond,))
        )
        return ShortlistTimes(self.device, predicted, factors, beyond, launches)


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
        timed: what a shortlist of candidates took on a GPU; None: nothing was timed.
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
    timed: ShortlistTimes | None = None

    def moved(self, before: Collection[str], here: str) -> FittedModel:
        """The model of a source that lay elsewhere before."""
        if self.kernel.origin.path not in before:
            return self
        origin = replace(self.kernel.origin, path=here)
        return replace(self, kernel=replace(self.kernel, origin=origin))

    def timed_on(self, device: str) -> ShortlistTimes | None:
        """The times that correct what is predicted for a device, by the name of its profile."""
        return self.timed if self.timed is not None and self.timed.device == device else None

    @property
    def timed_blocks(self) -> frozenset[Block]:
        """The candidates that were timed, at any launch."""
        launches = self.timed.launches if self.timed is not None else ()
        rows = (zip(self.blocks, one.microseconds, strict=True) for one in launches)
        return frozenset(block for row in rows for block, us in row if us is not None)

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
        kept = tuple(one for one in self.variants if one.kernel.variant in variants)
        return replace(self, variants=kept)

    def restricted(self, blocks: Collection[Block]) -> FittedModel:
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
            timed=self.timed and self.timed.restricted(kept),
        )


def with_variants(models: Sequence[FittedModel]) -> list[FittedModel]:
    """The models of kernels, each with those of its variants; a variant without a kernel goes."""

    def variants(model: FittedModel) -> tuple[FittedModel, ...]:
        own = model.kernel.launched
        measured = [m for m in models if m.kernel.variant and m.kernel.launched == own]
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


# ---- models.json

SCHEMA = "cutune-models-8"
COMMAND = "cutune tune FILE, or of a project cutune tune --make (or its step cutune fit)"


def write_models(path: Path, models: Sequence[FittedModel]) -> None:
    """Save all models of a program. Raises CT002."""
    # Tables of thousands of numbers: nobody reads them a line each.
    write_document(path, SCHEMA, {"models": [_to_json(model) for model in models]}, indent=None)


def models_and_fresh(
    program: Program, known: Iterable[FittedModel]
) -> tuple[list[FittedModel], tuple[FittedModel, ...]]:
    """The models of a program's source, and those of them that still hold.

    They do where neither it nor what it depends on has changed, nor a macro of the command that it
    uses; or nothing that decides. Host code decides counts that depend on data, which it may make.
    """
    origin = Origin.of(program.source, program.deciding_files)
    own = [model for model in known if model.kernel.origin.path == origin.path]
    decided = decisive(program)

    def holds(kernel: MeasuredKernel) -> bool:
        if kernel.origin == origin:
            return command_of(kernel.decisive) == command_of(decided)
        return follows_from(kernel, decided)

    return own, tuple(model for model in own if holds(model.kernel))


def follows_from(kernel: MeasuredKernel, decided: str) -> bool:
    """Does a model follow from what `decisive` looks at, and is that the same?"""
    return decided_by_device(decided) and kernel.decisive == decided and not kernel.on_data


def read_models(path: Path) -> list[FittedModel]:
    """Read what `write_models` saved. Raises CT009, CT001, CT005, or CT012: wrong entries."""
    document = read_document(path, SCHEMA, COMMAND)
    with checking(path, COMMAND):
        return [_from_json(entry) for entry in typed(list[Json], document["models"])]


def _to_json(model: FittedModel) -> Json:
    numbers: dict[tuple[float, ...], int] = {}
    width = len(model.blocks)
    columns = [_column(column, width, numbers) for column in model.columns]
    transactions = [_column(column, width, numbers) for column in model.transactions]
    return {
        "kernel": model.kernel.name,
        "facts": model.kernel.to_json(),
        **{name: _function(total) for name, total in model.totals.items()},
        "looped": model.looped,
        "groups": [_function(group) for group in model.groups],
        "requests": model.requests,
        "arrays": [{**vars(a), "extent_bytes": _function(a.extent_bytes)} for a in model.arrays],
        "classes": model.classes,
        "blocks": model.blocks,
        "rows": [row[0] if len(set(row)) == 1 else list(row) for row in numbers],
        "columns": columns,
        "held_out_error": model.held_out_error,
        "transactions": transactions,
        "published": _published(model.published),
        "confirmed_on": model.confirmed_on,
        "variants": [_to_json(variant) for variant in model.variants],
        "reached": [list(astuple(one)) for one in model.reached],
        "is_exact": model.is_exact,
        "timed": model.timed and msgspec.to_builtins(model.timed),
    }


_Value = Annotated[float, Meta(ge=0, le=1e12)]
_Size = Annotated[int, Meta(ge=0, lt=1 << 62)]
_Class = Annotated[int, Meta(ge=0, lt=MAX_CLASSES)]


@dataclass(frozen=True)
class _ColumnEntry:
    """A column: `rows` are numbers of rows of values, one per alignment class."""

    kind: Name
    group: Small
    array: Small | None
    rows: tuple[Small, ...]


@dataclass(frozen=True)
class _PublishedEntry(PublishedCounts):
    variables: tuple[MemberName, ...]


@dataclass(frozen=True)
class _ModelEntry(Totals):
    facts: dict[str, Any]
    looped: bool
    groups: tuple[RationalFunction, ...]
    requests: tuple[Count, ...]
    arrays: tuple[Array, ...]
    classes: tuple[Annotated[tuple[_Class, ...], Meta(min_length=1, max_length=128)], ...]
    blocks: Annotated[tuple[Block, ...], Meta(min_length=1, max_length=1 << 15)]
    rows: tuple[_Value | tuple[_Value, ...], ...]
    columns: tuple[_ColumnEntry, ...]
    held_out_error: Quantity
    transactions: tuple[_ColumnEntry, ...]
    published: _PublishedEntry | None
    confirmed_on: Text | None
    reached: tuple[tuple[_Size, _Size, Annotated[int, Meta(ge=1, lt=1 << 62)]], ...]
    is_exact: bool
    timed: ShortlistTimes | None = None
    variants: tuple[dict[str, Any], ...] = ()


def _from_json(entry: Json, may_have_variants: bool = True) -> FittedModel:
    read = typed(_ModelEntry, entry)
    require(may_have_variants or not read.variants, "variants have no variants")
    kernel = MeasuredKernel.from_json(read.facts)
    names = kernel.variables
    width = len(read.blocks)
    rows = [in_single_precision(r if isinstance(r, tuple) else [r] * width) for r in read.rows]
    require(all(len(row) == width for row in rows), "a row has an entry per candidate")
    _check(read, kernel)
    variants = tuple(_from_json(variant, False) for variant in read.variants)
    timed = {_launches_on(read.timed), *(_launches_on(variant.timed) for variant in variants)}
    require(len(timed) == 1, "a kernel and its variants are `timed` at the same launches")
    return FittedModel(
        kernel=kernel,
        **{
            name: constant_function(names, 0) if total == NOT_COUNTED else _named(total, names)
            for name, total in read.totals.items()
        },
        looped=read.looped,
        groups=tuple(_named(group, names) for group in read.groups),
        requests=read.requests,
        arrays=tuple(
            replace(array, extent_bytes=_named(array.extent_bytes, names)) for array in read.arrays
        ),
        classes=read.classes,
        blocks=read.blocks,
        columns=_read_columns(read.columns, rows),
        held_out_error=read.held_out_error,
        transactions=_read_columns(read.transactions, rows),
        published=_read_published(read.published) if read.published is not None else None,
        confirmed_on=read.confirmed_on,
        variants=variants,
        reached=tuple(SizeRange(*entry) for entry in read.reached),
        is_exact=read.is_exact,
        timed=read.timed,
    )


def _launches_on(timed: ShortlistTimes | None) -> tuple[str, int]:
    """A device, and how many launches were timed on it."""
    return (timed.device, len(timed.launches)) if timed is not None else ("", 0)


def _check(read: _ModelEntry, kernel: MeasuredKernel) -> None:
    require(len(read.groups) == len(read.requests), "`requests` are as many as `groups`")
    require(len(read.reached) == len(kernel.variables), "`reached` has a range for each variable")
    require(all(low <= high for low, high, _ in read.reached), "a range of `reached` is not empty")
    require(len(read.classes) == len(kernel.parameters), "`classes` are those of `parameters`")
    require(len({*read.blocks}) == len(read.blocks), "each of `blocks` stands there once")
    require(all(map(is_block, read.blocks)), "a block has up to 1024 threads")
    if read.timed is not None:
        timed, launches = read.timed, read.timed.launches
        numbers = [*timed.predicted_us, *timed.factors, timed.beyond]
        is_whole = len(timed.predicted_us) == len(timed.factors) > 0
        require(is_whole, "`timed` has factors, each at a predicted time")
        counts = {*map(len, numbers), *(len(one.microseconds) for one in launches)}
        require(counts == {len(read.blocks)}, "`timed` is by candidate")
        sizes = (one.sizes for one in launches)
        require(all(len(one) == len(kernel.parameters) for one in sizes), "`timed` has all sizes")
    count = prod(max(of_one) + 1 for of_one in read.classes)
    require(count <= MAX_CLASSES, f"there are up to {MAX_CLASSES} alignment classes")
    for column in (*read.columns, *read.transactions):
        require(column.kind in KINDS, f"{column.kind!r} is no kind of column")
        require(len(column.rows) == count, "a column has a row for each alignment class")
        require(max(column.rows) < len(read.rows), "a column has rows that are there")
        require(column.group < max(1, len(read.groups)), "a column belongs to one of `groups`")
        is_there = column.array is None or column.array < len(read.arrays)
        require(is_there, "a column belongs to one of `arrays`")


def _published(counts: PublishedCounts | None) -> Json | None:
    if counts is None:
        return None
    functions = {f.name: _function(getattr(counts, f.name)) for f in fields(PublishedCounts)}
    return {"variables": list(counts.issued.variables), **functions}


def _read_published(entry: _PublishedEntry) -> PublishedCounts:
    functions = (getattr(entry, field.name) for field in fields(PublishedCounts))
    return PublishedCounts(*(_named(function, entry.variables) for function in functions))


def _column(column: FeatureColumn, width: int, numbers: dict[tuple[float, ...], int]) -> Json:
    """A column in a file. `numbers`: of the model's distinct rows, as they are met."""
    # Single precision has at most 9 significant digits: nothing is lost.
    values = [float(f"{value:.9g}") for value in column.values]
    rows = (tuple(values[start : start + width]) for start in range(0, len(values), width))
    places = [numbers.setdefault(row, len(numbers)) for row in rows]
    return {"kind": column.kind, "group": column.group, "array": column.array, "rows": places}


def _read_columns(
    entries: Sequence[_ColumnEntry], rows: Sequence[tuple[float, ...]]
) -> tuple[FeatureColumn, ...]:
    return tuple(
        FeatureColumn(e.kind, e.group, e.array, tuple(v for n in e.rows for v in rows[n]))
        for e in entries
    )


def _function(function: RationalFunction) -> Json:
    entry: Json = msgspec.to_builtins(function, enc_hook=lambda c: f"{c.numerator}/{c.denominator}")
    del entry["variables"]
    return entry


def _named(function: RationalFunction, names: tuple[str, ...]) -> RationalFunction:
    terms = (*function.numerator, *function.denominator)
    fit = all(len(exponents) == len(names) for exponents, _ in terms)
    require(fit, "a term has an exponent for each variable")
    require(any(c for _, c in function.denominator), "a denominator is not 0")
    return replace(function, variables=names)
