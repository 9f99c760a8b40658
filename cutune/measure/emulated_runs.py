"""Runs of an instrumented program on the emulated device. Takes runs, gives launches and trials.

In sweep mode the program itself launches all candidates, on the memory contents of one of its own
launches: to compare their results, or to count what each does. Where the results of a block differ
from the original's, either the block is wrong, or the original has a race: it is checked for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn
from cutune.core.processes import ProgramResult
from cutune.core.progress import Progress
from cutune.core.temporary import temporary_folder
from cutune.emulator.findings import Finding, read_findings
from cutune.emulator.launch_log import LaunchRecord, LoggedBlock, is_cut, read_launches
from cutune.emulator.run import device_environment
from cutune.measure import candidate_trials, program_runs
from cutune.measure.candidate_trials import LAUNCHES, Attempt, TrialRun, Trials
from cutune.measure.program_runs import RUN_SECONDS, RecordedRun, Run
from cutune.measure.replay.subjects import Subject
from cutune.model.measurement.measurement import MeasuredKernel
from cutune.source.program import SiteNumbers
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import Block

#: Launches recorded per launch site and run.
RECORDED_LAUNCHES = 3
#: Kernels of a run that are executed before the others are only recorded: about so many seconds.
EXECUTED_SECONDS = 15
EXECUTED_INSTRUCTIONS = 1_500_000_000
#: Seconds for a run with its host's work; then it runs again, and no kernel is executed.
PATIENCE_SECONDS = 30
#: Most runs until no candidate breaks the CUDA context.
TRIAL_RUNS = 12
#: After so many of them, all candidates that are larger than a broken one are left out, too.
SINGLY_LEFT_OUT = 3


@dataclass(frozen=True)
class Sweep:
    """When a run in which candidates are launched may end.

    Attributes:
        effort: warp instructions of all launches with candidates, about.
        experiments: launches of the program that are made with all candidates.
        seconds: time limit; a launch that is under way then does not count; 0: none.
    """

    effort: int = 0
    experiments: int = 0
    seconds: int = 0

    @staticmethod
    def of_trials(subjects: Sequence[Subject], made: RecordedRun, seconds: int) -> Sweep:
        unknown = seconds * candidate_trials.INSTRUCTIONS_PER_SECOND
        work = candidate_trials.effort(subjects, made, unknown)
        return Sweep(work, candidate_trials.experiments(subjects, made, LAUNCHES), seconds)

    def ending(self, run: Run) -> dict[str, str]:
        """Variables that end the run behind these launches; one that is cut does little besides."""
        ends = {"CUTUNE_EXPERIMENTS": str(self.experiments)} if self.experiments else {}
        if run.is_cut:
            ends["CUTUNE_EXECUTE_LIMIT"] = str(EXECUTED_INSTRUCTIONS + self.effort)
        if self.seconds:
            ends["CUTUNE_EXECUTE_SECONDS"] = str(self.seconds)
        return {**ends, "CUTUNE_BEYOND_LIMIT": "stop"}


def record_launches(
    runs: Sequence[Run], device: DeviceProfile, progress: Progress, warn: Warn
) -> list[RecordedRun]:
    """Run the instrumented program on the emulated device. Raises CT411.

    Behind a run that takes too long, and from there in it, kernels are recorded, not executed.
    """
    recorded: list[RecordedRun] = []
    with temporary_folder() as folder:
        described = device_environment(device, Path(folder))
        for index, asked in enumerate(runs):
            log = Path(folder) / f"launches-{index}.jsonl"
            progress("running", index, len(runs))
            is_long = any(before.run.is_cut for before in recorded)
            run = replace(asked, launches_only=True, is_cut=True) if is_long else asked
            try:
                made, ended = _recorded(run, described, log)
            except CutuneError:
                if not is_long:
                    raise
                continue  # It launches nothing in that time; runs before it did.
            if made.run.is_cut and not is_long:
                advice = program_runs.try_smaller(made)
                warn(Diagnostic.at(Code.CUT_SHORT, command=run.shown, advice=advice))
            recorded.append(made)
    if not any(one.launches for one in recorded):
        raise program_runs.nothing_launched(run, ended)
    progress("running", len(runs), len(runs))
    return recorded


def _recorded(run: Run, about: Mapping[str, str], log: Path) -> tuple[RecordedRun, ProgramResult]:
    ended = _logged(run, about, log)
    launches, made = list(read_launches(log)), run
    if is_cut(log):
        made = replace(run, is_cut=True)
    elif ended.timed_out and not run.launches_only:
        made = replace(run, is_cut=True)
        ended = _logged(replace(run, launches_only=True, is_cut=bool(launches)), about, log)
        seen = {(record.site, record.kernel) for record in launches}
        further = list(read_launches(log))[len(launches) :]
        launches += [r for r in further if (r.site, r.kernel) not in seen]
    # What a run launched until it was ended counts.
    if not launches or not (made.is_cut or run.launches_only):
        program_runs.check_end(run, ended)
    if not run.launches_only:
        program_runs.check_kernels(run, ended)
    return RecordedRun(made, launches), ended


def _logged(run: Run, variables: Mapping[str, str], log: Path) -> ProgramResult:
    seconds, limits = PATIENCE_SECONDS, {"CUTUNE_SKIP_KERNELS": "1"}
    if not run.launches_only:
        limits = {"CUTUNE_EXECUTE_LIMIT": str(EXECUTED_INSTRUCTIONS)}
        limits["CUTUNE_EXECUTE_SECONDS"] = str(EXECUTED_SECONDS)
    elif not run.is_cut:
        seconds = RUN_SECONDS
    logging = {"CUTUNE_LAUNCH_LOG": str(log), "CUTUNE_LOG_LIMIT": str(RECORDED_LAUNCHES)}
    return program_runs.ended_run(run, {**variables, **limits, **logging}, seconds)


def try_candidates(
    run: Run,
    kernels: Sequence[MeasuredKernel],
    numbers: SiteNumbers,
    device: DeviceProfile,
    sweep: Sweep,
) -> Trials:
    """Launch every candidate in one run of the program and compare results. Raises CT411.

    A candidate that breaks the CUDA context hides those behind it: the program runs again without.
    """
    broken: frozenset[Attempt] = frozenset()
    for attempt in range(TRIAL_RUNS):
        with temporary_folder() as folder:
            trial_run = TrialRun(kernels, numbers, Path(folder))
            described = device_environment(device, Path(folder))
            sweeping = {**described, **trial_run.environment(broken), **sweep.ending(run)}
            failure = None
            try:
                program_runs.run_program(run, sweeping)
            except CutuneError as error:
                failure = error
            hiding = trial_run.hiding_candidates() - broken
            if hiding and attempt >= SINGLY_LEFT_OUT:
                hiding |= candidate_trials.with_larger(kernels, hiding)
            trials = trial_run.trials(broken | hiding)
        is_last = attempt + 1 == TRIAL_RUNS
        if failure is not None and (is_last or not hiding):
            raise failure
        if not hiding:
            break
        broken |= hiding
    return trials


#: The checker takes many times as long as the program alone.
CHECK_SECONDS = 60
_RACES = frozenset({Code.SHARED_RACE, Code.GLOBAL_RACE, Code.BLOCK_RACE, Code.DIVERGED_RACE})


def races_of_own_blocks(run: Run, device: DeviceProfile) -> Mapping[str, Finding]:
    """The first race of each kernel, by name, in one run as the program is, even if that fails."""
    with temporary_folder() as folder:
        found = Path(folder) / "findings.jsonl"
        checking = {"CUTUNE_MODE": "off", "CUTUNE_CHECK": str(found)}
        with suppress(CutuneError):
            described = {**device_environment(device, Path(folder)), **checking}
            program_runs.run_program(run, described, seconds=CHECK_SECONDS)
        races = [finding for finding in read_findings(found) if finding.code in _RACES]
    return {finding.kernel: finding for finding in reversed(races)}


#: Tracing one line or sector takes as long as so many warp instructions.
TRACING = 4
#: What a memory instruction logs that is no count.
_PLACES = frozenset({"site", "lowest", "highest"})
#: Time limit of a run that the user did not ask for.
EXTRA_SECONDS = 30


@dataclass(frozen=True)
class Experiment:
    """One launch of the program, made with every candidate. `is_cut`: some came too late.

    `by_block`: launches of a kernel, or of its variant, which the program itself does not launch.
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
        """Run the program; gives its experiments by entry. Raises CT411 unless `is_extra`."""
        seconds = EXTRA_SECONDS if self.is_extra else RUN_SECONDS
        with temporary_folder() as folder:
            log = Path(folder) / "launches.jsonl"
            try:
                program_runs.run_program(self.run, self._environment(device, log), seconds=seconds)
            except CutuneError:
                if not self.is_extra:
                    raise
                return {}
            logged = [_whole(record) for record in read_launches(log)]
        made: dict[str, list[Experiment]] = {}
        for subject in self.subjects:
            own, entry = subject.launches_in(logged), subject.kernel.entry
            of_sites = ([r for r in own if r.site == number] for number in subject.site_numbers)
            made[entry] = [one for records in of_sites for one in _experiments(records, entry)]
        return made

    def _environment(self, device: DeviceProfile, log: Path) -> dict[str, str]:
        kernels = [subject.kernel for subject in self.subjects]
        # A launch is made as asked for, then with each candidate, then as asked for again.
        lines = self.launches * (2 + max(len(kernel.candidates()) for kernel in kernels))
        return {
            **device_environment(device, log.parent),
            **TrialRun(kernels, self.subjects[0].numbers, log.parent).environment(),
            **self.sweep.ending(self.run),
            "CUTUNE_LAUNCH_LOG": str(log),
            "CUTUNE_LOG_LIMIT": str(lines),
            "CUTUNE_COUNT": "trace",
            "CUTUNE_LAUNCH_LIMIT": str(self.launches),
            "CUTUNE_SAMPLED_THREADS": str(self.sampled_threads),
        }


