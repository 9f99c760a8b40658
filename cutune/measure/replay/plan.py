"""The launches of a kernel that are replayed: sizes, blocks, and how much of each is looked at.

Held-out launches take no part in fitting. They are the largest that is quickly counted in full, and
corners: one size large beside small ones, and small beside large ones. Of still larger launches of
these forms some blocks are counted. Small values that the program itself has, a radius for
instance, are tried beside sizes of the usual kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from cutune.model.fit.count_functions import (
    LEVELS,
    CountFunctions,
    count_points,
    is_looped,
    levels_of,
)
from cutune.model.measurement.alignment import Row, modulus, representatives
from cutune.model.measurement.measurement import MeasuredKernel, Purpose
from cutune.model.measurement.size_relations import extents_at, share_of_each
from cutune.source.host_formula import names_in
from cutune.toolchain.device.thread_block import (
    GRID_LIMITS,
    WARP,
    Block,
    Extents,
    as_block,
    grid_of,
    threads_of,
)

#: Looping kernels are looked at near this size, cheaper ones at larger sizes, costly at smaller.
BASES = (512, 256, 128)
#: Loop-free kernels cost nothing at any size: by number of free dimensions.
LOOP_FREE_BASES = {1: 1 << 20, 2: 2048, 3: 256}
#: Where threads of a block share work, even the largest block should have several steps to make.
SHARED_BASES = (4096, 2048, 1024, 512, 256)
#: Threads of the largest launch; few of its blocks are executed.
LARGEST_LAUNCH = 1 << 25
#: By how much sizes differ between the two launches that show how the work of a warp grows.
SMALLER_BY = 4
#: So many times the blocks, of which each has work, show whether they divide it among them.
MORE_BLOCKS = 8
#: Instructions that one warp may take in a feature launch.
WARP_BUDGET = 60_000
#: The training sizes of the published method, and what a warp may take at the largest.
TRAINING_SIZES = (64, 128, 256, 512)
TRAINING_BUDGET = 600_000
#: Where a loop strides by all threads, its size is so many times a level while counts are taken: a
#: multiple of every level, and of the eight rounds that a compiler may join.
ROUNDS_COUNTED, ROUNDS_OF_FOUR_LEVELS = 480, 96
#: Fewer rounds of such a loop are not counted: those that a compiler does not join with others are
#: no small part of them.
FEWEST_ROUNDS = 16
#: Up to so many sizes, launches may be larger while they are counted.
FEW_SIZES = 2
#: Windows of eight executions that are traced per instruction and warp, about.
WINDOWS = 4


@dataclass(frozen=True)
class Replay:
    """One launch to be replayed, with a value for each variable of the kernel.

    `trace_every`: one window of 8 executions out of so many is traced. `is_spread`: look at blocks
    all over the grid, where the work of a thread depends on its place.
    """

    purpose: str
    sizes: Mapping[str, int]
    block: Block
    trace_every: int
    is_spread: bool = False


def count_block(kernel: MeasuredKernel) -> Block:
    """A block one warp wide in the first free dimension: it divides all sizes that are counted.

    Where each thread does several ids, a warp of ids. Under an annotation such a block may be
    wrong, and counts may depend on it: there the program's own block is taken, or another that
    divides a warp. Where the grid is kept, the smallest block: at no size has it idle threads.
    """
    if kernel.keeps_grid:
        return min(_tried(kernel), key=threads_of)
    if kernel.asserted:
        own = kernel.original
        fitting = [own, *(block for block in _tried(kernel) if block != own)]
        return next((b for b in fitting if all(WARP % size == 0 for size in b)), own)
    block = [1 if free else own for free, own in zip(kernel.free, kernel.original, strict=True)]
    first = kernel.free.index(True)
    block[first] = WARP // kernel.coarsen[first]
    return as_block(block)


def fits_launches(kernel: MeasuredKernel, block: Block, covered: Iterable[Extents]) -> bool:
    """Can these launches have this block? Without a guard, it must divide the threads."""
    axes = zip(kernel.free, kernel.variable_extents, kernel.grid_kept, strict=True)
    divided = [n for n, (free, varies, kept) in enumerate(axes) if free and varies and not kept]
    return all(extents[axis] % block[axis] == 0 for extents in covered for axis in divided)


def count_launches(kernel: MeasuredKernel) -> Iterator[Replay]:
    """Full launches at small sizes, in which every variable varies on its own."""
    block = count_block(kernel)
    for point in count_points_of(kernel):
        yield Replay(Purpose.COUNTS, counted_sizes(kernel, point), block, 1)


def counted_sizes(kernel: MeasuredKernel, point: Mapping[str, int]) -> dict[str, int]:
    """The sizes of a launch that is counted. `point`: a multiple of a warp for each variable."""
    kept, unit = _kept_extents(kernel), kernel.unit
    if kept:
        most = LEVELS[-1] // WARP if len(kernel.parameters) <= FEW_SIZES else LEVELS[3] // WARP
        unit = most * max(-(-width // WARP) for width in count_block(kernel))
    sizes = {n: v // WARP if n in kept else v * unit for n, v in with_levels(kernel, point).items()}
    if kernel.strided_to is not None:
        has_four = len(levels_of(len(kernel.variables))) <= 4
        sizes[kernel.strided_to] *= ROUNDS_OF_FOUR_LEVELS if has_four else ROUNDS_COUNTED
    for name, (blocks, share) in _shares(kernel).items():
        missing = (point[name] // WARP - 1) % len(LEVELS) * (share // len(LEVELS))
        sizes[name] = share * sizes[blocks] - missing
    return sizes


def _kept_extents(kernel: MeasuredKernel) -> dict[str, int]:
    """The variables that are numbers of blocks, with the most that a recorded launch had."""
    axes = zip("xyz", kernel.variable_extents, kernel.grid_kept, strict=True)
    return {
        f"extent_{name}": max(extents[axis] for _, extents in kernel.recorded)
        for axis, (name, varies, is_kept) in enumerate(axes)
        if varies and is_kept
    }


def sizes_at(kernel: MeasuredKernel, counts: CountFunctions, size: int) -> dict[str, int]:
    """Every variable at one size, but for numbers of blocks, and of threads that share work.

    Where each block has a part of fixed size, there are as many parts as blocks at least. Where any
    number of blocks divides the work, there is one block: of several some might have no work.
    """
    kept = _kept_extents(kernel)
    sizes = {**dict.fromkeys(kernel.variables, size), **kept}
    for name, (blocks, share) in _shares(kernel).items():
        if blocks not in counts.strides:
            sizes[name] = max(size, share * sizes[blocks])
    sizes |= dict.fromkeys(counts.strides, 1)
    if kernel.strided_to is not None:
        sizes[kernel.strided_to] *= FEWEST_ROUNDS
    if kernel.asserted and kernel.parameters:
        for name in set(kernel.extent_words.values()) - kept.keys():
            axis = "xyz".index(name[-1])
            pairs = ((extents[axis], max(own)) for own, extents in kernel.recorded)
            # By the largest ratio of threads to the greatest size in the recorded launches.
            sizes[name] = size * max(max(1, t // most) if most > 0 else 1 for t, most in pairs)
    return sizes


def striding_launches(kernel: MeasuredKernel) -> Iterator[tuple[str, list[Mapping[str, int]]]]:
    """Per number of blocks, the sizes of a launch with one block and of one with more.

    Their work tells whether the blocks divide it among them, however many there are.
    """
    kept = _kept_extents(kernel)
    sizes = dict.fromkeys(kernel.variables, MORE_BLOCKS * SHARED_BASES[-1])
    sizes |= {name: MORE_BLOCKS * share for name, (_, share) in _shares(kernel).items()}
    sizes |= dict.fromkeys(kept, 1)
    for name in kept:
        yield name, [sizes, {**sizes, name: MORE_BLOCKS}]


def _shares(kernel: MeasuredKernel) -> dict[str, tuple[str, int]]:
    """Data parameters that blocks divide among them: the number of blocks, and the share of each.

    The recorded launches show it: each had ceil(size / share) blocks. Of the shares that explain
    all of them, the roundest is taken.
    """
    found = {}
    for blocks_name in _kept_extents(kernel):
        axis = "xyz".index(blocks_name[-1])
        for place, name in enumerate(kernel.parameters):
            pairs = [(sizes[place], extents[axis]) for sizes, extents in kernel.recorded]
            if len({blocks for _, blocks in pairs}) < FEW_SIZES:
                continue
            share = share_of_each(pairs)
            if share is not None and share >= WARP:
                found[name] = (blocks_name, share)
    return found


def base_size(kernel: MeasuredKernel, counts: CountFunctions) -> int:
    """The size near which address features are taken; a multiple of every period."""
    free = sum(kernel.free)
    bases: Sequence[int] = BASES
    if not is_looped(kernel):
        bases = [base for width, base in LOOP_FREE_BASES.items() if width >= max(1, free)]
    elif kernel.keeps_grid:
        bases = SHARED_BASES
    elif kernel.asserted and (kernel.extent_words or free == 1):
        bases = SHARED_BASES[1:]

    def is_possible(base: int) -> bool:
        sizes = sizes_at(kernel, counts, base)
        if not is_looped(kernel):
            return prod(extents_at(kernel, sizes)) <= LARGEST_LAUNCH
        return counts.per_thread(counts.instructions, sizes) <= WARP_BUDGET

    base = next(filter(is_possible, bases), bases[-1])
    # A product of many sizes would have more threads than 32 bits count.
    most = FAR_THREADS if is_looped(kernel) else LARGEST_LAUNCH
    while factors(kernel) and base > WARP:
        if prod(extents_at(kernel, sizes_at(kernel, counts, base))) <= most:
            break
        base //= 2
    return base


def probe_launches(kernel: MeasuredKernel, counts: CountFunctions) -> Iterator[Replay]:
    """One launch per residue of each data parameter, the others aligned, for a few blocks."""
    _, sizes, every = _looked_at(kernel, counts)
    shapes = probe_blocks(kernel)
    for name in kernel.parameters:
        for residue in range(modulus(kernel)):
            for block in shapes:
                yield Replay(Purpose.PROBE, {**sizes, name: sizes[name] + residue}, block, every)


def stride_launches(
    kernel: MeasuredKernel, counts: CountFunctions, name: str, value: int
) -> Iterator[Replay]:
    """Two launches that differ in one size: this small value, and a large one of its residue."""
    base, sizes, every = _looked_at(kernel, counts)
    for size in (value, base + value):
        yield Replay(Purpose.PROBE, {**sizes, name: size}, probe_blocks(kernel)[0], every)


def feature_launches(
    kernel: MeasuredKernel,
    counts: CountFunctions,
    classes: Sequence[Sequence[int]],
    rows: Iterable[Row],
    blocks: Sequence[Block] = (),
) -> Iterator[Replay]:
    """A launch per row of classes and block, and a smaller one per block where the grid is kept."""
    base, aligned, every = _looked_at(kernel, counts)
    blocks = blocks or _tried(kernel)
    residues = [representatives(c) for c in classes]
    for row in sorted(rows):
        sizes = {**aligned}
        for name, residue, place in zip(kernel.parameters, residues, row, strict=True):
            sizes[name] += residue[place]
        for block in blocks:
            yield Replay(Purpose.FEATURES, sizes, block, every, not counts.instructions.exact)
    if kernel.keeps_grid:
        smaller = sizes_at(kernel, counts, base // SMALLER_BY)
        for block in blocks:
            yield Replay(Purpose.SMALLER, smaller, block, every)


def first_look(kernel: MeasuredKernel, counts: CountFunctions) -> Replay:
    """One of the launches that are going to be traced."""
    _, sizes, every = _looked_at(kernel, counts)
    tried = _tried(kernel)
    block = kernel.original if kernel.original in tried else tried[0]
    return Replay(Purpose.FEATURES, sizes, block, every, not counts.instructions.exact)


def training_launches(kernel: MeasuredKernel, counts: CountFunctions) -> Iterator[Replay]:
    """Launches from which published counters are trained: growing sizes, each with all blocks."""
    for size in TRAINING_SIZES:
        sizes = sizes_at(kernel, counts, size)
        if counts.per_thread(counts.instructions, sizes) > TRAINING_BUDGET:
            return
        every = _trace_every(counts, sizes)
        for block in _tried(kernel):
            wide = zip(block, kernel.free, strict=True)
            if all(width <= size for width, free in wide if free):
                yield Replay(Purpose.TRAINING, sizes, block, every)


def _tried(
    kernel: MeasuredKernel, which: str | None = None, max_threads: int | None = None
) -> tuple[Block, ...]:
    return kernel.remaining(which, max_threads) or (kernel.original,)


def _looked_at(kernel: MeasuredKernel, counts: CountFunctions) -> tuple[int, dict[str, int], int]:
    """The size near which address features are taken, all sizes there, and `trace_every`."""
    sizes = sizes_at(kernel, counts, base := base_size(kernel, counts))
    return base, sizes, _trace_every(counts, sizes)


def _trace_every(counts: CountFunctions, sizes: Mapping[str, int]) -> int:
    busiest = max((counts.per_thread(group, sizes) for group in counts.groups), default=1.0)
    return max(1, int(busiest / 8 / WINDOWS))


def probe_blocks(kernel: MeasuredKernel) -> list[Block]:
    """The blocks that are tried at every residue: a wide, a square-ish and a tall shape."""
    blocks = _tried(kernel, "paper", min(256, kernel.max_threads))
    full = [b for b in blocks if threads_of(b) == max(map(threads_of, blocks))]
    return sorted({full[0], full[len(full) // 2], full[-1]})


# ---- sizes whose product counts the threads

#: Steps between their levels, the largest first: loops unrolled by four have no remainder.
UNITS = (WARP, 16, 8, 4)
#: Threads of the smallest launch that is counted, and of the largest.
FEWEST_THREADS, MOST_THREADS = 1 << 16, 1 << 21


def factors(kernel: MeasuredKernel) -> set[str]:
    """The sizes that have an extent in threads only with others: as a product, for example."""
    return {name for names in _products(kernel) for name in names}


def _products(kernel: MeasuredKernel) -> list[set[str]]:
    """The sizes of each extent that several have together; nothing for other dimensions."""
    texts = zip(kernel.guards, kernel.covers, strict=True)
    of_axes = ({*names_in(guard or cover or "")} & {*kernel.parameters} for guard, cover in texts)
    return [names if len(names) > 1 else set() for names in of_axes]


def unit_of(kernel: MeasuredKernel) -> int:
    """The step between levels of its `factors`: that of a warp, or less where these are many."""
    products, of_warp = _products(kernel), dict.fromkeys(kernel.variables, WARP)
    for unit in UNITS:
        extents = extents_at(kernel, {**of_warp, **dict.fromkeys(factors(kernel), unit)})
        if prod(extents) <= FEWEST_THREADS:
            # Without a guard, a block that is not full would do more than the sizes say.
            joined = [n for n, names in zip(extents, products, strict=True) if names]
            return unit if all(n % WARP == 0 for n in joined) else WARP
    return WARP


def count_points_of(kernel: MeasuredKernel) -> list[dict[str, int]]:
    """As `count_points`, with few launches in which many factors are all large."""
    if unit_of(kernel) == WARP:
        return count_points(kernel.variables)

    def is_quick(point: Mapping[str, int]) -> bool:
        return prod(extents_at(kernel, with_levels(kernel, point))) <= MOST_THREADS

    return count_points(kernel.variables, is_quick)


def with_levels(kernel: MeasuredKernel, point: Mapping[str, int]) -> dict[str, int]:
    """Multiples of a warp, of which those of `factors` become multiples of their unit."""
    unit, names = unit_of(kernel), factors(kernel)
    return {name: value * unit // WARP if name in names else value for name, value in point.items()}


# ---- launches that take no part in fitting

#: Warp instructions of a launch that is counted in full: some hundredths of a second.
CHECKED_INSTRUCTIONS = 2_000_000
#: Values of sizes that take no part in fitting: multiples of a warp, none a power of two. Others
#: where functions are fitted again with these.
CHECKED = (288, 352, 480, 736, 1120, 2080, 4128, 16416, 65568)
RECHECKED = (320, 416, 544, 800, 1248, 2336, 4640, 17440, 73760)
#: Values of which some blocks are counted.
FAR_VALUES = (160, 224, 544, 1056, 2080, 4128, 8224, 16416, 32800, 65568, 1 << 20, 1 << 24)
#: Threads that such a launch may have: their number, and that of bytes, must fit into 31 bits.
FAR_THREADS = 1 << 28
#: So many of the program's own small values are tried of each size.
OWN_VALUES = 3
#: Beside them all other sizes have this value.
USUAL = LEVELS[2]


def check_launches(
    kernel: MeasuredKernel, counts: CountFunctions, again: bool = False
) -> Iterator[Replay]:
    """Launches that are counted in full. `again`: for functions that were fitted with the first."""
    purpose, values = (Purpose.RECHECK, RECHECKED) if again else (Purpose.CHECK, CHECKED)

    def cost(sizes: Mapping[str, int]) -> float:
        return float(counts.instructions(sizes)) / WARP

    for point in _corners(kernel, values, cost):
        yield Replay(purpose, point, count_block(kernel), 1)


def far_launches(kernel: MeasuredKernel, counts: CountFunctions) -> Iterator[Replay]:
    """Much larger launches, of which some blocks are counted."""
    if kernel.asserted:
        return  # blocks without work are not told from others
    block = count_block(kernel)

    def cost(sizes: Mapping[str, int]) -> float:
        extents = extents_at(kernel, sizes)
        grid = grid_of(block, extents, kernel.grid_kept)
        fits = all(n <= most for n, most in zip(grid, GRID_LIMITS, strict=True))
        if not fits or max(prod(extents), *sizes.values()) > FAR_THREADS:
            return float("inf")
        return CHECKED_INSTRUCTIONS * counts.per_thread(counts.instructions, sizes) / WARP_BUDGET

    for point in _corners(kernel, FAR_VALUES, cost):
        yield Replay(Purpose.FAR, point, block, 1)


def small_launches(kernel: MeasuredKernel) -> Iterator[Replay]:
    """Launches with the program's own values of sizes that are always small."""
    if kernel.asserted:
        return
    columns = zip(*(sizes for sizes, _ in kernel.recorded), strict=True)
    for name, column in zip(kernel.parameters, columns, strict=False):
        values = sorted({value for value in column if value > 0})
        if not values or values[-1] >= LEVELS[0] or name == kernel.strided_to:
            continue
        middle = values[len(values) // 2]
        for value in sorted({values[0], middle, values[-1]})[:OWN_VALUES]:
            sizes = {**counted_sizes(kernel, dict.fromkeys(kernel.variables, USUAL)), name: value}
            yield Replay(Purpose.OWN_SMALL, sizes, count_block(kernel), 1)


def _corners(
    kernel: MeasuredKernel, values: Sequence[int], cost: Callable[[Mapping[str, int]], float]
) -> Iterator[dict[str, int]]:
    """All sizes large; each large beside small ones, and small beside large ones."""
    names, least = kernel.variables, LEVELS[0]
    if not names:
        return
    groups = [names]
    if len(names) > 1:
        groups += [(name,) for name in names]
    if len(names) > 2:
        groups += [tuple(other for other in names if other != name) for name in names]
    # Of many threads or blocks beside a small size some would have no work: no function tells that.
    extents = {*kernel.extent_words.values()}
    groups = [group for group in groups if group == names or not extents & {*group}]
    counted = max(max(point.values()) for point in count_points(names))
    for large in groups:
        # The largest that can be afforded.
        for value in sorted(values, reverse=True):
            point = {name: value if name in large else least for name in names}
            sizes = counted_sizes(kernel, point)
            if value > counted and cost(sizes) <= CHECKED_INSTRUCTIONS:
                yield sizes
                break
