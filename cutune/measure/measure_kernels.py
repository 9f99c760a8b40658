"""Kernels measured, for their models: launches recorded, candidates tried, work counted.

Takes an instrumented program and its runs, gives measurements, which it adds to workspaces. It is
the work of the stage `collect` (`tuning/stages`); parameters are measured elsewhere
(`search/measure_parameters`).

Kernels whose work does not depend on data are replayed without data; the others are counted while
the program runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn
from cutune.core.progress import Reporter, ignore
from cutune.core.workspace import Workspace, append_lines, read_lines
from cutune.emulator.launch_log import LaunchRecord
from cutune.measure import candidate_trials
from cutune.measure.candidate_trials import LAUNCHES, CandidateTrial, Trials
from cutune.measure.counted_on_data import counted_on_data, fewer_candidates, unclear_growth
from cutune.measure.emulated_runs import Sweep, races_of_own_blocks, record_launches, try_candidates
from cutune.measure.program_runs import RecordedRun, Run
from cutune.measure.replay import replayed_kernel
from cutune.measure.replay.replayed_kernel import CountedKernel
from cutune.measure.replay.subjects import Subject, subjects
from cutune.measure.resources import Resources
from cutune.model.measurement.measurement import (
    KERNEL_SCHEMA,
    MEASUREMENT_SCHEMA,
    MeasuredKernel,
    Measurement,
    Measurements,
)
from cutune.model.measurement.size_relations import with_few_bounds_fixed
from cutune.model.measurement.sweep import OTHER_SHARED
from cutune.source.program import Program, SiteNumbers
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import Block, shape
from cutune.toolchain.kernel_names import demangled

#: Seconds in which candidates are tried that are proven, and those that an annotation asserts.
TRIAL_SECONDS, ASSERTED_SECONDS = 30, 60
#: Thread blocks that a message names.
MOST_LISTED = 8
#: What an annotation that is not true has to become; where there is none, nothing has to be done.
NARROW = ". Narrow block(...) in its annotation to those for which they stay the same"
LEFT = ". There is nothing to do: its own block, and those not named, are right"


@dataclass(frozen=True)
class Collected:
    """A kernel that was measured now. `measurements` may hold those of other kernels, too."""

    kernel: MeasuredKernel
    measurements: Measurements


@dataclass(frozen=True)
class Part:
    """One source of the instrumented program, which was read in `folder`.

    `numbers`: those that this gives its launch sites.
    """

    program: Program
    numbers: SiteNumbers
    resources: Resources
    workspace: Workspace
    folder: str = os.curdir

    def append(self, kernel: MeasuredKernel, measured: Measurements) -> None:
        lines = kernel.to_json(), *(one.to_json() for one in measured)
        append_lines(self.workspace.measurements, lines)


def measure_kernels(
    reporter: Reporter,
    parts: Sequence[Part],
    runs: Sequence[Run],
    device: DeviceProfile,
    candidate_set: str,
    training: bool = False,
) -> list[list[Collected]]:
    """Measure the kernels of an instrumented program; add to the workspace of each part.

    Gives the kernels that were measured, part by part.
    """
    recorded = record_launches(runs, device, reporter.progress, reporter.warn)
    collected = []
    for part in parts:
        earlier = part.workspace.measurements.exists()
        known = read_measurements(part.workspace, reporter.warn)[1] if earlier else []
        said = _naming_places(part.program, reporter.of_folder(part.folder))
        measuring = _Measuring(said, part, recorded, device, known, training)
        about = part.numbers, part.resources, candidate_set, said.warn
        is_cut = any(made.run.is_cut for made in recorded)
        launched = subjects(part.program, measuring.launches, *about, is_cut, part.folder)
        measured, left = measuring.replay(measuring.tried(launched) if launched else [])
        collected.append(measured + measuring.count_on_data(left))
    return collected


@dataclass(frozen=True)
class _Measuring:
    """A part while its kernels are measured. `known`: measurements of earlier calls."""

    reporter: Reporter
    part: Part
    recorded: Sequence[RecordedRun]
    device: DeviceProfile
    known: Measurements
    training: bool

    @property
    def launches(self) -> list[LaunchRecord]:
        return [launch for made in self.recorded for launch in made.launches]

    def replay(self, launched: Sequence[Subject]) -> tuple[list[Collected], list[Subject]]:
        """Replay the kernels that can be; returns these, and those that must be counted on data."""
        done, left = [], list[Subject]()
        for one in launched:
            subject = _as_counted(one, left)
            replayed = subject if subject.kernel.on_data else self._replayed(subject)
            if isinstance(replayed, Collected):
                done.append(replace(replayed, measurements=[*self.known, *replayed.measurements]))
            elif replayed is not None:
                left.append(replayed)
        return done, left

    def _replayed(self, subject: Subject) -> Collected | Subject | None:
        """A replayed kernel, or one to be counted on data; None where it is left out."""
        name, is_variant = subject.kernel.name, bool(subject.kernel.variant)
        try:
            counted = self._counted(subject)
            if counted.problem and is_variant:
                return None
            if at_its_sizes := self._at_own_sizes(subject, counted.problem):
                return at_its_sizes
            if counted.problem and (subject.record.is_executed or counted.functions is None):
                return self._on_data(subject, counted.problem)
            kernel = counted.subject.kernel
            self.part.append(kernel, counted.new)
            about = self.known, self.reporter.progress, self.training
            traced = list(replayed_kernel.collect_kernel(counted, *about))
            append_lines(self.part.workspace.measurements, (m.to_json() for m in traced))
            return Collected(kernel, [*counted.new, *traced])
        except CutuneError as error:
            if error.diagnostic.code is Code.UNWRITABLE_FILE:
                raise
            # One kernel that cannot be replayed does not stop the others.
            if is_variant:
                return None
            reason = error.diagnostic.message
            sizes = f"#pragma cutune kernel {name} data(...)"
            why = f"{reason}; if only some of its integers are sizes, name them: {sizes}"
            if subject.record.is_executed:
                return self._on_data(subject, why)
            at_its_sizes = self._at_own_sizes(subject, why)
            if at_its_sizes is None:
                self._warn(Code.NOT_REPLAYED, subject, reason=reason)
            return at_its_sizes

    def _at_own_sizes(self, subject: Subject, problem: str) -> Collected | None:
        """Replay a kernel at the sizes of its launches, which were too long to be executed.

        None: other sizes are no problem, its launches are executed, or they tell no model either.
        """
        if not problem or subject.record.is_executed:
            return None
        counted = replayed_kernel.at_own_sizes(subject, self.launches)
        if counted is None:
            return None
        subject = self._on_data(counted.subject, problem)
        if remark := unclear_growth(subject, counted.launches, self.recorded[0]):
            self.reporter.warn(remark)
        self.part.append(subject.kernel, counted.measured)
        return Collected(subject.kernel, counted.measured)

    def _counted(self, subject: Subject) -> CountedKernel:
        """Count a kernel; one that fails with large values of loop bounds, with small ones."""
        about = self.known, self.reporter.progress
        try:
            return replayed_kernel.counted_kernel(subject, *about)
        except CutuneError:
            for held in with_few_bounds_fixed(subject.kernel):
                with suppress(CutuneError):
                    return replayed_kernel.counted_kernel(replace(subject, kernel=held), *about)
            raise

    def _on_data(self, subject: Subject, reason: str) -> Subject:
        kernel = subject.kernel
        self._warn(Code.COUNTED_ON_DATA, subject, reason=reason)
        return replace(subject, kernel=replace(kernel, on_data=True))

    def count_on_data(self, left: Sequence[Subject]) -> list[Collected]:
        done = []
        counted = counted_on_data(self.recorded, left, self.device, self.reporter)
        try:
            for subject, measured in counted:
                self.part.append(subject.kernel, measured)
                done.append(Collected(subject.kernel, [*self.known, *measured]))
        except CutuneError as error:
            if error.diagnostic.code is not Code.RUN_FAILED:
                raise
            # A candidate breaks the program, which at the smallest size it did not.
            for subject in left:
                self._warn(Code.NOT_REPLAYED, subject, reason=error.diagnostic.message)
        return done

    def tried(self, launched: Sequence[Subject]) -> list[Subject]:
        """Try the candidates; drop those whose results differ from the original's, with a warning.

        Where there is no time, or no execution, only what an annotation asserts is tried.
        """
        first, run = self.recorded[0], self.recorded[0].run
        launched = [candidate_trials.with_fewer_trials(subject, first) for subject in launched]
        tried, untried = candidate_trials.affordable(launched, first)
        for subject in untried:
            if run.executes_all and not subject.kernel.variant:
                self._warn(Code.NOT_TRIED, subject)
        chosen = [subject.kernel for subject in tried]
        if not chosen:
            return launched
        self.reporter.progress("trying candidates", 0, 1)
        # What an annotation asserts is used only if it was tried.
        is_asserted = any(kernel.asserted for kernel in chosen)
        seconds = ASSERTED_SECONDS if is_asserted else TRIAL_SECONDS
        sweep = Sweep.of_trials(tried, first, seconds)
        trials = try_candidates(run, chosen, self.part.numbers, self.device, sweep)
        trials = self._asserted_elsewhere(tried, trials)
        self.reporter.progress("trying candidates", 1, 1)
        for kernel in chosen:
            if not kernel.variant:
                for said in _remarks(kernel, trials[kernel.entry], run):
                    self.reporter.warn(said)
        self._tell_differing(chosen, trials)
        rejected = {entry: trial.rejected for entry, trial in trials.items()}
        judged = [one.without(rejected.get(one.kernel.entry, ())) for one in launched]
        # A variant may go wrong where the kernel itself does, and nowhere else.
        wrong = {s.kernel.launched: {*s.kernel.rejected} for s in judged if not s.kernel.variant}
        return [s for s in judged if {*s.kernel.rejected} <= wrong.get(s.kernel.launched, set())]

    def _tell_differing(self, chosen: Sequence[MeasuredKernel], trials: Trials) -> None:
        wrong = (one for one in chosen if trials[one.entry].differing)
        differing = [one for one in wrong if not _is_told(one, chosen, trials)]
        races = races_of_own_blocks(self.recorded[0].run, self.device) if differing else {}
        for kernel, name in zip(differing, demangled([k.entry for k in differing]), strict=True):
            trial, definition = trials[kernel.entry], self.part.program.kernel(kernel.name)
            shown = races[name].diagnostic() if name in races else None
            code = Code.RESULTS_DIFFER if shown is None else Code.RACY_ORIGINAL
            said = Diagnostic.at(
                code,
                kernel=kernel.name,
                blocks=_listed(trial.differing) + _of_copy(kernel),
                difference=trial.difference(definition),
                advice=NARROW if definition is not None and definition.asserted else LEFT,
            )
            if shown is not None:
                said = replace(said, source=shown.source, span=shown.span, notes=shown.notes)
            self.reporter.warn(said)

    def _asserted_elsewhere(self, tried: Sequence[Subject], trials: Trials) -> Trials:
        """Try candidates that an annotation asserts in the other runs, too.

        In a small run a launch may have too few blocks to tell right results from wrong ones. The
        longest runs are tried first, within the budget; one that fails shows nothing.
        """
        asserted = [subject for subject in tried if subject.kernel.asserted]
        joined, left = dict(trials), candidate_trials.TRIAL_BUDGET if asserted else 0
        executed = (made for made in self.recorded[1:] if made.run.executes_all)
        others = [(candidate_trials.effort(asserted, made), made) for made in executed]
        kernels = [subject.kernel for subject in asserted]
        for cost, made in sorted(others, key=lambda other: other[0], reverse=True):
            if not 0 < cost <= left:
                continue
            left -= cost
            count = candidate_trials.experiments(asserted, made, LAUNCHES)
            sweep = Sweep(cost, count, TRIAL_SECONDS)
            with suppress(CutuneError):
                shown = try_candidates(made.run, kernels, self.part.numbers, self.device, sweep)
                joined |= {entry: joined[entry].joined(trial) for entry, trial in shown.items()}
        return joined

    def _warn(self, code: Code, subject: Subject, **about: Any) -> None:
        self.reporter.warn(Diagnostic.at(code, kernel=subject.kernel.name, **about))


def _as_counted(subject: Subject, on_data: Sequence[Subject]) -> Subject:
    """A variant is counted on data where its kernel is; what trials have shown of it is not."""
    kernel = subject.kernel
    if kernel.is_tile or all(one.kernel.launched != kernel.launched for one in on_data):
        return subject
    return replace(subject, kernel=replace(kernel, on_data=True))


def _is_told(kernel: MeasuredKernel, tried: Sequence[MeasuredKernel], trials: Trials) -> bool:
    """Is this a variant, and does a warning about its kernel name the same blocks?"""
    differing = {*trials[kernel.entry].differing}
    return bool(kernel.variant) and any(
        differing <= {*trials[other.entry].differing}
        for other in tried
        if other.launched == kernel.launched and not other.variant
    )


def _listed(blocks: Sequence[Block]) -> str:
    """`block 32`, or `blocks 32, 64, 16x16 and 20 more`"""
    shown = ", ".join(shape(block) for block in blocks[:MOST_LISTED])
    more = f" and {len(blocks) - MOST_LISTED} more" if len(blocks) > MOST_LISTED else ""
    return f"block{'s' * (len(blocks) > 1)} {shown}{more}"


def _of_copy(kernel: MeasuredKernel) -> str:
    return f" of its variant '{kernel.variant}'" if kernel.variant else ""


def _naming_places(program: Program, reporter: Reporter) -> Reporter:
    """The reporter, with the place of the kernel for messages that name one and have none."""

    def warn(said: Diagnostic) -> None:
        kernel = program.kernel(said.about) if said.source is None else None
        if kernel is not None:
            said = replace(said, source=kernel.source, span=kernel.span)
        reporter.warn(said)

    return replace(reporter, warn=warn)


def _remarks(kernel: MeasuredKernel, trial: CandidateTrial, run: Run) -> Iterator[Diagnostic]:
    if not kernel.asserted:
        if trial.unreached and not run.is_cut:
            yield Diagnostic.at(Code.NOT_TRIED, kernel=kernel.name)
        return
    late = {*kernel.rejected, *trial.unreached} - {kernel.original}
    refused = {*trial.untried} - late
    if refused and trial.refusal == OTHER_SHARED:
        bytes_ = kernel.dynamic_shared_bytes
        yield Diagnostic.at(Code.OTHER_SHARED, kernel=kernel.name, bytes=bytes_)
    elif refused:
        code, count = Code.CANDIDATES_UNTRIED, len(refused)
        named = [shape(block) for block in sorted(refused)[:MOST_LISTED]]
        blocks = ", ".join([*named, *(["..."] if count > MOST_LISTED else [])])
        yield Diagnostic.at(code, kernel=kernel.name, count=count, blocks=blocks)
    if late:
        count = len(kernel.candidates())
        yield fewer_candidates(kernel.name, count - len(late), count, "tried")


def read_measurements(
    workspace: Workspace, warn: Warn
) -> tuple[list[MeasuredKernel], list[Measurement]]:
    """All kernels and measurements of a workspace. Raises CT009 when nothing was."""
    path = workspace.measurements
    command = "cutune tune FILE (or its step cutune collect)"
    kernels = read_lines(path, KERNEL_SCHEMA, MeasuredKernel.from_json, command, warn)
    # Torn lines have been reported then.
    measured = read_lines(path, MEASUREMENT_SCHEMA, Measurement.from_json, command, ignore)
    return list(kernels), list(measured)