def _experiments(records: Iterable[LaunchRecord], entry: str) -> list[Experiment]:
    """Group the launches of one site: one as asked for, its candidates, the first one again.

    `entry`: whose candidates are told. If time runs out during the first group, what was counted
    of it is used.
    """
    found: list[Experiment] = []
    asked: LaunchRecord | None = None
    by_block: dict[Block, LaunchRecord] = {}
    for record in records:
        if asked is None:
            asked, by_block = record, {}
        elif _configuration(record) != _configuration(asked):
            if record.kernel == entry:
                by_block[record.block] = record
        else:
            if by_block:
                found.append(_experiment(asked, by_block, entry))
            asked = None
    if asked is not None and by_block and not found:
        found.append(replace(_experiment(asked, by_block, entry), is_cut=True))
    return found


def _configuration(record: LaunchRecord) -> tuple[str, Block, Block]:
    return record.kernel, record.block, record.grid


def _experiment(
    asked: LaunchRecord, by_block: Mapping[Block, LaunchRecord], entry: str
) -> Experiment:
    own = {asked.block: asked} if asked.kernel == entry else {}
    return Experiment(asked, {**own, **by_block})


def _whole(record: LaunchRecord) -> LaunchRecord:
    """Scale the counters of a launch from the executed thread blocks to all."""
    count, executed = prod(record.grid), record.executed_blocks
    if not executed or executed == count:
        return record

    def scaled(value: int) -> int:
        return round(value * count / executed)

    sites = (
        {name: value if name in _PLACES else scaled(value) for name, value in site.items()}
        for site in record.sites
    )
    blocks = (LoggedBlock(b.block, scaled(b.executions), scaled(b.lanes)) for b in record.blocks)
    return replace(
        record,
        warp_instructions=scaled(record.warp_instructions),
        thread_instructions=scaled(record.thread_instructions),
        executed_blocks=count,
        working_threads=scaled(record.working_threads),
        blocks=tuple(blocks),
        sites=tuple(sites),
    )
