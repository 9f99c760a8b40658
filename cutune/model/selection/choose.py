"""From predicted times to one block. Takes the predictions of a model, gives a `Selection`.

The rule: the program's own block stays unless the predicted gain exceeds a band. Otherwise the
model does not distinguish blocks whose predicted time lies in a narrow band above the least. Among
these, a static rank table decides, then the predicted time.

The regret that is expected of a choice was read off timings of unseen kernels: the launches of the
judge sets (`benchmarks.expected_regret`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cutune.core.codes import Code
from cutune.model.fit.fitted_model import FittedModel, SizeRange
from cutune.model.measurement.measurement import MeasuredKernel
from cutune.model.performance import constants
from cutune.model.performance.definitions import CYCLES_PER_WARP, TIME, TIME_WITH_FLOOR
from cutune.model.rational.functions import Floats
from cutune.model.rational.program import TERM
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import GRID_LIMITS, Block, grid_of, shape, threads_of


@dataclass(frozen=True)
class OwnBand:
    """Multiples of the least prediction up to which the program's own block stays."""

    #: If the best block has no more threads than the program's own.
    smaller: Fraction
    #: If the best block has more threads.
    larger: Fraction

    @staticmethod
    def of(band: Fraction) -> OwnBand:
        return OwnBand(band, band)


#: The program's own block is treated like all others.
NO_OWN_BAND = OwnBand.of(Fraction(0))
#: Candidates of which the best one is taken, whatever is known of the block that a launch asks for.
_FEWEST = 4


def band_of(model: FittedModel, device: DeviceProfile) -> OwnBand:
    """The band of a kernel: the less certain its predictions are, the wider."""
    kernel = model.kernel
    if model.timed_on(device.name) is not None:
        return NO_OWN_BAND
    if any(memory.shared and memory.kind == "atomic" for memory in kernel.memory):
        return OwnBand.of(constants.OWN_BAND_CONTENDED)
    if model.confirmed_on == device.name:
        return NO_OWN_BAND
    if kernel.is_sampled:
        return OwnBand.of(constants.OWN_BAND_SAMPLED)
    if kernel.asserted:
        return OwnBand.of(constants.OWN_BAND_ASSERTED)
    if kernel.on_data:
        return OwnBand(constants.OWN_BAND_DATA_SMALLER, constants.OWN_BAND_DATA_LARGER)
    return OwnBand.of(constants.OWN_BAND_LOOPED if model.looped else constants.OWN_BAND_STRAIGHT)


@dataclass(frozen=True)
class SelectionRule:
    """The static part of the choice: one rank per candidate, smaller is preferred in a tie."""

    blocks: tuple[Block, ...]
    #: Ranks if the launch overhead dominates, and ranks otherwise.
    bound_ranks: tuple[int, ...]
    ranks: tuple[int, ...]
    floor_us: Fraction
    #: Multiple of the least prediction up to which blocks are not distinguished, if the launch
    #: overhead does not dominate.
    band: Fraction = constants.BAND
    #: The band in which the program's own block stays.
    own_band: OwnBand = NO_OWN_BAND


@dataclass(frozen=True)
class PredictedBlock:
    """One candidate at given sizes.

    Attributes:
        predicted_ms: as the host sees it. time_us: without the floor of a launch.
        terms_us: of each resource, if it were alone.
        measured_us: on the GPU, if it was timed at these sizes.
    """

    block: Block
    grid: Block
    predicted_ms: float
    cycles_per_warp: float
    terms_us: Mapping[str, float]
    time_us: float
    measured_us: float | None = None


def near_best(ranked: Sequence[PredictedBlock]) -> int:
    """The number of candidates, best first, that are predicted within 2 % of the best."""
    limit = ranked[0].predicted_ms * constants.REPORTED_BAND if ranked else 0.0
    return sum(prediction.predicted_ms <= limit for prediction in ranked)


