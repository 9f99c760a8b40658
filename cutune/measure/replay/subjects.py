"""The kernels that are going to be measured. Takes recorded launches, gives `Subject`s.

A subject is one kernel, or a variant of it: its code, its description, and a launch to replay.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from cutune.core.codes import NO_REMEDY, Code
from cutune.core.diagnostics import Diagnostic, Warn
from cutune.emulator.assemble import assemble
from cutune.emulator.launch_log import LaunchRecord
from cutune.emulator.machine import LoadedModule
from cutune.emulator.module_metadata import AssembledModule, KernelCode
from cutune.measure.replay import replay
from cutune.measure.replay.description import (
    LaunchedCode,
    described,
    launched_sites,
    with_sizes_covered,
)
from cutune.model.emit.selected_programs import decisive
from cutune.model.measurement.measurement import BoundedCopy, MeasuredKernel, Origin
from cutune.model.performance.constants import SPILLED_SHARE
from cutune.source.kernel_variant import KernelVariant
from cutune.source.program import Kernel, LaunchSite, Program, SiteNumbers
from cutune.source.rewrite.edits import variants_at
from cutune.toolchain.device.thread_block import Block
from cutune.toolchain.kernel_names import renamed_entry
from cutune.toolchain.ptxas import StaticCounters

#: Why a kernel whose work depends on data is not counted, and what helps.
_NOT_EXECUTED = ", and no run was executed; choose smaller sizes, and leave --launches-only out"
_NOT_COUNTED = f", and it cannot be counted on data. {NO_REMEDY}"

#: Of a kernel of which ptxas has told nothing.
FEW_REGISTERS = 32


@dataclass(frozen=True)
class Subject(replay.Replayer):
    """A kernel that is going to be measured. `made`: launches of all kernels of its module.

    `guesses`: the kernel with grids that cover sizes, where it is asked what its grid is.
    """

    numbers: SiteNumbers
    guesses: tuple[MeasuredKernel, ...] = ()

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
    folder: str = os.curdir,
) -> list[Subject]:
    """The kernels that were launched, are tunable, and whose work can be counted.

    `static_counters`: of some, by mangled name. `may_execute`: also if no launch was executed.
    `folder`: where the program was read.
    """
    decided = decisive(program)
    loaded: dict[str, tuple[AssembledModule, LoadedModule, replay.Made]] = {}
    measurable = []
    for launched in launched_sites(program, launches, numbers, warn):
        kernel, sites = launched.kernel, launched.sites
        its_numbers = {numbers.number(site) for site in sites}
        records = [r for r in launches if r.site in its_numbers and r.kernel == launched.entry]
        # The one with the most work: a launch at the edge of a host loop may do nothing.
        record = max(records, key=lambda r: r.warp_instructions)
        if record.module not in loaded:
            assembled = assemble(Path(record.module).read_text(encoding="latin-1"))
            loaded[record.module] = (assembled, LoadedModule(assembled), {})
        assembled, module, made = loaded[record.module]
        code = assembled.kernels[record.kernel]
        # Launches that were only recorded have no data.
        has_data = record.is_executed or may_execute
        if not _is_countable(kernel, records, code, has_data, warn):
            continue
        origin = Origin.of(program.source, program.deciding_files, folder)
        content = sha256(assembled.image).hexdigest()[:16]
        for variant, one in ((None, record), *_variants(program, sites[0], record, assembled)):
            its_code = assembled.kernels[one.kernel]
            static = static_counters.get(one.kernel, StaticCounters(FEW_REGISTERS))
            its_launch = LaunchedCode(launched, variant, one, records, its_code)
            measured = described(its_launch, content, origin, static, candidate_set)
            own = static_counters.get(record.kernel, static)
            if variant is not None and _spills_more(measured, static, own):
                continue
            bounded = tuple(_bounded(program, sites[0], measured, static_counters))
            measured = replace(measured, bounded=bounded, decisive=decided)
            if its_code.oblivious:
                measured = replay.replayable(measured, one, its_code)
            guesses = tuple(with_sizes_covered(its_launch, measured))
            measurable.append(Subject(module, its_code, one, measured, made, numbers, guesses))
    return measurable


def _is_countable(
    kernel: Kernel, records: Sequence[LaunchRecord], code: KernelCode, has_data: bool, warn: Warn
) -> bool:
    if unseen := replay.unseen_member(kernel, records, code):
        place = kernel.source, kernel.span
        warn(Diagnostic.at(Code.UNSEEN_MEMBER, *place, kernel=kernel.name, name=unseen))
        return False
    if code.oblivious:
        return True
    warn(_on_data(kernel, code, has_data))
    return code.obliviousness.countable and has_data


def _on_data(kernel: Kernel, code: KernelCode, has_data: bool) -> Diagnostic:
    """Say that the work of a kernel depends on data, and whether it is counted nevertheless."""
    depends, place = code.obliviousness, (kernel.source, kernel.span)
    if depends.countable and has_data:
        reason = depends.reason
        return Diagnostic.at(Code.COUNTED_ON_DATA, *place, kernel=kernel.name, reason=reason)
    reason = depends.reason + (_NOT_EXECUTED if depends.countable else _NOT_COUNTED)
    return Diagnostic.at(Code.DATA_DEPENDENT, *place, kernel=kernel.name, reason=reason)


def _variants(
    program: Program, site: LaunchSite, record: LaunchRecord, module: AssembledModule
) -> Iterator[tuple[KernelVariant, LaunchRecord]]:
    """The variants that are counted as their kernel is, each as if it had been launched.

    Without data or on data: times that follow from other counts are no choice. What trials have
    shown of a variant's launch holds without data alone.
    """
    is_oblivious = module.kernels[record.kernel].oblivious
    for variant in variants_at(program, site):
        if variant.bounds is not None or not (is_oblivious or variant.tile is None):
            continue
        entry = renamed_entry(record.kernel, variant.kernel)
        its = module.kernels.get(entry)
        if its is not None and its.oblivious == is_oblivious and its.obliviousness.countable:
            yield variant, replace(record, kernel=entry)


def _bounded(
    program: Program,
    site: LaunchSite,
    measured: MeasuredKernel,
    static_counters: Mapping[str, StaticCounters],
) -> Iterator[BoundedCopy]:
    """The variants with launch bounds that need fewer registers, and hardly spill more of them."""
    own = static_counters.get(measured.entry)
    if own is None or measured.coarsen != (1, 1, 1):
        return
    for variant in variants_at(program, site):
        if variant.bounds is None or bool(variant.pointers) != bool(measured.variant):
            continue
        entry = renamed_entry(measured.entry, variant.kernel)
        its = static_counters.get(entry)
        if its is None or its.registers >= own.registers:
            continue
        if not _spills_more(measured, its, own):
            threads = min(measured.max_threads, variant.bounds[0])
            yield BoundedCopy(variant.name, entry, threads, its)


def _spills_more(measured: MeasuredKernel, its: StaticCounters, own: StaticCounters) -> bool:
    """Are more registers spilled than cost next to nothing? The model does not count them."""
    blocks = measured.code_blocks
    # In a loop it is not known how often.
    has_loop = any(block.loop >= 0 for block in blocks)
    free = 0 if has_loop else int(SPILLED_SHARE * sum(block.instructions for block in blocks))
    return its.spilled_bytes - own.spilled_bytes > 4 * free
