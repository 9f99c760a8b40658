"""Relations between the sizes of a kernel. Takes launches of a program, gives a description.

A replayed launch gives every size an independent value. The program itself may never do that:

- The kernel has one thread per element of several dimensions and no bound on its index
  (`ceil(nx * ny / 128)` blocks).
- A parameter is no size but the width of a halo. If it is as large as the grid, no work is left.
- One size follows from another (`half` from `n`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice, product
from math import lcm, prod

from cutune.model.measurement.measurement import NO_OTHERS, MeasuredKernel, Measurements
from cutune.model.rational.formulas import is_formula, limited_value, whole_value
from cutune.source.host_formula import names_in, renamed
from cutune.toolchain.device.thread_block import LARGEST, WARP, Block, as_block

#: Offsets of each size of a product: meshes have one node or face more than cells.
SHIFTS = (0, 1, -1)
MOST_FACTORS = 3
#: A size that follows from another is a rounded part of it, or differs from it by a margin.
DIVISORS = (2, 3, 4, 8, 16, 32)
MARGINS = (*range(1, 9), 16, 32)
#: A parameter that changes and is always less than this selects a variant: it is no size.
SELECTORS = 8
#: Parts of a block that are larger take too long to be counted.
LARGEST_SHARE = 1 << 17
#: So many ways are tried in which blocks may share sizes out.
MOST_WAYS = 4
#: More threads than have work are never tried where any number of threads does the same.
MOST_WORKING = 1 << 29


@dataclass(frozen=True)
class Covered:
    """One dimension of a recorded launch: data parameters, blocks of its grid, width of a block."""

    sizes: tuple[int, ...]
    blocks: int
    width: int


def cover(names: Sequence[str], launches: Sequence[Covered]) -> str | None:
    """C text of a product of sizes that the blocks just cover in all launches; None: there is none.

    Products have two or three factors. A single size needs no cover: it may vary independently.
    """
    if len({(launch.blocks, launch.width) for launch in launches}) == 1:
        return None
    sizes = range(len(names))
    factors = chain.from_iterable(combinations(sizes, n) for n in range(2, MOST_FACTORS + 1))
    for places, shift in product(factors, SHIFTS):
        if all(_is_covered(launch, places, shift) for launch in launches):
            texts = [f"({names[place]} + {shift})" if shift else names[place] for place in places]
            return " * ".join(texts)
    return None


def _is_covered(launch: Covered, places: Sequence[int], shift: int) -> bool:
    factors = [launch.sizes[place] + shift for place in places]
    return min(factors) > 1 and -(-prod(factors) // launch.width) == launch.blocks


def with_constants_fixed(kernel: MeasuredKernel, counted: Measurements) -> MeasuredKernel | None:
    """The kernel with small constants among its parameters fixed; None where there are none.

    A constant has the same value in all launches of the program, while other sizes change. It is
    small if it is less than a warp. The counts show that it is no size: a launch in which it grew
    like a size had no work at all.
    """
    if kernel.asserted or all(measurement.working_threads for measurement in counted):
        return None
    still = small_constants(kernel)
    return with_held(kernel, still) if still else None


def with_held(kernel: MeasuredKernel, held: Mapping[str, int]) -> MeasuredKernel:
    """The kernel without some of its data parameters, of which it is known at these values only."""
    ordered = {name: held[name] for name in kernel.parameters if name in held}
    return _with_fixed(kernel, ordered, [*ordered], ())


def _with_fixed(
    kernel: MeasuredKernel, fixed: Mapping[str, int], required: Sequence[str], tied: Collection[str]
) -> MeasuredKernel:
    """The kernel with parameters at fixed values, the only ones of those that are `required`."""
    places = dict(zip(kernel.parameters, range(len(kernel.parameters)), strict=True))
    left = [place for name, place in places.items() if name not in (*fixed, *tied)]
    needed = ((kernel.positions[places[name]], fixed[name]) for name in required)
    recorded = ((tuple(sizes[place] for place in left), e) for sizes, e in kernel.recorded)
    return replace(
        kernel,
        parameters=tuple(kernel.parameters[place] for place in left),
        positions=tuple(kernel.positions[place] for place in left),
        recorded=tuple(recorded),
        fixed_arguments=(*kernel.fixed_arguments, *fixed.items()),
        required_arguments=(*kernel.required_arguments, *needed),
        required_names=(*kernel.required_names, *required),
    )


def small_constants(kernel: MeasuredKernel) -> dict[str, int]:
    """Small data parameters that all recorded launches have alike, while others vary."""
    columns = _columns(kernel)
    still = {name: values[0] for name, values in columns.items() if len(set(values)) == 1}
    if len(still) == len(columns):
        return {}
    return {name: value for name, value in still.items() if 0 <= value < WARP}


def small_factors(kernel: MeasuredKernel) -> dict[str, int]:
    """The small constants that are no extent of the threads: strides, for example."""
    extents = _names_of(*kernel.guards, *kernel.covers)
    return {name: value for name, value in small_constants(kernel).items() if name not in extents}


def usually_held(kernel: MeasuredKernel) -> dict[str, int]:
    """Data parameters that stay what they are where all others are set to one size.

    A table of an image with as many channels as pixels per row would say nothing.
    """
    positive = {name: value for name, value in small_factors(kernel).items() if value > 0}
    return {**positive, **small_bounds(kernel)}


def small_bounds(kernel: MeasuredKernel) -> dict[str, int]:
    """Data parameters that only bound small loops (a radius, an order), at their largest values."""
    guards = guarding(kernel)
    largest = {n: max(values) for n, values in _columns(kernel).items() if n in kernel.bounds}
    return {n: most for n, most in largest.items() if 0 < most < WARP and n not in guards}


def guarding(kernel: MeasuredKernel) -> frozenset[str]:
    """The data parameters that say how many threads have work."""
    return frozenset(_names_of(*kernel.guards))


def only_at(kernel: MeasuredKernel) -> tuple[tuple[str, int], ...]:
    """Integer arguments by name, and the only values that the measurements tell of."""
    fixed = dict(kernel.fixed_arguments)
    return tuple((name, fixed[name]) for name in kernel.required_names)


def with_bounds_fixed(
    kernel: MeasuredKernel, names: Collection[str] | None = None
) -> MeasuredKernel | None:
    """The kernel with the integers that only bound small loops fixed at their largest values.

    None where there are none, or nothing else is a size. `names`: only these of them.
    """
    small = small_bounds(kernel)
    bounds = {name: small[name] for name in small if names is None or name in names}
    return with_held(kernel, bounds) if bounds and len(bounds) < len(kernel.parameters) else None


def with_few_bounds_fixed(kernel: MeasuredKernel) -> Iterator[MeasuredKernel]:
    """The kernel with each of these integers fixed, and then with all of them.

    For kernels that fail with large values: their arrays have room for a small radius alone.
    """
    small = small_bounds(kernel)
    for names in (*([name] for name in small if len(small) > 1), [*small]):
        if (held := with_bounds_fixed(kernel, names)) is not None:
            yield held


def with_sizes_tied(kernel: MeasuredKernel) -> MeasuredKernel | None:
    """The kernel with sizes tied to others as in all launches of the program; None: none is.

    For kernels whose sizes cannot vary independently. A parameter with several small values is no
    size either. One that selects (a colour, a phase) keeps its recorded value; of one that bounds a
    loop (a radius, an order) the largest is measured, and the model holds for no other.
    """
    if kernel.asserted or not kernel.recorded:
        return None
    columns, guards = _columns(kernel), _names_of(*kernel.guards)
    small = {
        name: values
        for name, values in columns.items()
        if len({*values}) > 1
        and min(values) >= 0
        and max(values) < SELECTORS
        and name not in guards
    }
    tied = _ties({name: values for name, values in columns.items() if name not in small})
    if len(small) + len(tied) in (0, len(columns)):
        return None
    bounding = [name for name in small if name in kernel.bounds]
    fixed = {n: max(values) if n in bounding else values[0] for n, values in small.items()}
    positions = dict(zip(kernel.parameters, kernel.positions, strict=True))
    return replace(
        _with_fixed(kernel, fixed, bounding, tied),
        tied=tuple((name, positions[name], text) for name, text in tied.items()),
    )


def with_extents_covered(kernel: MeasuredKernel) -> MeasuredKernel | None:
    """The kernel with extents that cover a size each, as in all launches of the program.

    For kernels without a bound on their index, of which a thread asks whether it is the last one
    (`i == n - 1`): how often that is so follows from no extent that is not that of the size. None
    where no extent covers one.
    """
    if kernel.asserted or kernel.keeps_grid:
        return None
    covers, columns = list(kernel.covers), _columns(kernel)
    for axis, width in enumerate(kernel.original):
        if not kernel.variable_extents[axis]:
            continue
        extents = tuple(covered[axis] for _, covered in kernel.recorded)
        fitting = (
            name
            for name, sizes in columns.items()
            if len({*sizes}) > 1 and tuple(-(-n // width) * width for n in sizes) == extents
        )
        if (name := next(fitting, None)) is not None:
            covers[axis] = name
            del columns[name]
    x, y, z = covers
    if (x, y, z) == kernel.covers:
        return None
    is_left = [v and not text for v, text in zip(kernel.variable_extents, covers, strict=True)]
    return replace(kernel, covers=(x, y, z), variable_extents=(is_left[0], is_left[1], is_left[2]))


def with_grid_covering(
    kernel: MeasuredKernel, threads: Sequence[str], grids: Sequence[Block]
) -> Iterator[MeasuredKernel]:
    """The kernel with grids that cover a size in each dimension, as in all launches.

    For tiles, where what the host writes does not tell which size it is. Whether it is that one,
    counts at other sizes tell, and each launch asks. `threads`: C text per dimension of those of a
    launch, over `gridDim.x`, …; `grids`: of the recorded launches.
    """
    columns = _columns(kernel)
    open_axes = [axis for axis, varies in enumerate(kernel.variable_extents) if varies]
    ways = {
        axis: [*_shares(columns, [grid[axis] for grid in grids], kernel.original[axis])]
        for axis in open_axes
    }
    ways = {axis: found for axis, found in ways.items() if found}
    apart = (c for c in product(*ways.values()) if len({name for name, _ in c}) == len(c))
    for chosen in islice(apart, MOST_WAYS) if ways else ():
        covers, varies = [*kernel.covers], [*kernel.variable_extents]
        for axis, (name, share) in zip(ways, chosen, strict=True):
            blocks = f"(({name} + {share - 1}) / {share})"
            covers[axis] = renamed(threads[axis], {f"gridDim.{'xyz'[axis]}": blocks})
            varies[axis] = False
        whole = lcm(kernel.unit * WARP, *(share for _, share in chosen))
        if whole <= LARGEST:
            yield replace(
                kernel,
                covers=(covers[0], covers[1], covers[2]),
                variable_extents=(varies[0], varies[1], varies[2]),
                unit=whole // WARP,
            )


def _shares(
    columns: Mapping[str, Sequence[int]], blocks: Sequence[int], width: int
) -> Iterator[tuple[str, int]]:
    """Sizes that so many blocks may cover, each with the part of a block."""
    for name, sizes in columns.items():
        share = share_of_each([*zip(sizes, blocks, strict=True)], width)
        if share is not None:
            yield name, share


def share_of_each(launches: Sequence[tuple[int, int]], width: int = 0) -> int | None:
    """How much of a size each block has, if all launches have `ceil(size / share)` blocks.

    Of several numbers it is `width`, or else the roundest. `launches`: size and blocks of each.
    """
    if min(size for size, _ in launches) <= 0:
        return None
    least = max(-(-size // blocks) for size, blocks in launches)
    most = min(((n - 1) // (blocks - 1) for n, blocks in launches if blocks > 1), default=width)
    if least <= width <= most:
        return width
    return _roundest(least, most) if least <= most <= LARGEST_SHARE else None


def _roundest(least: int, most: int) -> int:
    """The number in a range that most twos divide."""
    unit = 1
    while -(-least // (2 * unit)) * 2 * unit <= most:
        unit *= 2
    return -(-least // unit) * unit


def with_extents_held(kernel: MeasuredKernel) -> MeasuredKernel | None:
    """The kernel with extents at the values that all launches of the program have; None: they vary.

    For loops that stride by all threads to a constant: the rounds that a thread makes are no
    function of the threads, and there are as many threads in each launch.
    """
    varying = [axis for axis in range(3) if kernel.variable_extents[axis]]
    recorded = {tuple(extents[axis] for axis in varying) for _, extents in kernel.recorded}
    if kernel.keeps_grid or not varying or len(recorded) != 1:
        return None
    pairs = zip(kernel.working, kernel.variable_extents, strict=True)
    x, y, z = (text and (NO_OTHERS if varies else text) for text, varies in pairs)
    return replace(kernel, variable_extents=(False, False, False), working=(x, y, z))


def with_strides(kernel: MeasuredKernel) -> Iterator[MeasuredKernel]:
    """The kernel with each of its sizes as that to which a loop strides by all threads.

    For kernels whose extent in threads is a variable: of a size that is hardly larger, the rounds
    that a thread makes are no function that could be found.
    """
    if kernel.asserted or kernel.keeps_grid or not any(kernel.variable_extents):
        return
    for name in kernel.parameters:
        yield replace(kernel, strided_to=name)


def _columns(kernel: MeasuredKernel) -> dict[str, tuple[int, ...]]:
    columns = zip(*(sizes for sizes, _ in kernel.recorded), strict=True)
    return dict(zip(kernel.parameters, columns, strict=False))


def _names_of(*texts: str | None) -> set[str]:
    return {*names_in(" ".join(text for text in texts if text))}


def _ties(columns: dict[str, tuple[int, ...]]) -> dict[str, str]:
    """Per size that follows from another: C text. That other size is tied to none."""
    tied: dict[str, str] = {}
    roots: set[str] = set()
    for name in reversed(columns):
        if name in roots:
            continue
        for other, values in columns.items():
            text = _relation(other, values, columns[name])
            if other not in (name, *tied) and text is not None:
                tied[name] = text
                roots.add(other)
                break
    return tied


def _relation(name: str, values: Sequence[int], others: Sequence[int]) -> str | None:
    """C text of the other size in terms of this one, if both change and all launches agree."""
    pairs = list(zip(values, others, strict=True))
    if len(set(values)) == 1 or len(set(others)) == 1 or min(values) < 1:
        return None
    for divisor in DIVISORS:
        for added in (0, divisor - 1):
            if all((value + added) // divisor == other for value, other in pairs):
                return f"({name} + {added}) / {divisor}" if added else f"{name} / {divisor}"
            if all(value * divisor == other for value, other in pairs):
                return f"{name} * {divisor}"
    for margin in MARGINS:
        for sign, shift in (("+", margin), ("-", -margin)):
            if all(value + shift == other for value, other in pairs):
                return f"{name} {sign} {margin}"
    return None


def complete(kernel: MeasuredKernel, sizes: Mapping[str, int]) -> dict[str, int]:
    """The values of all integer arguments that are known at these sizes."""
    values = {**dict(kernel.fixed_arguments), **sizes}
    for name, _, text in kernel.tied:
        values[name] = whole_value(text, values) or 0
    return values


def busy_threads(kernel: MeasuredKernel, axis: int, sizes: Mapping[str, int]) -> int:
    """How many threads have work where any number does the same; 0 where all have to stay."""
    text = kernel.working[axis]
    count = (whole_value(text, complete(kernel, sizes)) or 0) if text is not None else 0
    return count if 0 < count <= MOST_WORKING else 0


def extents_at(kernel: MeasuredKernel, sizes: Mapping[str, int]) -> Block:
    """Threads (blocks, where the grid is kept) that a launch at these sizes must cover.

    An extent is less than 1 if the kernel has no work at these sizes, and more than any grid has
    where it is too large for 64 bits.
    """
    extents = []
    values = complete(kernel, sizes)
    for axis, name in enumerate("xyz"):
        text = kernel.guards[axis] or kernel.covers[axis]
        if kernel.variable_extents[axis]:
            extents.append(sizes[f"extent_{name}"])
        elif text is not None and is_formula(text):
            extents.append(-(-limited_value(text, values) // kernel.coarsen[axis]))
        else:
            extents.append(kernel.recorded[0][1][axis])
    return as_block(extents)
