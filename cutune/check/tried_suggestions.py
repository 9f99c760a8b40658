"""Suggested annotations, tried. Takes suggestions and ways to run the program, gives what held.

All annotations are put before the sources, in a header that is included first. Then the program
runs on the emulated device at each size. Its launches are made with their own blocks and with some
of those that are proposed, on the same contents of memory, and results are compared as `tune` does
it. At the size with the most work, work is counted: instructions of warps, and accesses of threads
to global memory.

An annotation is not proposed where results differ. Blocks that do more work are taken out of it; it
is not proposed where none but the program's own is left.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cutune.core.diagnostics import Diagnostic
from cutune.core.progress import Reporter
from cutune.core.temporary import temporary_folder
from cutune.core.workspace import make_folder
from cutune.emulator.launch_log import LaunchRecord
from cutune.emulator.program_builds import build_numbered
from cutune.measure.candidate_trials import (
    LAUNCHES,
    CandidateTrial,
    effort,
    thinned,
    with_fewer_trials,
)
from cutune.measure.emulated_runs import (
    CountedRun,
    Experiment,
    Sweep,
    record_launches,
    try_candidates,
)
from cutune.measure.program_runs import RecordedRun, Run, RunPlan
from cutune.measure.replay.subjects import Subject, subjects
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.analysis.suggestions import Suggestion
from cutune.source.program import Kernel, Program, SiteNumbers, Verdict
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import Block, shape

#: Work, as a multiple of that with the program's own block, up to which a block is proposed.
#: A grid that is rounded up, and the last step of each block, add some percent at sizes of
#: thousands of threads; threads that are idle or do again what others did add multiples.
MOST_WORK = 1.25
#: Blocks that are tried of each kernel, its own among them.
BLOCKS = 8
#: Seconds for the trials of one run.
SECONDS = 30
#: Spaces of accesses that lead, or may lead, to global memory.
_GLOBAL = frozenset({"global", "generic"})
_BLOCK = re.compile(r"\bblock\(x: [^)]*\)")


def tried(
    analyzer: Analyzer,
    paths: Sequence[str],
    found: Sequence[Suggestion],
    plan: RunPlan,
    device: DeviceProfile,
) -> list[Suggestion]:
    """Try the suggestions that are annotations; others stay as they are.

    `paths`: all sources of the program. Raises what building and running it raises.
    """
    wanted = [one for one in found if one.pragma is not None]
    if not wanted:
        return list(found)
    with temporary_folder() as folder:
        header = Path(folder) / "suggested.h"
        header.write_text("".join(f"{one.pragma}\n" for one in wanted), encoding="latin-1")
        toolchain = analyzer.toolchain.with_flags(("-include", str(header)))
        said: list[Diagnostic] = []
        reporter = Reporter(said.append, analyzer.reporter.progress)
        annotated = replace(analyzer, toolchain=toolchain, reporter=reporter, with_variants=False)
        trying = _Trying(annotated, plan, device, Path(folder) / "program", said)
        shown = trying.run(annotated.load_all(paths, require_nvcc=True), wanted)
    return [shown[one.kernel].judged(one) if one.pragma is not None else one for one in found]


@dataclass(frozen=True)
class Judged:
    """The trials of one kernel with the block `own`; texts are empty where there is nothing to say.

    `problem`: why it could not be tried. `obstacle`: why its launches stay refused. `difference`: a
    block and a size with other results. `work`: of each block, as a multiple of that with `own`.
    """

    problem: str = ""
    obstacle: str = ""
    own: Block = (1, 1, 1)
    sizes: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    difference: str = ""
    work: Mapping[Block, float] | None = None

    def judged(self, one: Suggestion) -> Suggestion:
        if self.problem:
            return replace(one, tried=f"It could not be tried: {self.problem}.")
        if self.obstacle:
            return _not_proposed(one, f"no launch may be tuned with it ({self.obstacle})")
        if self.difference:
            return _not_proposed(one, self.difference)
        work = {block: times for block, times in (self.work or {}).items() if block != self.own}
        if not work:
            return replace(one, tried=self._said("; its work could not be counted"))
        cheap = [block for block, times in work.items() if times <= MOST_WORK]
        least = min(work, key=lambda block: work[block])
        if not cheap:
            more = f"block {shape(least)}, the best of them, does {work[least]:.2f} times the work"
            return _not_proposed(one, f"{more} of the program's own block {self._at}")
        assert one.pragma is not None, "only annotations are tried"
        if len(cheap) == len(work) or not _BLOCK.search(one.pragma):
            most = max(work[block] for block in cheap)
            return replace(one, tried=self._said(f", and at most {most:.2f} times the work"))
        return self._narrowed(one, one.pragma, work)

    def _narrowed(self, one: Suggestion, pragma: str, work: Mapping[Block, float]) -> Suggestion:
        kept = narrowed(self.own[0], {block[0]: times for block, times in work.items()})
        worst = max(work, key=lambda block: work[block])
        left_out = f"block {shape(worst)} does {work[worst]:.2f} times the work"
        if len(kept) == 1:
            own = f"of the program's own block {self._at}"
            return _not_proposed(one, f"{left_out} {own}, and its neighbours do more, too")
        is_list = "," in _BLOCK.findall(pragma)[0]
        widths = ", ".join(map(str, kept)) if is_list else f"{kept[0]}..{kept[-1]}"
        said = self._said(f", and at most {MOST_WORK} times the work")
        said += f" Others were left out: {left_out} of the program's own."
        return replace(one, pragma=_BLOCK.sub(f"block(x: {widths})", pragma), tried=said)

    def _said(self, what: str) -> str:
        blocks = ", ".join(map(shape, self.blocks))
        noun = "blocks" if len(self.blocks) > 1 else "block"
        return f"Tried on the emulated device {self._at}, {noun} {blocks}: the same results{what}."

    @property
    def _at(self) -> str:
        return f"with {' and '.join(self.sizes)}"


def _not_proposed(one: Suggestion, reason: str) -> Suggestion:
    text = f"`{one.pragma}` was tried on the emulated device and is not proposed: {reason}."
    return replace(one, pragma=None, tried=None, text=text)


def narrowed(own: int, work: Mapping[int, float]) -> list[int]:
    """The widths next to the program's own, up and down, until one does more work."""
    kept = [own]
    for side in (sorted(w for w in work if w > own), sorted(w for w in work if w < own)[::-1]):
        for width in side:
            if work[width] > MOST_WORK:
                break
            kept.append(width)
    return sorted(kept)


