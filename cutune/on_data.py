"""Kernels whose work depends on data: counted while the program runs, on the data that it has.

Takes kernels and runs of the program, gives measurements. A replay without memory says nothing of
such a kernel. So the instrumented program launches every candidate itself, in sweep mode, each on
what memory holds at one of its own launches, and the emulated device logs what all of them do.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cutune.arguments import integer_argument
from cutune.candidates import Block
from cutune.collect import RECORDED_LAUNCHES, Run, Subject, run_program
from cutune.device import DeviceProfile
from cutune.diagnostics import Code, Diagnostic
from cutune.emulator.launch_log import LaunchRecord, LoggedSite, Pointer, read_launches
from cutune.emulator.run import device_environment
from cutune.measure import COUNTS, FEATURES, RUN, SMALLER, MeasuredKernel, Measurement, SiteCounters
from cutune.plan import count_block
from cutune.replay import recorded_extents
from cutune.trial import trial_environment

#: Warp instructions that all candidates of a kernel may take in one run: a minute or so.
BUDGET = 1_500_000_000

Progress = Callable[[str, int, int], None]
Warn = Callable[[Diagnostic], None]


@dataclass(frozen=True)
class Experiment:
    """One launch of the program, made with its own block and with every candidate."""

    asked: LaunchRecord
    by_block: Mapping[Block, LaunchRecord]

    @property
    def work(self) -> int:
        """Warp instructions of the launch as the program asked for it."""
        return self.asked.warp_instructions


def counted_on_data(
    runs: Sequence[Run],
    recorded: Sequence[Sequence[LaunchRecord]],
    found: Sequence[Subject],
    device: DeviceProfile,
    progress: Progress,
    warn: Warn,
) -> Iterator[tuple[Subject, list[Measurement]]]:
    """Each subject as it was measured, and its measurements.

    Of each run the launch with most work counts; candidates are compared at the largest of these.
    Candidates that cannot be launched there are left out, and kernels whose launches would take too
    long are left alone.

    Raises:
        CutuneError: CT411 when a run does not end well.
    """
    swept: dict[str, list[Experiment]] = {subject.kernel.entry: [] for subject in found}
    for index, (run, launches) in enumerate(zip(runs, recorded, strict=True) if found else ()):
        progress("counting with data", index, len(runs))
        for subject, experiment in _swept(run, launches, found, device):
            swept[subject.kernel.entry].append(experiment)
        progress("counting with data", index + 1, len(runs))
    for subject in found:
        if experiments := swept[subject.kernel.entry]:
            yield _measured(subject, experiments)
        else:
            warn(_too_long(subject.kernel))


def _swept(
    run: Run, launches: Sequence[LaunchRecord], chosen: Sequence[Subject], device: DeviceProfile
) -> Iterator[tuple[Subject, Experiment]]:
    """For each kernel that this run launches and may be swept in it, its greatest launch."""
    costs = [(subject, _cost(subject.kernel, launches)) for subject in chosen]
    affordable = [(subject, cost) for subject, cost in costs if 0 < cost <= BUDGET]
    if not affordable:
        return
    kernels = [subject.kernel for subject, _ in affordable]
    limit = min(RECORDED_LAUNCHES, *(BUDGET // cost for _, cost in affordable))
    left_out = {(s, block) for k in kernels for s in k.sites for block in k.rejected}
    with tempfile.TemporaryDirectory(prefix="cutune-") as folder:
        log = Path(folder) / "launches.jsonl"
        # Each with all candidates, before and after them as it was asked for.
        lines = limit * (2 + max(len(kernel.candidates()) for kernel in kernels))
        counting = {
            "CUTUNE_LAUNCH_LOG": str(log),
            "CUTUNE_LOG_LIMIT": str(lines),
            "CUTUNE_COUNT": "trace",
            "CUTUNE_LAUNCH_LIMIT": str(limit),
        }
        environment = {
            **os.environ,
            **device_environment(device, Path(folder)),
            **trial_environment(kernels, Path(folder), left_out),
            **counting,
        }
        run_program(run, environment)
        logged = list(read_launches(log))
    for subject, _ in affordable:
        experiments = [
            experiment
            for site in subject.kernel.sites
            for experiment in _experiments(record for record in logged if record.site == site)
        ]
        if experiments:
            yield subject, max(experiments, key=lambda experiment: experiment.work)


def _cost(kernel: MeasuredKernel, launches: Iterable[LaunchRecord]) -> int:
    """Warp instructions of one launch with every candidate; 0 where there is no launch."""
    work = max((r.warp_instructions for r in launches if r.site in kernel.sites), default=0)
    return work * len(kernel.candidates())


def _experiments(records: Iterable[LaunchRecord]) -> Iterator[Experiment]:
    """The launches of one site, sorted out: each as it was asked for, its candidates, it again."""
    asked: LaunchRecord | None = None
    by_block: dict[Block, LaunchRecord] = {}
    for record in records:
        if asked is None:
            asked, by_block = record, {record.block: record}
        elif (record.block, record.grid) != (asked.block, asked.grid):
            by_block[record.block] = record
        else:
            if len(by_block) > 1:
                yield Experiment(asked, by_block)
            asked = None


def _measured(
    subject: Subject, experiments: Sequence[Experiment]
) -> tuple[Subject, list[Measurement]]:
    kernel = subject.kernel
    ordered = sorted(experiments, key=lambda experiment: experiment.work)
    least, most = ordered[0], ordered[-1]
    missing = {b for b in kernel.candidates() if b not in most.by_block or b not in least.by_block}
    kernel = replace(kernel, rejected=tuple(sorted({*kernel.rejected, *missing})))
    subject = replace(subject, kernel=kernel)
    counted = count_block(kernel) if kernel.keeps_grid else kernel.original
    found = [
        _measurement(subject, COUNTS, experiment, counted)
        for experiment in ordered
        if counted in experiment.by_block
    ]
    for purpose, experiment in ((SMALLER, least), (FEATURES, most)):
        found += [_measurement(subject, purpose, experiment, b) for b in experiment.by_block]
    return subject, list({measurement.key: measurement for measurement in found}.values())


def _measurement(
    subject: Subject, purpose: str, experiment: Experiment, block: Block
) -> Measurement:
    kernel, record = subject.kernel, experiment.by_block[block]
    in_blocks = {logged.block: logged for logged in record.blocks}
    counters = [in_blocks.get(place) for place in subject.code.block_indices]
    return Measurement(
        entry=kernel.entry,
        code=kernel.code,
        purpose=purpose,
        source=RUN,
        sizes=_sizes(subject, experiment.asked),
        grid=record.grid,
        block=block,
        executed_blocks=record.executed_blocks or 0,
        working_threads=record.working_threads,
        lanes=tuple(logged.lanes if logged else 0 for logged in counters),
        executions=tuple(logged.executions if logged else 0 for logged in counters),
        sites=_sites(subject, record),
    )


def _sizes(subject: Subject, asked: LaunchRecord) -> tuple[tuple[str, int], ...]:
    """A value for every variable of the kernel: of the launch as it was asked for."""
    kernel, extents = subject.kernel, recorded_extents(asked, subject.kernel.grid_kept)
    values = {
        name: integer_argument(asked, subject.code, position)
        for name, position in zip(kernel.parameters, kernel.positions, strict=True)
    }
    values |= {f"extent_{axis}": extent for axis, extent in zip("xyz", extents, strict=True)}
    return tuple((name, values[name]) for name in kernel.variables)


def _sites(subject: Subject, record: LaunchRecord) -> tuple[SiteCounters, ...]:
    logged = {site.site: site for site in record.sites}
    places = [subject.code.site_indices[memory.site] for memory in subject.kernel.memory]
    return tuple(_site(logged.get(place), record.pointers) for place in places)


def _site(logged: LoggedSite | None, pointers: Sequence[Pointer]) -> SiteCounters:
    if logged is None:
        return SiteCounters(*(0,) * 9, array=-1, low=0, high=0, sectors=0, lines=0)
    array, start = _array_of(logged, pointers)
    return SiteCounters(
        executions=logged.executions,
        lanes=logged.lanes,
        busiest=logged.busiest,
        traced=logged.traced,
        load_cost_x20=logged.load_cost_x20,
        store_cost_x20=logged.store_cost_x20,
        rewritten_sectors=logged.rewritten_sectors,
        new_sectors=logged.new_sectors,
        missing=logged.missing,
        array=array,
        low=logged.lowest - start if array >= 0 else 0,
        high=logged.highest - start if array >= 0 else 0,
        sectors=logged.sectors,
        lines=logged.lines,
    )


def _array_of(logged: LoggedSite, pointers: Sequence[Pointer]) -> tuple[int, int]:
    """The pointer that an instruction went through, -1 where it is none, and its address.

    Of those into the same allocation the last one before what was touched, if there is any.
    """
    inside = [
        (pointer.base + pointer.delta, index)
        for index, pointer in enumerate(pointers)
        if pointer.base <= logged.lowest < pointer.base + pointer.size
    ]
    if not inside:
        return -1, 0
    before = [found for found in inside if found[0] <= logged.lowest]
    start, index = max(before, default=min(inside))
    return index, start


def _too_long(kernel: MeasuredKernel) -> Diagnostic:
    reason = f"to run all of its {len(kernel.candidates())} blocks takes too long at these sizes"
    return Diagnostic.at(Code.DATA_DEPENDENT, None, kernel=kernel.kernel, reason=reason)