@dataclass(frozen=True)
class Selection:
    """The chosen block of one launch. `ranked` holds the valid candidates, best first."""

    block: Block
    grid: Block
    ranked: tuple[PredictedBlock, ...]
    launch_bound: bool
    original: Block
    #: Multiple of the least prediction up to which the model does not decide.
    band: float
    #: Sizes at which the counts are not known to hold, and where they are: nothing is ranked then.
    extrapolated: Mapping[str, SizeRange] = field(default_factory=dict)
    #: Are the counts less than what every thread executes? Nothing is ranked then, either.
    is_impossible: bool = False
    #: The program's own launch, where another number of threads is chosen.
    own_launch: PredictedBlock | None = None
    #: That most of the GPU has nothing to do, whatever the block is, in words; empty: it has.
    idle: str = ""

    @property
    def kept_original(self) -> bool:
        return self.block == self.original and not self.has_other_threads

    @property
    def has_other_threads(self) -> bool:
        """Are there more or fewer threads than the program asks for?"""
        return self.own_launch is not None

    @property
    def own_ms(self) -> float | None:
        """The predicted time of what the program itself asks for, if that is a valid candidate."""
        own = self.own_launch or self.predicted(self.original)
        return own.predicted_ms if own is not None else None

    @property
    def chosen_ms(self) -> float | None:
        """The predicted time of the choice; None where it stays because nothing is known of it."""
        return self.predicted_ms(self.block)

    @property
    def indistinguishable(self) -> tuple[Block, ...]:
        """The blocks among which the model does not decide: static ranks do."""
        limit = self.ranked[0].predicted_ms * self.band if self.ranked else 0.0
        return tuple(p.block for p in self.ranked if p.predicted_ms <= limit)

    @property
    def reason(self) -> str:
        return f"{self.idle}; {self._reason}" if self.idle else self._reason

    @property
    def _reason(self) -> str:
        own = self.own_ms
        if self.extrapolated:
            return f"{_known_at(self.extrapolated)}: the program's own block stays"
        if self.is_impossible:
            return (
                "the counts do not hold at these sizes, where they are less than what every thread"
                " executes: the program's own block stays; to know more, run the program at such"
                " sizes (--vary)"
            )
        if not self.ranked:
            return "no candidate covers exactly these threads: the program's own block stays"
        if self.kept_original and self.launch_bound:
            return "launching takes longer than the kernel: the program's own block stays"
        if self.kept_original and own is not None and own > self.ranked[0].predicted_ms:
            gain = 100 * (own / self.ranked[0].predicted_ms - 1)
            return f"the program's own block stays: a gain of {gain:.1f} % is not certain"
        if self.kept_original and own is None:
            return (
                "the program's own block stays: nothing is known of it, and the candidates are too"
                " few for one of them to be better"
            )
        if self.kept_original:
            return "the program's own block is the choice"
        if own is None:
            return "the program's own block is no candidate here"
        if self.has_other_threads:
            gain = own / (self.chosen_ms or own)
            return (
                f"predicted {gain:.2f} times as fast as the program's own launch: any number of"
                f" threads does the same, and {shape(self.grid)} blocks of {shape(self.block)} fill"
                " the GPU better"
            )
        if self.original in self.indistinguishable:
            return "the model predicts the same for the program's own block; a static rank decides"
        gain = own / (self.chosen_ms or own)
        return f"predicted {gain:.2f} times as fast as the program's own block"

    @property
    def within_band(self) -> int:
        """The number of candidates that are predicted within 2 % of the best."""
        return near_best(self.ranked)

    def predicted_ms(self, block: Block) -> float | None:
        """The predicted time of one block, if it is a valid candidate."""
        found = self.predicted(block)
        return found.predicted_ms if found is not None else None

    def predicted(self, block: Block) -> PredictedBlock | None:
        """The prediction for one block, if it is a valid candidate."""
        return next((p for p in self.ranked if p.block == block), None)


def _known_at(ranges: Mapping[str, SizeRange]) -> str:
    """Where the counts of a kernel are known to hold, as part of a sentence."""
    known = (
        f"{name} = {held.least}"
        if held.least == held.largest
        else f"{name} from {held.least} to {held.largest}"
        for name, held in ranges.items()
    )
    return f"its counts are known for {' and '.join(known)} only"