@dataclass(frozen=True)
class _Trying:
    """One program that is tried. `said`: what is said of it meanwhile, for nobody else."""

    analyzer: Analyzer
    plan: RunPlan
    device: DeviceProfile
    folder: Path
    said: Sequence[Diagnostic]

    def run(
        self, programs: Sequence[Program], wanted: Sequence[Suggestion]
    ) -> Mapping[str, Judged]:
        names = {one.kernel for one in wanted}
        obstacles = {name: _obstacle(programs, name) for name in names}
        shown = {name: Judged(obstacle=reason) for name, reason in obstacles.items() if reason}
        left = names - {*shown}
        if not left:
            return shown
        make_folder(self.folder)
        built, numbers = build_numbered(self.analyzer, programs, self.folder)
        runs, reporter = self.plan.runs(built.binary), self.analyzer.reporter
        recorded = record_launches(runs, self.device, reporter.progress, reporter.warn)
        executed = [made for made in recorded if made.run.executes_all]
        for program, its in zip(programs, numbers, strict=True):
            shown |= self._of_source(program, its, recorded, executed, left - {*shown})
        for name in left - {*shown}:
            about = (one.message for one in self.said if f"'{name}'" in one.message)
            shown[name] = Judged(problem=next(about, "these runs do not launch it"))
        return shown

    def _of_source(
        self,
        program: Program,
        numbers: SiteNumbers,
        recorded: Sequence[RecordedRun],
        executed: Sequence[RecordedRun],
        names: set[str],
    ) -> Mapping[str, Judged]:
        launches = [launch for made in recorded for launch in made.launches]
        warn, which = self.analyzer.reporter.warn, self.plan.candidate_set
        every = subjects(program, launches, numbers, {}, which, warn)
        wanted = [one for one in every if one.kernel.name in names]
        if not wanted:
            return {}
        if not executed:
            reason = "the runs take too long on the emulated device; smaller sizes do not"
            return {one.kernel.name: Judged(problem=reason) for one in wanted}
        tried = [thinned(with_fewer_trials(one, executed[0]), BLOCKS) for one in wanted]
        trials = [(made.run, self._trials(made, tried, numbers)) for made in executed]
        largest = max(executed, key=lambda made: effort(tried, made))
        # A program that is ended behind its last experiment does not log all of that.
        sweep = replace(Sweep.of_trials(tried, largest, SECONDS), experiments=0)
        counting = CountedRun(0, largest.run, tuple(tried), LAUNCHES, is_extra=True, sweep=sweep)
        counted = counting.made(self.device)
        shown: dict[str, Judged] = {}
        for one in tried:
            kernel, entry = program.kernel(one.kernel.name), one.kernel.entry
            of_it = [(run, found[entry]) for run, found in trials if entry in found]
            its = _shown(one, kernel, of_it, counted.get(entry, []))
            before = shown.get(one.kernel.name)
            shown[one.kernel.name] = its if before is None else _joined(before, its)
        return shown

    def _trials(
        self, made: RecordedRun, tried: Sequence[Subject], numbers: SiteNumbers
    ) -> Mapping[str, CandidateTrial]:
        kernels, sweep = [one.kernel for one in tried], Sweep.of_trials(tried, made, SECONDS)
        return try_candidates(made.run, kernels, numbers, self.device, sweep)


