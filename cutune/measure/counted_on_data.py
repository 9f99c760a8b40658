"""Data-dependent kernels: counted while the program runs, on its own data.

Takes kernels and runs of the program, gives measurements. Such kernels cannot be replayed, because
a replay has no data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import prod
from time import monotonic

from cutune.core.codes import NO_REMEDY, Code
from cutune.core.diagnostics import Diagnostic, Warn
from cutune.core.progress import Progress, Reporter
from cutune.emulator.launch_log import LaunchRecord
from cutune.measure import candidate_trials
from cutune.measure.candidate_trials import FEWEST_CANDIDATES
from cutune.measure.emulated_runs import RECORDED_LAUNCHES, CountedRun, Experiment, Sweep
from cutune.measure.program_runs import LIMIT, Cost, RecordedRun, larger_run, try_smaller, try_two
from cutune.measure.replay.plan import count_block
from cutune.measure.replay.replay import logged_measurement
from cutune.measure.replay.replayed_kernel import Sizes, recorded_sizes, smaller_and_largest
from cutune.measure.replay.subjects import Subject
from cutune.model.measurement.measurement import MeasuredKernel, Measurement, Purpose
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import LARGEST, Block

#: Seconds in which variants are counted in one run: fewer than a run takes that is given up.
VARIANT_SECONDS = 20
#: Warp instructions that all candidates of a kernel may take in one run: about 20 seconds. Of each
#: site one launch is counted, and more if those of all kernels together take no longer.
BUDGET = 1_500_000_000
#: Seconds behind which what is not counted yet is left out: a machine may be slow, or busy.
COUNTING_SECONDS = 60
#: The same of both in a run which itself takes too long to be executed.
CUT_BUDGET, CUT_SECONDS = 300_000_000, 60
#: Threads that are counted of a launch which takes longer, and candidates that it is made with.
SAMPLED_THREADS, SAMPLED_CANDIDATES = 8192, 12
#: At least so many of a launch that nobody had time to execute even once.
FEWEST_THREADS = 2048
#: If launches of one size differ in work by more than this factor, the sizes do not determine it …
LARGEST_SPREAD = 4
#: … unless several come within it of the largest, and do so much of the work together.
LARGEST_SHARE = 0.8


@dataclass
class _Counting:
    """Runs of the program in which kernels are counted. `made`: per run the launches, by entry."""

    recorded: Sequence[RecordedRun]
    device: DeviceProfile
    progress: Progress
    counted: list[CountedRun] = field(default_factory=list)
    made: list[Mapping[str, Sequence[Experiment]]] = field(default_factory=list)
    #: Runs that took as long as they may, so that launches may be missing.
    late: list[CountedRun] = field(default_factory=list)

    def run(self, counted: CountedRun) -> None:
        self.progress("counting with data", counted.number, len(self.recorded) + 1)
        self.counted.append(counted)
        begin = monotonic()
        self.made.append(counted.made(self.device))
        if 0 < counted.sweep.seconds <= monotonic() - begin:
            self.late.append(counted)

    def run_again(self, variants: Sequence[Subject]) -> None:
        """Count variants in all runs in which their kernels were counted in full.

        These are runs of their own: nothing is lost where one fails, or where time runs out.
        """
        for place, counted in enumerate(self.counted):
            launched = {one.kernel.launched for one in counted.subjects}
            own = tuple(one for one in variants if one.kernel.launched in launched)
            if own and not (counted.run.is_cut or counted.sampled_threads):
                self.progress("counting variants", place, len(self.counted))
                again = replace(
                    counted, subjects=own, is_extra=True, sweep=self._sweep(counted, own)
                )
                self.made[place] = {**self.made[place], **again.made(self.device)}

    def _sweep(self, counted: CountedRun, variants: Sequence[Subject]) -> Sweep:
        """The limits of a run in which variants of some of its kernels are counted."""
        launches = 0
        if counted.sweep.experiments:
            made = self.recorded[counted.number]
            launches = candidate_trials.experiments(variants, made, counted.launches)
        return replace(counted.sweep, experiments=launches, seconds=VARIANT_SECONDS)

    def of(self, subject: Subject) -> list[Sequence[Experiment]]:
        entry = subject.kernel.entry
        return [experiments for of_run in self.made if (experiments := of_run.get(entry))]

    def effort_of_each(self, subject: Subject) -> int:
        """Warp instructions of one candidate in the run that takes longest, about; 1 at least."""
        efforts = (
            sum(one.effort // len(one.by_block) for one in of_run) for of_run in self.of(subject)
        )
        return max(1, *efforts)

    def runs_with(self, subject: Subject) -> list[CountedRun]:
        return [one for one in self.counted if any(subject is its for its in one.subjects)]

    def is_run(self, subject: Subject) -> bool:
        """Were all candidates of a kernel launched in some run?"""
        late = {id(one) for one in self.late}
        in_time = (one for one in self.runs_with(subject) if id(one) not in late)
        return any(not (one.run.is_cut or one.sampled_threads) for one in in_time)


def counted_on_data(
    recorded: Sequence[RecordedRun],
    launched: Sequence[Subject],
    device: DeviceProfile,
    reporter: Reporter,
) -> Iterator[tuple[Subject, list[Measurement]]]:
    """Count kernels; gives each as it was measured, with its measurements. Raises CT411.

    Of each run the launch with most work is used; candidates are compared at the largest of these.
    Candidates that cannot be launched there are left out, and kernels that would take too long.
    Behind all kernels their variants are counted in the same runs.
    """
    kernels = [subject for subject in launched if not subject.kernel.variant]
    counting = _Counting(recorded, device, reporter.progress)
    is_cut = any(made.run.is_cut for made in recorded)
    subjects = [*kernels]
    if not is_cut:  # else it is not known what there is time for: parts of launches are counted
        fewer = candidate_trials.with_fewer_candidates
        subjects = [fewer(subject, recorded, BUDGET) for subject in kernels]
    for planned in _planned(recorded, subjects):
        counting.run(planned)
    if (larger := _larger(counting)) is not None:
        counting.run(larger)
    left = []
    for place, subject in enumerate(subjects):
        if not counting.of(subject) and (is_cut or not counting.is_run(subject)):
            subjects[place] = candidate_trials.thinned(kernels[place], SAMPLED_CANDIDATES)
            left.append(subjects[place])
    for sampled in _sampled(recorded, left):
        counting.run(sampled)
    if counting.counted:
        reporter.progress("counting with data", len(recorded) + 1, len(recorded) + 1)
    done = []
    for before, subject in zip(kernels, subjects, strict=True):
        if (measured := _judged(counting, before, subject, reporter.warn)) is not None:
            done.append(subject)
            yield measured
    yield from _variants(counting, done, [one for one in launched if one.kernel.variant])


def _variants(
    counting: _Counting, kernels: Sequence[Subject], variants: Sequence[Subject]
) -> Iterator[tuple[Subject, list[Measurement]]]:
    """Count the variants of measured kernels; gives those that were counted in as many runs.

    Each has its kernel's candidates, or fewer where these take long: all variants together are
    counted about as long as a run takes that nobody asked for.
    """
    of_kernels = {one.kernel.launched: one for one in kernels}
    pairs = [
        (v, of_kernels[v.kernel.launched]) for v in variants if v.kernel.launched in of_kernels
    ]
    share = LIMIT.work // max(1, len(pairs))
    fewer = [
        candidate_trials.thinned(one, max(FEWEST_CANDIDATES, share // counting.effort_of_each(own)))
        for one, own in pairs
    ]
    counting.run_again(fewer)
    for variant, (_, own) in zip(fewer, pairs, strict=True):
        of_runs = counting.of(variant)
        if len(of_runs) == len(counting.of(own)):
            measured = _measured(variant, _telling(variant, of_runs))
            if measured[0].kernel.remaining():  # else there was no time for it
                yield measured


def _judged(
    counting: _Counting, before: Subject, subject: Subject, warn: Warn
) -> tuple[Subject, list[Measurement]] | None:
    """A kernel as it was measured; None, with a warning, where its launches tell nothing."""
    name, runs_with = subject.kernel.name, counting.runs_with(subject)
    of_runs = counting.of(subject)
    if problem := _problem(subject, of_runs, counting.is_run(subject), counting.recorded[0]):
        warn(Diagnostic.at(Code.DATA_DEPENDENT, kernel=name, reason=problem))
        return None
    telling = _telling(subject, of_runs)
    threads = max((one.sampled_threads for one in runs_with), default=0)
    counted = replace(subject, kernel=replace(subject.kernel, is_sampled=threads > 0))
    measured = _measured(counted, telling)
    if subject is not before or any(one.is_cut for of_run in of_runs for one in of_run):
        count, left_out = len(subject.kernel.candidates()), measured[0].kernel.rejected
        warn(fewer_candidates(name, count - len(left_out), count, "counted"))
    if threads:
        warn(Diagnostic.at(Code.SAMPLED, kernel=name, threads=threads))
    first = counting.recorded[runs_with[0].number if runs_with else 0]
    if remark := unclear_growth(subject, [one.asked for one in telling], first):
        warn(remark)
    return measured


def _telling(subject: Subject, of_runs: Sequence[Sequence[Experiment]]) -> list[Experiment]:
    """The launch of each run with most work; if these have one size, one of each size besides."""
    largest = [max(one, key=lambda e: e.work) for one in of_runs]
    own, blocks = recorded_sizes(subject, largest[0].asked), {*largest[0].by_block}
    if any(recorded_sizes(subject, one.asked) != own for one in largest):
        return largest
    others: dict[Sizes, Experiment] = {}
    for one in sorted(chain.from_iterable(of_runs), key=lambda e: e.work):
        # Fewer threads than the largest block has tell of idle ones only.
        is_filled = prod(one.asked.grid) * prod(one.asked.block) >= LARGEST
        if is_filled and blocks <= {*one.by_block}:
            others[recorded_sizes(subject, one.asked)] = one
    others.pop(own, None)
    return [*others.values(), *largest]


def fewer_candidates(name: str, kept: int, count: int, done: str) -> Diagnostic:
    """The remark that only `kept` of `count` candidates were `done` (tried, counted) in time."""
    return Diagnostic.at(Code.FEWER_COUNTED, kernel=name, kept=kept, count=count, done=done)


def unclear_growth(
    subject: Subject, largest: Sequence[LaunchRecord], first: RecordedRun
) -> Diagnostic | None:
    """A remark on sizes whose influence the largest launches, one per run, do not show."""
    seen = [dict(recorded_sizes(subject, launch)) for launch in largest]
    name = subject.kernel.name
    if not seen[0]:
        return None
    if all(sizes == seen[0] for sizes in seen):
        asked = subject.kernel.as_asked(seen[0].items())
        shown = ", ".join(f"{size} = {value}" for size, value in asked.items())
        return Diagnostic.at(Code.ONE_SIZE, kernel=name, sizes=shown, advice=try_two(first))
    columns = {size: tuple(sizes[size] for sizes in seen) for size in subject.kernel.parameters}
    for size, values in columns.items():
        alike = [other for other, its in columns.items() if its == values]
        if len(alike) > 1 and len(set(values)) > 1 and size == alike[0]:
            names = " and ".join(f"'{one}'" for one in alike)
            return Diagnostic.at(Code.ALIKE_SIZES, kernel=name, names=names)
    return None


def _planned(recorded: Sequence[RecordedRun], subjects: Sequence[Subject]) -> Iterator[CountedRun]:
    for number, made in enumerate(recorded):
        run = made.run
        costs = [(subject, candidate_trials.one_of_each(subject, made)) for subject in subjects]
        most_cost = CUT_BUDGET if run.is_cut else BUDGET
        chosen = [(subject, cost) for subject, cost in costs if 0 < cost <= most_cost]
        if not chosen:
            continue
        most = 1 if run.is_cut else RECORDED_LAUNCHES
        kernels, effort = tuple(s for s, _ in chosen), sum(cost for _, cost in chosen)
        limit = max(1, min(most, BUDGET // effort))
        seconds = CUT_SECONDS if run.is_cut else COUNTING_SECONDS
        sweep = Sweep(limit * effort, candidate_trials.experiments(kernels, made, limit), seconds)
        yield CountedRun(number, run, kernels, limit, sweep=sweep)


def _sampled(recorded: Sequence[RecordedRun], subjects: Sequence[Subject]) -> Iterator[CountedRun]:
    """The smallest and the largest run, in which a part of each launch is counted.

    The program still gets all results: behind its candidates each launch is made once in full.
    """
    launching = [
        (number, made, kernels)
        for number, made in enumerate(recorded)
        if made.run.is_cut or not made.run.launches_only
        if (kernels := tuple(s for s in subjects if s.launches_in(made.launches)))
    ]
    for number, made, kernels in launching[:1] + launching[1:][-1:]:
        sweep = Sweep(BUDGET, candidate_trials.experiments(kernels, made, 1), CUT_SECONDS)
        executed = replace(made.run, launches_only=False)
        # Of a launch that took too long even once there is much to do.
        late = [r for s in kernels for r in s.launches_in(made.launches) if not r.is_executed]
        share = max((prod(r.grid) * prod(r.block) // SAMPLED_CANDIDATES for r in late), default=0)
        threads = max(FEWEST_THREADS, min(SAMPLED_THREADS, share)) if late else SAMPLED_THREADS
        yield CountedRun(number, executed, kernels, 1, sweep=sweep, sampled_threads=threads)


def _larger(counting: _Counting) -> CountedRun | None:
    planned = counting.counted
    if any(counted.run.is_cut for counted in planned):
        return None
    first = planned[0].subjects if planned else ()
    in_all = [subject for subject in first if len(counting.of(subject)) == len(planned)]
    costs = []
    for counted, of_run in zip(planned, counting.made, strict=True):
        efforts = (one.effort for s in in_all for one in of_run[s.kernel.entry])
        launches = counting.recorded[counted.number].launches
        reached = {(p.base, p.size) for r in launches for p in r.pointers}
        costs.append(Cost(sum(efforts), sum(size for _, size in reached)))
    run = larger_run([counted.run for counted in planned], costs)
    if run is None:
        return None
    return CountedRun(len(counting.recorded), run, tuple(in_all), RECORDED_LAUNCHES, is_extra=True)


def _measured(subject: Subject, largest: Sequence[Experiment]) -> tuple[Subject, list[Measurement]]:
    smaller, most = smaller_and_largest(largest, lambda one: one.work)
    missing = {*subject.kernel.candidates()} - (smaller.by_block.keys() & most.by_block.keys())
    subject = subject.without(missing)
    kernel = subject.kernel
    # Launches of other sizes tell what the work depends on where the runs vary several sizes.
    by_sizes = {recorded_sizes(subject, one.asked): one for one in (*largest, smaller, most)}
    pairs = ((one, _counted_block(kernel, one)) for one in by_sizes.values())
    measured = [
        _measurement(subject, Purpose.COUNTS, one, block)
        for one, block in pairs
        if block in one.by_block
    ]
    for purpose, experiment in ((Purpose.SMALLER, smaller), (Purpose.FEATURES, most)):
        measured += [_measurement(subject, purpose, experiment, b) for b in experiment.by_block]
    return subject, list({measurement.key: measurement for measurement in measured}.values())


def _counted_block(kernel: MeasuredKernel, launch: Experiment) -> Block:
    """The block with which totals are counted.

    Where a thread does several ids, one without work tries all of them: few threads may be so.
    """
    if kernel.keeps_grid:
        return count_block(kernel)
    if kernel.coarsen == (1, 1, 1):
        return kernel.original
    return min(launch.by_block, key=lambda block: launch.by_block[block].thread_instructions)


def _problem(
    subject: Subject, of_runs: Sequence[Sequence[Experiment]], is_run: bool, first: RecordedRun
) -> str:
    """Why no model can be made of these launches, and what helps; or empty.

    `is_run`: all candidates were run.
    """
    if not of_runs:
        count = len({*candidate_trials.fitting(subject.kernel), subject.kernel.original})
        if len(subject.kernel.candidates()) == 1:
            return f"it keeps its block, and its copies are not counted on data. {NO_REMEDY}"
        if count == 1 or is_run:
            return f"no other block fits its launches and gives the same. {NO_REMEDY}"
        smaller = try_smaller(first)
        return f"to run it with {count} blocks takes too long; choose smaller sizes{smaller}"
    for of_run in of_runs:
        works: dict[object, list[int]] = {}
        for one in of_run:
            size = one.asked.grid, recorded_sizes(subject, one.asked)
            works.setdefault(size, []).append(one.work)
        if not all(map(_is_told_by_size, works.values())):
            much = f"more than {LARGEST_SPREAD} times as much as others of the same size"
            return f"some launches do {much}, and a model goes by sizes. {NO_REMEDY}"
    return ""


def _is_told_by_size(works: Sequence[int]) -> bool:
    """Do all launches of one size do similar work, or at least those that do most of it?"""
    alike = [work for work in works if LARGEST_SPREAD * work >= max(works)]
    is_most = len(alike) > 1 and sum(alike) >= LARGEST_SHARE * sum(works)
    return is_most or len(alike) == len(works)


def _measurement(subject: Subject, purpose: str, launch: Experiment, block: Block) -> Measurement:
    sizes = recorded_sizes(subject, launch.asked)
    return logged_measurement(subject.kernel, subject.code, launch.by_block[block], purpose, sizes)