def selection_rule(
    blocks: Sequence[Block], one_dimensional: bool, floor_us: Fraction, own_band: OwnBand
) -> SelectionRule:
    """Rank tables for ties, and the band in which the program's own block stays.

    If the launch overhead dominates, kernels of one dimension prefer 64 to 128 threads, others
    64 x 4. Otherwise kernels of one dimension prefer 192 to 256 threads: fewer lines are shared by
    two blocks at their edges.
    """
    threads = [threads_of(block) for block in blocks]
    if one_dimensional:
        bound = [(from_range(t, *constants.BOUND_THREADS), 0.0) for t in threads]
        other = [(from_range(t, *constants.THREADS), 0.0) for t in threads]
    else:
        best, width = constants.BOUND_TILE_THREADS, constants.BOUND_TILE_WIDTH
        pairs = zip(threads, blocks, strict=True)
        bound = [(abs(math.log2(t / best)), abs(math.log2(x / width))) for t, (x, _, _) in pairs]
        other = [(0.0, 0.0)] * len(blocks)
    bound_ranks, ranks = dense_ranks(bound), dense_ranks(other)
    return SelectionRule(tuple(blocks), bound_ranks, ranks, floor_us, own_band=own_band)


def published_rule(blocks: Sequence[Block]) -> SelectionRule:
    """For models without a launch term: ties prefer about 128 threads, then the widest block."""
    best = constants.PUBLISHED_THREADS
    keys = [(abs(math.log2(threads_of(block) / best)), -float(block[0])) for block in blocks]
    ranks = dense_ranks(keys)
    return SelectionRule(tuple(blocks), ranks, ranks, Fraction(0), constants.PUBLISHED_BAND)


def select(
    values: Mapping[str, Floats],
    rule: SelectionRule,
    extents: Block,
    kernel: MeasuredKernel,
    *,
    may_idle: bool = False,
) -> Selection:
    """Choose a block that covers `extents`. `values`: the definitions of the program.

    `may_idle`: may the last block be partial, without a guard?
    """
    floored, original = values[TIME_WITH_FLOOR], kernel.original
    grids, fit = _grids(rule, extents, kernel, may_idle=may_idle)
    valid = fit & np.isfinite(floored)
    chosen = choose(rule, values[TIME], floored, valid, original)
    ranked = _ranked(rule, grids, valid, values)
    best = ranked[0].predicted_ms * 1e3 if ranked else math.inf
    bound = best < constants.LAUNCH_BOUND * rule.floor_us
    band = float(constants.BOUND_BAND if bound else rule.band)
    block = original if chosen is None else rule.blocks[chosen]
    own_grid = grid_of(original, extents, kernel.grid_kept)
    grid = own_grid if chosen is None else grids[chosen]
    fails = bool(fit.any()) and not valid.any()
    return Selection(block, grid, ranked, bound, original, band, is_impossible=fails)


def _ranked(
    rule: SelectionRule,
    grids: Sequence[Block],
    valid: NDArray[np.bool_],
    values: Mapping[str, Floats],
) -> tuple[PredictedBlock, ...]:
    floored, cycles = values[TIME_WITH_FLOOR].tolist(), values[CYCLES_PER_WARP].tolist()
    times = values[TIME].tolist()
    terms = {n.removeprefix(TERM): v.tolist() for n, v in values.items() if n.startswith(TERM)}

    def predicted(c: int) -> PredictedBlock:
        terms_us = {name: term[c] for name, term in terms.items()}
        predicted_ms, block = floored[c] / 1e3, rule.blocks[c]
        return PredictedBlock(block, grids[c], predicted_ms, cycles[c], terms_us, times[c])

    candidates = np.flatnonzero(valid).tolist()
    return tuple(sorted(map(predicted, candidates), key=lambda p: p.predicted_ms))


def choose(
    rule: SelectionRule, time: Floats, floored: Floats, valid: NDArray[np.bool_], original: Block
) -> int | None:
    """Index of the chosen candidate, or None where none is valid. The emitted C does the same."""
    own = rule.blocks.index(original) if original in rule.blocks else None
    # Of few blocks none need be better than one of which nothing is known.
    if not valid.any() or (own is None and len(rule.blocks) < _FEWEST):
        return None
    first = int(np.where(valid, floored, np.inf).argmin())
    best = floored[first]
    is_larger = threads_of(rule.blocks[first]) > threads_of(original)
    own_band = rule.own_band.larger if is_larger else rule.own_band.smaller
    if own is not None and valid[own] and floored[own] <= best * float(own_band):
        return own
    bound = best < float(constants.LAUNCH_BOUND * rule.floor_us)
    limit = best * float(constants.BOUND_BAND if bound else rule.band)
    band = [int(c) for c in np.flatnonzero(valid & (floored <= limit))]
    ranks = rule.bound_ranks if bound else rule.ranks
    return min(band, key=lambda c: (ranks[c], time[c], c))


