"""The kernels that are going to be measured. Takes recorded launches; gives code, description.

Launch sites are left out whose launches do not show which kernel they launch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from math import lcm
from pathlib import Path

from cutune.core.codes import NO_REMEDY, Code
from cutune.core.diagnostics import Diagnostic, Warn
from cutune.emulator.assemble import assemble
from cutune.emulator.launch_log import LaunchRecord
from cutune.emulator.machine import LoadedModule
from cutune.emulator.module_metadata import AssembledModule, KernelCode
from cutune.measure.replay import replay
from cutune.model.measurement.measurement import (
    NO_OTHERS,
    BoundedCopy,
    FormulaPerAxis,
    MeasuredKernel,
    Origin,
)
from cutune.model.measurement.size_relations import Covered, cover
from cutune.model.performance.constants import SPILLED_SHARE
from cutune.model.rational.formulas import is_formula, limited_value
from cutune.source.candidates import BlockRange
from cutune.source.kernel_variant import ASKED, KernelVariant, Tile
from cutune.source.program import (
    Kernel,
    LaunchSite,
    Program,
    Role,
    SiteKey,
    SiteNumbers,
    may_launch,
)
from cutune.source.rewrite.edits import variants_at
from cutune.space.annotation import Values
from cutune.toolchain.device.thread_block import LARGEST, WARP, Block
from cutune.toolchain.kernel_names import renamed_entry
from cutune.toolchain.ptxas import StaticCounters

#: Why a kernel whose work depends on data is not counted, and what helps.
_NOT_EXECUTED = ", and no run was executed; choose smaller sizes, and leave --launches-only out"
_NOT_COUNTED = f", and it cannot be counted on data. {NO_REMEDY}"


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
    if not instances:
        return Diagnostic.at(Code.NEVER_LAUNCHED, *where, kernel=site.kernel)
    if sum(map(len, instances.values())) > len(set().union(*instances.values())):
        return Diagnostic.at(Code.MANY_INSTANCES, *where, kernel=site.kernel)
    return None


FEW_REGISTERS = 32


@dataclass(frozen=True)
class Subject(replay.Replayer):
    """A kernel that is going to be measured. `made`: launches of all kernels of its module."""

    numbers: SiteNumbers

    @property
    def site_numbers(self) -> tuple[int, ...]:
        return tuple(self.numbers.number(site) for site in self.kernel.sites)

    def is_launch(self, record: LaunchRecord) -> bool:
        """Does a launch in a log of the program come from its sites, and from this instance?"""
        signatures = self.kernel.signatures
        is_told = not signatures or record.signature in signatures
        return record.site in self.site_numbers and is_told

    def launches_in(self, launches: Iterable[LaunchRecord]) -> list[LaunchRecord]:
        return [record for record in launches if self.is_launch(record)]

    def without(self, blocks: Iterable[Block]) -> Subject:
        rejected = tuple(sorted({*self.kernel.rejected, *blocks}))
        return replace(self, kernel=replace(self.kernel, rejected=rejected))


def subjects(
    program: Program,
    launches: Sequence[LaunchRecord],
    numbers: SiteNumbers,
    static_counters: Mapping[str, StaticCounters],
    candidate_set: str,
    warn: Warn,
    may_execute: bool = False,
) -> list[Subject]:
    """The kernels that were launched, are tunable, and whose work can be counted.

    `static_counters`: of some, by mangled name. `may_execute`: also if no launch was executed.
    """
    loaded: dict[str, tuple[AssembledModule, LoadedModule, replay.Made]] = {}
    measurable = []
    for launched in launched_sites(program, launches, numbers, warn):
        kernel, sites = launched.kernel, launched.sites
        where, its_numbers = (kernel.source, kernel.span), {numbers.number(site) for site in sites}
        records = [r for r in launches if r.site in its_numbers and r.kernel == launched.entry]
        # The one with the most work: a launch at the edge of a host loop may do nothing.
        record = max(records, key=lambda r: r.warp_instructions)
        if record.module not in loaded:
            assembled = assemble(Path(record.module).read_text(encoding="latin-1"))
            loaded[record.module] = (assembled, LoadedModule(assembled), {})
        assembled, module, made = loaded[record.module]
        code = assembled.kernels[record.kernel]
        if unseen := replay.unseen_member(kernel, records, code):
            warn(Diagnostic.at(Code.UNSEEN_MEMBER, *where, kernel=kernel.name, name=unseen))
            continue
        if not code.oblivious:
            # Launches that were only recorded have no data.
            is_counted = code.obliviousness.countable and (record.is_executed or may_execute)
            said = Code.COUNTED_ON_DATA if is_counted else Code.DATA_DEPENDENT
            unseen = _NOT_EXECUTED if code.obliviousness.countable else _NOT_COUNTED
            reason = code.obliviousness.reason + ("" if is_counted else unseen)
            warn(Diagnostic.at(said, *where, kernel=kernel.name, reason=reason))
            if not is_counted:
                continue
        origin = Origin.of(program.source, program.deciding_files)
        content = sha256(assembled.image).hexdigest()[:16]
        for variant, one in ((None, record), *_variants(program, sites[0], record, assembled)):
            its_code = assembled.kernels[one.kernel]
            static = static_counters.get(one.kernel, StaticCounters(FEW_REGISTERS))
            described = _describe(
                launched, variant, one, records, its_code, content, origin, static, candidate_set
            )
            bounded = tuple(_bounded(program, sites[0], described, static_counters))
            described = replace(described, bounded=bounded)
            if its_code.oblivious:
                described = replay.replayable(described, one, its_code)
            measurable.append(Subject(module, its_code, one, described, made, numbers))
    return measurable


def _variants(
    program: Program, site: LaunchSite, record: LaunchRecord, module: AssembledModule
) -> Iterator[tuple[KernelVariant, LaunchRecord]]:
    """The variants whose work does not depend on data, each as if it had been launched."""
    for variant in variants_at(program, site):
        if variant.bounds is not None:
            continue
        entry = renamed_entry(record.kernel, variant.kernel)
        code = module.kernels.get(entry)
        if code is not None and code.oblivious and module.kernels[record.kernel].oblivious:
            yield variant, replace(record, kernel=entry)


def _bounded(
    program: Program,
    site: LaunchSite,
    measured: MeasuredKernel,
    static_counters: Mapping[str, StaticCounters],
) -> Iterator[BoundedCopy]:
    """The variants with launch bounds that need fewer registers, and hardly spill more of them."""
    own, blocks = static_counters.get(measured.entry), measured.code_blocks
    if own is None or measured.coarsen != (1, 1, 1):
        return
    # Words whose spilling costs next to nothing; in a loop it is not known how often.
    has_loop = any(block.loop >= 0 for block in blocks)
    free = 0 if has_loop else int(SPILLED_SHARE * sum(block.instructions for block in blocks))
    for variant in variants_at(program, site):
        if variant.bounds is None or bool(variant.pointers) != bool(measured.variant):
            continue
        entry = renamed_entry(measured.entry, variant.kernel)
        its = static_counters.get(entry)
        if its is None or its.registers >= own.registers:
            continue
        if its.spilled_bytes - own.spilled_bytes <= 4 * free:
            threads = min(measured.max_threads, variant.bounds[0])
            yield BoundedCopy(variant.name, entry, threads, its)


def _describe(
    launched: Launched,
    variant: KernelVariant | None,
    record: LaunchRecord,
    records: Sequence[LaunchRecord],
    code: KernelCode,
    code_hash: str,
    origin: Origin,
    static: StaticCounters,
    candidate_set: str,
) -> MeasuredKernel:
    kernel, sites = launched.kernel, launched.sites
    place = kernel.argument_names.index
    sizes = tuple(p.name for p in kernel.data_parameters if p.is_size)
    others = [p for p in kernel.data_parameters if not p.is_size]
    tile = _tile(kernel, variant)
    guards = [dimension.guard for dimension in kernel.dimensions]
    if tile is not None:
        guards = [_guard(tile, axis) for axis in range(3)]
    kept = [dimension.grid_kept for dimension in kernel.dimensions]

    def value(name: str, launch: LaunchRecord = record) -> int:
        return replay.integer_argument(launch, code, place(name))

    integers = [tuple(value(name, launch) for name in sizes) for launch in records]
    extents = [replay.recorded_extents(launch, kept) for launch in records]
    # Integers with one value in all launches; an offset alone changes no work.
    required = [
        p.name
        for p in others
        if p.role is not Role.OFFSET and len({value(p.name, launch) for launch in records}) == 1
    ]
    working = _working_threads(kernel, {*sizes, *(p.name for p in others)})
    # An extent that is always 1 is not a variable, but where it may be another one.
    unguarded = [
        guard is None and (working[axis] or any(extent[axis] > 1 for extent in extents))
        for axis, guard in enumerate(guards)
    ]

    def covered(axis: int) -> str | None:
        if not unguarded[axis] or kept[axis] or kernel.asserted:
            return None
        pairs = zip(integers, records, strict=True)
        return cover(sizes, [Covered(own, r.grid[axis], r.block[axis]) for own, r in pairs])

    # The pointers that a launch checks: those of the variant, and those that must not meet.
    asked = {*variant.pointers} if variant is not None else set()
    if variant is not None and variant.coarsen != (1, 1, 1):
        asked |= {pointer for pair in kernel.may_meet for pointer in pair}
    covers = [covered(axis) for axis in range(3)]
    if tile is not None:
        extents = [
            _threads(tile, sizes, values, one.grid)
            for values, one in zip(integers, records, strict=True)
        ]
        covers = [
            None if guards[axis] or tile.is_asked(axis) else tile.threads(axis) for axis in range(3)
        ]
    variable = [bool(v) and text is None for v, text in zip(unguarded, covers, strict=True)]
    pairs = zip(working, variable, strict=True)
    shared = [text and (text if varies else NO_OTHERS) for text, varies in pairs]
    return MeasuredKernel(
        name=kernel.name,
        entry=record.kernel,
        code=code_hash,
        origin=origin,
        sites=tuple(SiteKey(origin.path, site.id) for site in sites),
        parameters=sizes,
        positions=tuple(map(place, sizes)),
        fixed_arguments=tuple((p.name, value(p.name)) for p in others),
        free=kernel.free if tile is None else _wide(tile.block),
        guards=(guards[0], guards[1], guards[2]),
        variable_extents=(variable[0], variable[1], variable[2]),
        original=tile.block if tile is not None else record.block,
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
        recorded=tuple(zip(integers, extents, strict=True)),
        compiled=replay.compiled_kernel(code, static),
        covers=(covers[0], covers[1], covers[2]),
        on_data=not code.oblivious,
        bounds=tuple(p.name for p in kernel.data_parameters if p.role is Role.BOUND),
        required_arguments=tuple((place(name), value(name)) for name in required),
        required_names=tuple(required),
        signatures=launched.signatures,
        variant=variant.name if variant is not None else "",
        asked_pointers=len(asked),
        coarsen=variant.coarsen if variant is not None else (1, 1, 1),
        is_tile=variant is not None and variant.tile is not None,
        unit=_unit(tile) if tile is not None else 1,
        working=(shared[0], shared[1], shared[2]),
    )


def _tile(kernel: Kernel, variant: KernelVariant | None) -> Tile | None:
    """The launch of a copy with another constant, or of the kernel that has such copies."""
    if variant is not None or not kernel.tiles:
        return variant.tile if variant is not None else None
    tile = kernel.tiles[0].tile
    return tile.own() if tile is not None else None


def _unit(tile: Tile) -> int:
    """At multiples of as many warps all blocks are whole, in dimensions that share sizes out."""
    pairs = zip(tile.extents, tile.covered, strict=True)
    whole = lcm(WARP, *(covered for extent, covered in pairs if not extent.isdigit()))
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
