"""Launches made with every candidate and counted, in one run of the program.

Takes a run and kernels, gives what each launch did. In sweep mode the instrumented program itself
launches all candidates, on the memory contents of one of its own launches; the emulated device logs
them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path

from cutune.core.diagnostics import CutuneError
from cutune.core.temporary import temporary_folder
from cutune.emulator.launch_log import LaunchRecord, LoggedBlock, LoggedSite, read_launches
from cutune.emulator.run import device_environment
from cutune.measure.candidate_trials import TrialRun
from cutune.measure.emulated_runs import Sweep
from cutune.measure.program_runs import RUN_SECONDS, Run, run_program
from cutune.measure.replay.subjects import Subject
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import Block

#: Tracing one line or sector takes as long as so many warp instructions.
TRACING = 4
#: What a memory instruction logs that is no count.
_PLACES = frozenset({"site", "lowest", "highest"})
#: Time limit of a run that the user did not ask for.
EXTRA_SECONDS = 30


@dataclass(frozen=True)
class Experiment:
    """One launch of the program, repeated with every candidate.

    `is_cut`: time ran out before the last of them.
    """

    asked: LaunchRecord
    by_block: Mapping[Block, LaunchRecord]
    is_cut: bool = False

    @property
    def work(self) -> int:
        """Warp instructions of the launch as the program asked for it."""
        return self.asked.warp_instructions

    @property
    def effort(self) -> int:
        """The cost of counting all of its launches, in warp instructions."""
        total = 0
        for record in self.by_block.values():
            total += record.warp_instructions
            for site in record.sites:
                lines = (site["load_cost_x20"] + site["store_cost_x20"]) // 20
                total += TRACING * (lines + site["new_sectors"])
        return total


@dataclass(frozen=True)
class CountedRun:
    """One run of the program in which all candidates of some kernels are launched and counted.

    `subjects`: kernels of one source. `launches`: of each site. `is_extra`: the user did not
    ask for this run; if it fails, it counts as not made. `sweep`: when it may end.
    """

    number: int
    run: Run
    subjects: tuple[Subject, ...]
    launches: int
    is_extra: bool = False
    sweep: Sweep = field(default_factory=Sweep)
    #: Threads of a launch that are executed, in whole blocks, and stand for all; 0: all.
    sampled_threads: int = 0

    def made(self, device: DeviceProfile) -> dict[str, list[Experiment]]:
        """Run the program; gives its experiments by entry of the kernel.

        Raises:
            CutuneError: CT411 when a run that was asked for does not end well.
        """
        seconds = EXTRA_SECONDS if self.is_extra else RUN_SECONDS
        with temporary_folder() as folder:
            log = Path(folder) / "launches.jsonl"
            try:
                run_program(self.run, self._environment(device, log), seconds=seconds)
            except CutuneError:
                if not self.is_extra:
                    raise
                return {}
            logged = [_whole(record) for record in read_launches(log)]
        return {
            subject.kernel.entry: [
                experiment
                for number in subject.site_numbers
                for experiment in _experiments(
                    r for r in logged if r.site == number and subject.is_launch(r)
                )
            ]
            for subject in self.subjects
        }

    def _environment(self, device: DeviceProfile, log: Path) -> dict[str, str]:
        kernels = [subject.kernel for subject in self.subjects]
        # A launch is made as asked for, then with each candidate, then as asked for again.
        lines = self.launches * (2 + max(len(kernel.candidates()) for kernel in kernels))
        return {
            **os.environ,
            **device_environment(device, log.parent),
            **TrialRun(kernels, self.subjects[0].numbers, log.parent).environment(),
            **self.sweep.ending(self.run),
            "CUTUNE_LAUNCH_LOG": str(log),
            "CUTUNE_LOG_LIMIT": str(lines),
            "CUTUNE_COUNT": "trace",
            "CUTUNE_LAUNCH_LIMIT": str(self.launches),
            "CUTUNE_SAMPLED_THREADS": str(self.sampled_threads),
        }


def _experiments(records: Iterable[LaunchRecord]) -> list[Experiment]:
    """Group the launches of one site: one as asked for, its candidates, the first one again.

    If time runs out during the first group, what was counted of it is used.
    """
    found: list[Experiment] = []
    asked: LaunchRecord | None = None
    by_block: dict[Block, LaunchRecord] = {}
    for record in records:
        if asked is None:
            asked, by_block = record, {record.block: record}
        elif (record.block, record.grid) != (asked.block, asked.grid):
            by_block[record.block] = record
        else:
            if len(by_block) > 1:
                found.append(Experiment(asked, by_block))
            asked = None
    if asked is not None and len(by_block) > 1 and not found:
        found.append(Experiment(asked, by_block, is_cut=True))
    return found


def _whole(record: LaunchRecord) -> LaunchRecord:
    """Scale the counters of a launch from the executed thread blocks to all."""
    count, executed = prod(record.grid), record.executed_blocks
    if not executed or executed == count:
        return record

    def scaled(value: int) -> int:
        return round(value * count / executed)

    def scaled_site(site: LoggedSite) -> LoggedSite:
        counters = site.counters.items()
        return LoggedSite(site.site, {n: v if n in _PLACES else scaled(v) for n, v in counters})

    blocks = (LoggedBlock(b.block, scaled(b.executions), scaled(b.lanes)) for b in record.blocks)
    return replace(
        record,
        warp_instructions=scaled(record.warp_instructions),
        thread_instructions=scaled(record.thread_instructions),
        executed_blocks=count,
        working_threads=scaled(record.working_threads),
        blocks=tuple(blocks),
        sites=tuple(map(scaled_site, record.sites)),
    )