def _grids(
    rule: SelectionRule, extents: Block, kernel: MeasuredKernel, *, may_idle: bool
) -> tuple[list[Block], NDArray[np.bool_]]:
    """The grid of each candidate, and which candidates may be launched."""
    counts: list[dict[int, int]] = []
    fitting: list[set[int]] = []
    for axis, extent in enumerate(extents):
        widths = {block[axis] for block in rule.blocks}
        is_kept, own = kernel.grid_kept[axis], kernel.original[axis]
        count = {width: extent if is_kept else -(-extent // width) for width in widths}
        # Behind a guard the last block may be partial; where the grid is kept, any covers the work.
        must_divide = kernel.guards[axis] is None and not is_kept and not may_idle
        if not kernel.free[axis]:
            widths &= {own}
        elif must_divide:
            widths = {width for width in widths if extent % width == 0}
        counts.append(count)
        fitting.append({width for width in widths if count[width] <= GRID_LIMITS[axis]})
    of_x, of_y, of_z = counts
    in_x, in_y, in_z = fitting
    grids = [(of_x[x], of_y[y], of_z[z]) for x, y, z in rule.blocks]
    return grids, np.array([x in in_x and y in in_y and z in in_z for x, y, z in rule.blocks])


def from_range(value: int, low: int, high: int) -> float:
    """Distance of a value from a range, in powers of two; 0 inside."""
    return max(0.0, math.log2(low / value), math.log2(value / high))


def dense_ranks(keys: Sequence[tuple[float, float]]) -> tuple[int, ...]:
    """The rank of each key among the distinct keys, from 0."""
    order = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return tuple(order[key] for key in keys)


#: Launches that take little longer than launching, and kernels that: are counted on data; divide
#: their work among the threads of a block; wait at barriers; loop over memory; do neither.
KINDS = ("launch-bound", "data-dependent", "grid kept", "barriers", "loop", "straight")
LAUNCH, DATA, SHARED, BARRIERS, LOOP, STRAIGHT = KINDS


def kind_of(model: FittedModel, choice: Selection) -> str:
    """The kind of a launch: what the precision of a choice depends on most."""
    kernel = model.kernel
    if choice.launch_bound:
        return LAUNCH
    if kernel.on_data:
        return DATA
    if kernel.keeps_grid:
        return SHARED
    if not model.barriers.is_zero:
        return BARRIERS
    return LOOP if model.looped else STRAIGHT


def expected_regret(model: FittedModel, choice: Selection) -> tuple[float, float] | None:
    """Regret by the best time: geometric mean, 90th percentile; None: it has no prediction."""
    return constants.EXPECTED_REGRET[kind_of(model, choice)] if choice.chosen_ms else None


#: A launch has few blocks where so many times as many would still have a multiprocessor each.
_FEW = 4
#: What more threads gain is told where it is as much as this.
_TOLD = 1.1


#: What helps where a launch has few blocks, and where a loop may share its work among more.
MORE_BLOCKS = "launch more blocks"
UNROLLED = f"{MORE_BLOCKS}, or try '#pragma unroll 1' before its loop"


def idle_text(
    blocks: int, multiprocessors: int, gain: float | None = None, remedy: str = MORE_BLOCKS
) -> str:
    """Return that most multiprocessors are idle; empty where they are not.

    `gain`: how many times as fast the launch would be with as many threads as fill the GPU.
    """
    if not 0 < blocks * _FEW <= multiprocessors:
        return ""
    is_told = gain is not None and gain >= _TOLD
    cost = f", predicted {gain:.3g} times as fast with enough threads" if is_told else ""
    return Code.FEW_BLOCKS.template.format(
        blocks="1 block" if blocks == 1 else f"{blocks} blocks",
        idle=multiprocessors - blocks,
        all=multiprocessors,
        cost=cost,
        remedy=remedy,
    )
