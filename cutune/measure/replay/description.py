"""The description of a kernel that is measured. Takes its launches, gives a `MeasuredKernel`.

Of the integers that a kernel is given it says which are sizes, and which values the others have;
per dimension, what the number of its threads follows: a guard, a product of sizes, or nothing but
the launch. Sites are left out whose launches do not show which kernel they launch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic, Warn
from cutune.emulator.launch_log import LaunchRecord
from cutune.emulator.module_metadata import KernelCode
from cutune.measure.replay import replay
from cutune.model.measurement.measurement import (
    NO_OTHERS,
    FormulaPerAxis,
    MeasuredKernel,
    Origin,
)
from cutune.model.measurement.size_relations import Covered, cover, with_grid_covering
from cutune.model.rational.formulas import is_formula, limited_value
from cutune.source.candidates import BlockRange
from cutune.source.kernel_variant import ASKED, KernelVariant, Tile
from cutune.source.program import (
    DataParameter,
    Kernel,
    LaunchSite,
    Program,
    Role,
    SiteKey,
    SiteNumbers,
    may_launch,
)
from cutune.space.annotation import Values
from cutune.toolchain.device.thread_block import LARGEST, WARP, Block
from cutune.toolchain.ptxas import StaticCounters


@dataclass(frozen=True)
class Launched:
    """One instance of a kernel, and its sites. `signatures`: where one launches others, too."""

    kernel: Kernel
    entry: str
    sites: tuple[LaunchSite, ...]
    signatures: tuple[int, ...] = ()


def launched_sites(
    program: Program, launches: Sequence[LaunchRecord], numbers: SiteNumbers, warn: Warn
) -> Iterator[Launched]:
    """Instances of kernels, each with the sites that launched it.

    Warns of sites that are left out: those that launched nothing, another kernel than the compiler
    calls there, or several instances that their arguments' types do not tell apart.
    """
    seen: dict[int, dict[str, set[int]]] = {}
    for record in launches:
        if record.site is not None:
            seen.setdefault(record.site, {}).setdefault(record.kernel, set()).add(record.signature)
    by_instance: dict[tuple[str, str], list[LaunchSite]] = {}
    for site in program.tunable_launches:
        instances = seen.get(numbers.number(site), {})
        remark = _not_clear(program, site, instances)
        if remark is not None:
            warn(remark)
            continue
        for entry in instances:
            same = by_instance.setdefault((site.kernel, entry), [])
            if same and same[0].shared != site.shared:
                code = Code.DIFFERENT_SHARED_MEMORY
                warn(Diagnostic.at(code, site.source, site.span, kernel=site.kernel))
                break
            same.append(site)
    for (name, entry), sites in by_instance.items():
        kernel = program.kernel(name)
        assert kernel is not None, "a tunable launch has a kernel"
        of_sites = [seen[numbers.number(site)] for site in sites]
        is_one_of_several = any(len(instances) > 1 for instances in of_sites)
        signatures = {one for instances in of_sites for one in instances[entry]}
        told = tuple(sorted(signatures)) if is_one_of_several else ()
        yield Launched(kernel, entry, tuple(sites), told)


def _not_clear(
    program: Program, site: LaunchSite, instances: Mapping[str, set[int]]
) -> Diagnostic | None:
    """Why a site is left out; None where it launched the kernels that the compiler calls there."""
    where = site.source, site.span
    others = [name for name in instances if not may_launch(program, site, name)]
    if others:
        return Diagnostic.at(Code.OTHER_ENTRY, *where, entry=min(others), kernel=site.kernel)
    if not instances and site.pointer is None:
        return Diagnostic.at(Code.NEVER_LAUNCHED, *where, kernel=site.kernel)
    if sum(map(len, instances.values())) > len(set().union(*instances.values())):
        return Diagnostic.at(Code.MANY_INSTANCES, *where, kernel=site.kernel)
    return None


Flags = tuple[bool, bool, bool]


@dataclass(frozen=True)
class LaunchedCode:
    """Code that was launched: that of a kernel, or of one of its variants (None: the kernel).

    `record`: the launch that is replayed. `records`: all launches of the kernel.
    """

    launched: Launched
    variant: KernelVariant | None
    record: LaunchRecord
    records: Sequence[LaunchRecord]
    code: KernelCode

    @property
    def kernel(self) -> Kernel:
        return self.launched.kernel

    def position(self, name: str) -> int:
        """The place of an argument among those of the kernel, members of structures counted."""
        return self._argument_names.index(name)

    @cached_property
    def _argument_names(self) -> Sequence[str]:
        return self.kernel.argument_names

    def value(self, name: str, record: LaunchRecord | None = None) -> int:
        """An integer argument of a launch; None: of the one that is replayed."""
        return replay.integer_argument(record or self.record, self.code, self.position(name))

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        return self.kernel.sizes

    @cached_property
    def others(self) -> tuple[DataParameter, ...]:
        """Data parameters that are no sizes."""
        return tuple(one for one in self.kernel.data_parameters if not one.is_size)

    @cached_property
    def values_of_sizes(self) -> list[tuple[int, ...]]:
        """A value per size, for each of the launches."""
        return [tuple(self.value(name, one) for name in self.sizes) for one in self.records]

    @property
    def required(self) -> list[str]:
        """Integers with one value in all launches; an offset alone changes no work."""
        named = [one.name for one in self.others if one.role is not Role.OFFSET]
        return [n for n in named if len({self.value(n, one) for one in self.records}) == 1]

    @property
    def grid_kept(self) -> list[bool]:
        return [dimension.grid_kept for dimension in self.kernel.dimensions]

    @cached_property
    def recorded_extents(self) -> list[Block]:
        return [replay.recorded_extents(one, self.grid_kept) for one in self.records]

    @cached_property
    def working(self) -> FormulaPerAxis:
        """Per dimension where any number of threads does the same, how many have work."""
        known = {*self.sizes, *(one.name for one in self.others)}
        return _working_threads(self.kernel, known)

    @property
    def asked_pointers(self) -> int:
        """The pointers that a launch checks: those of the variant, and those that may not meet."""
        if self.variant is None:
            return 0
        asked = {*self.variant.pointers}
        if self.variant.coarsen != (1, 1, 1):
            asked |= {pointer for pair in self.kernel.may_meet for pointer in pair}
        return len(asked)


@dataclass(frozen=True)
class _Axes:
    """What the number of threads follows, per dimension; see `MeasuredKernel`.

    `extents`: of each launch.
    """

    guards: FormulaPerAxis
    covers: FormulaPerAxis
    extents: Sequence[Block]
    is_variable: Flags

    @staticmethod
    def of_kernel(launch: LaunchedCode) -> _Axes:
        x, y, z = (dimension.guard for dimension in launch.kernel.dimensions)
        guards, kept, records = (x, y, z), launch.grid_kept, launch.records
        unguarded = _unguarded(launch, guards)

        def covered(axis: int) -> str | None:
            if not unguarded[axis] or kept[axis] or launch.kernel.asserted:
                return None
            pairs = zip(launch.values_of_sizes, records, strict=True)
            blocks = [Covered(own, one.grid[axis], one.block[axis]) for own, one in pairs]
            return cover(launch.sizes, blocks)

        covers = covered(0), covered(1), covered(2)
        return _Axes(guards, covers, launch.recorded_extents, _uncovered(unguarded, covers))

    @staticmethod
    def of_tile(launch: LaunchedCode, tile: Tile) -> _Axes:
        """Of a kernel that has copies with other constants, or of such a copy."""
        guards = _guard(tile, 0), _guard(tile, 1), _guard(tile, 2)
        x, y, z = (
            None if guard or tile.is_asked(axis) else tile.threads(axis)
            for axis, guard in enumerate(guards)
        )
        pairs = zip(launch.values_of_sizes, launch.records, strict=True)
        extents = [_threads(tile, launch.sizes, own, one.grid) for own, one in pairs]
        is_variable = _uncovered(_unguarded(launch, guards), (x, y, z))
        return _Axes(guards, (x, y, z), extents, is_variable)

    def working(self, launch: LaunchedCode) -> FormulaPerAxis:
        pairs = zip(launch.working, self.is_variable, strict=True)
        x, y, z = (text and (text if varies else NO_OTHERS) for text, varies in pairs)
        return x, y, z


def described(
    launch: LaunchedCode,
    code_hash: str,
    origin: Origin,
    static: StaticCounters,
    candidate_set: str,
) -> MeasuredKernel:
    """Describe a kernel, or a variant; its variants with launch bounds are added later.

    `code_hash`: of the module. `candidate_set`: `paper` or `all`.
    """
    kernel, variant, record, code = launch.kernel, launch.variant, launch.record, launch.code
    sites, kept, required = launch.launched.sites, launch.grid_kept, launch.required
    tile = _tile(kernel, variant)
    axes = _Axes.of_kernel(launch) if tile is None else _Axes.of_tile(launch, tile)
    return MeasuredKernel(
        name=kernel.name,
        entry=record.kernel,
        code=code_hash,
        origin=origin,
        sites=tuple(SiteKey(origin.path, site.id) for site in sites),
        parameters=launch.sizes,
        positions=tuple(map(launch.position, launch.sizes)),
        fixed_arguments=tuple((one.name, launch.value(one.name)) for one in launch.others),
        free=kernel.free if tile is None else _wide(tile.block),
        guards=axes.guards,
        variable_extents=axes.is_variable,
        original=record.block if tile is None else tile.block,
        # The limit in the PTX is a number, also if the source has an expression.
        max_threads=min(kernel.max_threads, code.max_threads),
        candidate_set=candidate_set,
        allowed=kernel.allowed if tile is None else _one_block(tile.block),
        # If the grid is kept, the work may depend on the block, as under an annotation.
        asserted=bool(kernel.asserted) or any(kept) or tile is not None,
        dynamic_shared_bytes=record.shared if tile is None else tile.shared,
        shared=sites[0].shared,
        needs_warps=kernel.keeps_warps_of(record.block),
        grid_kept=(kept[0], kept[1], kept[2]),
        rejected=(),
        recorded=tuple(zip(launch.values_of_sizes, axes.extents, strict=True)),
        compiled=replay.compiled_kernel(code, static),
        covers=axes.covers,
        on_data=not code.oblivious,
        bounds=tuple(p.name for p in kernel.data_parameters if p.role is Role.BOUND),
        required_arguments=tuple((launch.position(one), launch.value(one)) for one in required),
        required_names=tuple(required),
        signatures=launch.launched.signatures,
        variant=variant.name if variant is not None else "",
        asked_pointers=launch.asked_pointers,
        coarsen=variant.coarsen if variant is not None else (1, 1, 1),
        divided=_divided(kernel, variant) if variant is not None else (),
        multiple=tile.multiple if variant is not None and tile is not None else 1,
        is_tile=variant is not None and variant.tile is not None,
        unit=_unit(tile) if tile is not None else 1,
        working=axes.working(launch),
    )


def with_sizes_covered(launch: LaunchedCode, described: MeasuredKernel) -> Iterator[MeasuredKernel]:
    """The described kernel with grids that cover sizes, where it is asked what its grid is."""
    tile = _tile(launch.kernel, launch.variant)
    if tile is not None and any(map(tile.is_asked, range(3))):
        threads = [tile.threads(axis) for axis in range(3)]
        yield from with_grid_covering(described, threads, [one.grid for one in launch.records])


def _divided(kernel: Kernel, variant: KernelVariant) -> tuple[str, ...]:
    """The sizes that have to be multiples of something for the variant to be launched."""
    if variant.tile is not None:
        return variant.tile.divided
    return tuple(kernel.parameters[one].name for one in variant.divided)


def _unguarded(launch: LaunchedCode, guards: FormulaPerAxis) -> Flags:
    """The dimensions without a guard whose extent is not always 1, or may be another one."""
    x, y, z = (
        guard is None
        and (bool(launch.working[axis]) or any(one[axis] > 1 for one in launch.recorded_extents))
        for axis, guard in enumerate(guards)
    )
    return x, y, z


def _uncovered(unguarded: Flags, covers: FormulaPerAxis) -> Flags:
    x, y, z = (is_open and text is None for is_open, text in zip(unguarded, covers, strict=True))
    return x, y, z


def _tile(kernel: Kernel, variant: KernelVariant | None) -> Tile | None:
    """The launch of a copy with another constant, or of the kernel that has such copies."""
    if variant is not None or not kernel.tiles:
        return variant.tile if variant is not None else None
    tile = kernel.tiles[0].tile
    return tile.own() if tile is not None else None


def _unit(tile: Tile) -> int:
    """At multiples of as many warps all blocks are whole, in dimensions that share sizes out.

    Where the program asks for a number of blocks, the size is that of their threads.
    """
    whole = WARP
    for axis, (extent, covered) in enumerate(zip(tile.extents, tile.covered, strict=True)):
        if not extent.isdigit():
            whole = lcm(whole, tile.block[axis] if tile.is_asked(axis) else covered)
    return min(whole // WARP, LARGEST // WARP)


def _guard(tile: Tile, axis: int) -> str | None:
    """An extent of which each thread has a part that is one element; None where that is not so."""
    is_one_each = tile.covered[axis] == tile.block[axis] > 1 and not tile.is_asked(axis)
    return tile.extents[axis] if is_one_each else None


def _one_block(block: Block) -> BlockRange:
    x, y, z = (Values((size,)) for size in block)
    return BlockRange(x, y, z)


def _wide(block: Block) -> tuple[bool, bool, bool]:
    """The dimensions in which a block has several threads; x where there are none."""
    x, y, z = block
    return (x > 1 or y == z == 1, y > 1, z > 1)


def _threads(tile: Tile, sizes: Sequence[str], values: Sequence[int], grid: Block) -> Block:
    known = dict(zip((*sizes, *ASKED), (*values, *grid), strict=True))
    x, y, z = (limited_value(tile.threads(axis), known) for axis in range(3))
    return (x, y, z)


def _working_threads(kernel: Kernel, known: Collection[str]) -> FormulaPerAxis:
    """Per dimension where any number of threads does the same, how many have work."""
    x, y, z = (
        one.grid_free
        if one.grid_free and not kernel.asserted and is_formula(one.grid_free, known)
        else None
        for one in kernel.dimensions
    )
    return x, y, z