def _obstacle(programs: Sequence[Program], name: str) -> str:
    """Why the annotation makes no launch of a kernel tunable; empty: it does."""
    sites = [site for program in programs for site in program.launches if site.kernel == name]
    if any(site.verdict is Verdict.TUNABLE for site in sites):
        return ""
    return next((site.reason for site in sites if site.reason), "it has no launch here")


def _shown(
    subject: Subject,
    kernel: Kernel | None,
    trials: Sequence[tuple[Run, CandidateTrial]],
    counted: Sequence[Experiment],
) -> Judged:
    measured = subject.kernel
    compared = {block for _, trial in trials for block in trial.compared}
    blocks = tuple(sorted(compared - {measured.original}))
    if not blocks and not any(trial.differing for _, trial in trials):
        return Judged(problem="no other block fits its launches in these runs")
    sizes, said = tuple(_size(run) for run, _ in trials), ""
    for run, trial in trials:
        if trial.differing and not said:
            first = f"block {shape(trial.differing[0])}"
            said = f"results change with {first} at {_size(run)} ({trial.difference(kernel)})"
    work = _work(subject, counted, blocks)
    return Judged(own=measured.original, sizes=sizes, blocks=blocks, difference=said, work=work)


def _size(run: Run) -> str:
    return ", ".join(f"{name}={value}" for name, value in run.values.items()) or f"`{run.shown}`"


def _joined(one: Judged, other: Judged) -> Judged:
    if one.problem or other.problem:
        return one if one.problem else other
    first, second = one.work or {}, other.work or {}
    both = {block: max(first[block], second[block]) for block in first if block in second}
    return replace(one, difference=one.difference or other.difference, work=both)


def _work(
    subject: Subject, counted: Sequence[Experiment], blocks: Sequence[Block]
) -> Mapping[Block, float]:
    found = {}
    for block in blocks:
        both = [(e.asked, e.by_block[block]) for e in counted if block in e.by_block]
        if both:
            totals = (_totals(subject, records) for records in zip(*both, strict=True))
            pairs = zip(*totals, strict=True)
            found[block] = max(after / before for before, after in pairs if before)
    return found


def _totals(subject: Subject, records: Sequence[LaunchRecord]) -> tuple[int, int]:
    """Instructions of warps, and accesses of threads to global memory."""
    spaces = dict(zip(subject.code.site_indices, subject.code.sites, strict=True))
    lanes = (s["lanes"] for r in records for s in r.sites if spaces[s["site"]].space in _GLOBAL)
    return sum(record.warp_instructions for record in records), sum(lanes)
