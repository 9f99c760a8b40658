"""The verbs as functions on files: read, one function, write.

`Session` holds what all of them share: where nvcc is, its flags, where messages go.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from cutune.analyze import analyze
from cutune.collect import (
    Run,
    Subject,
    collect_kernel,
    plan_runs,
    record_launches,
    subjects,
    try_candidates,
)
from cutune.device import DeviceProfile
from cutune.diagnostics import Code, CutuneError, Diagnostic
from cutune.emit_selection import emit_selection
from cutune.emulator.link import own_build_flags
from cutune.fit import fit_model
from cutune.fitted import FittedModel
from cutune.measure import (
    KERNEL_SCHEMA,
    MEASUREMENT_SCHEMA,
    MeasuredKernel,
    Measurement,
    Origin,
    by_entry,
)
from cutune.models_file import read_models, write_models
from cutune.passes import PASSES, AttachStaticCounters, InstrumentLaunches, ReplaceLaunches
from cutune.pipeline import Pass, TranslationUnit, run_passes
from cutune.program import Program
from cutune.source import Source
from cutune.syntax import parse
from cutune.toolchain import INCLUDE_DIRECTORY, Nvcc, find_nvcc
from cutune.workspace import Workspace, append_lines, read_lines, write_text

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Session:
    """What every verb needs besides its own input."""

    nvcc_option: str | None = None
    flags: tuple[str, ...] = ()
    warn: Callable[[Diagnostic], None] = field(default=lambda diagnostic: None)
    progress: Progress = field(default=lambda what, done, total: None)

    @cached_property
    def nvcc(self) -> Nvcc:
        """The compiler.

        Raises:
            CutuneError: CT003 when there is none.
        """
        return find_nvcc(self.nvcc_option)

    def report(self, diagnostics: Sequence[Diagnostic]) -> None:
        """Show messages; the first error ends the verb.

        Raises:
            CutuneError: the first error among them, after the others were shown.
        """
        errors = [diagnostic for diagnostic in diagnostics if diagnostic.is_error]
        for diagnostic in diagnostics:
            if diagnostic not in errors[:1]:
                self.warn(diagnostic)
        if errors:
            raise CutuneError(errors[0])

    # ---- source to source

    def load(self, path: str, require_nvcc: bool = False) -> Program:
        """Read and analyze one file; where nvcc cannot, macros are expanded by their text alone."""
        source = Source.read(path)
        if "cutune_launch cutune_" in source.text:
            raise CutuneError(Diagnostic.at(Code.ALREADY_TUNED, None, path=path))
        syntax = parse(source)
        if any(diagnostic.is_error for diagnostic in syntax.diagnostics):
            self.report(syntax.diagnostics)
        expanded = None
        try:
            expanded = self.nvcc.preprocess(path, self.compile_flags(path))
        except CutuneError as error:
            if require_nvcc or self.nvcc_option is not None:
                raise
            if error.diagnostic.code is not Code.MISSING_NVCC:
                message = error.diagnostic.message
                self.warn(Diagnostic.at(Code.NOT_PREPROCESSED, source, message=message))
        program = analyze(syntax, expanded)
        self.report(program.diagnostics)
        return program

    def compile_flags(self, path: str) -> list[str]:
        """The user's flags; quoted includes are found beside the original file."""
        return [*self.flags, f"-I{Path(path).resolve().parent}"]

    def instrument(
        self,
        program: Program,
        passes: Sequence[Pass] = (InstrumentLaunches(),),
        print_after: str | None = None,
    ) -> Source:
        """The source with hooks at its tunable launches, or what other passes make of it."""

        def after(step: Pass, unit: TranslationUnit) -> None:
            if step.name == print_after:
                print(unit.rewritten().text, file=sys.stderr)

        unit = run_passes(passes, TranslationUnit(program), after)
        self.report(unit.diagnostics)
        return unit.rewritten()

    def build(self, source: Source, original: str, output: Path, extra: Sequence[str]) -> Path:
        """Write a rewritten source beside its program and compile that."""
        text = output.with_suffix(".cu") if output.suffix != ".cu" else output
        write_text(text, source.text)
        binary = text.with_suffix("")
        self.nvcc.check(
            [
                *self.compile_flags(original),
                f"-I{INCLUDE_DIRECTORY}",
                *extra,
                str(text),
                "-o",
                str(binary),
            ]
        )
        return binary

    def build_emulated(self, path: str, folder: Path) -> Path:
        """Compile a program as it is, for the emulated device."""
        binary = folder / Path(path).stem
        flags = [*self.compile_flags(path), "-O2", *own_build_flags(self.nvcc)]
        self.nvcc.check([*flags, path, "-o", str(binary)])
        return binary

    # ---- measuring

    def collect(
        self,
        path: str,
        template: str,
        vary: Mapping[str, Sequence[str]],
        device: DeviceProfile,
        workspace: Workspace,
        candidate_set: str,
    ) -> list[MeasuredKernel]:
        """Instrument, compile, run on the emulated device, replay; append to the workspace."""
        program = self.load(path, require_nvcc=True)
        if not program.tunable_launches:
            raise CutuneError(Diagnostic.at(Code.NOTHING_TUNABLE, None, path=path))
        workspace.create()
        stem = Path(path).stem
        self.progress("compiling", 0, 1)
        binary = self.build(
            self.instrument(program),
            path,
            workspace.folder / f"{stem}.instrumented.cu",
            ["-O2", *own_build_flags(self.nvcc)],
        )
        counters = AttachStaticCounters(
            nvcc=self.nvcc, flags=tuple(self.compile_flags(path)), architecture=device.architecture
        )
        unit = run_passes((counters,), TranslationUnit(program))
        self.report(unit.diagnostics)
        self.progress("compiling", 1, 1)
        runs = plan_runs(template, vary, binary)
        recorded = record_launches(runs, device, self.progress)
        found = subjects(program, recorded, unit.facts, candidate_set, self.warn)
        found = self._tried(runs[0], found, device)
        known = self.measurements(workspace)[1] if workspace.measurements.exists() else []
        for subject in found:
            replayed = collect_kernel(subject, known, self.progress)
            try:
                append_lines(workspace.measurements, [subject.kernel.to_json()])
                append_lines(workspace.measurements, (m.to_json() for m in replayed))
            except CutuneError as error:
                if error.diagnostic.code is Code.UNWRITABLE_FILE:
                    raise
                # One kernel that cannot be replayed does not stop the others.
                name, reason = subject.kernel.kernel, error.diagnostic.message
                self.warn(Diagnostic.at(Code.NOT_REPLAYED, None, kernel=name, reason=reason))
        return [subject.kernel for subject in found]

    def _tried(self, run: Run, found: Sequence[Subject], device: DeviceProfile) -> list[Subject]:
        """Drop the candidates whose results differ from the original's, and say so."""
        self.progress("trying candidates", 0, 1)
        trials = try_candidates(run, [subject.kernel for subject in found], device)
        self.progress("trying candidates", 1, 1)
        for subject in found:
            trial = trials[subject.kernel.entry]
            if trial.differing:
                self.warn(
                    Diagnostic.at(
                        Code.RESULTS_DIFFER,
                        None,
                        kernel=subject.kernel.kernel,
                        count=len(trial.differing),
                        difference=f"{trial.largest_difference:.3g}",
                    )
                )
        return [
            replace(s, kernel=replace(s.kernel, rejected=trials[s.kernel.entry].differing))
            for s in found
        ]

    def measurements(self, workspace: Workspace) -> tuple[list[MeasuredKernel], list[Measurement]]:
        """Everything that was measured.

        Raises:
            CutuneError: CT009 when nothing was.
        """
        path = workspace.measurements
        command = "cutune collect"
        kernels = read_lines(path, KERNEL_SCHEMA, MeasuredKernel.from_json, command, self.warn)
        measured = read_lines(path, MEASUREMENT_SCHEMA, Measurement.from_json, command, _silent)
        return list(kernels), list(measured)

    # ---- models and what is made of them

    def fit(self, workspace: Workspace) -> list[FittedModel]:
        """Fit every measured kernel and save the models."""
        kernels, measured = self.measurements(workspace)
        models = []
        for index, (kernel, own) in enumerate(by_entry(kernels, measured)):
            self.progress("fitting", index, len(kernels))
            model = fit_model(kernel, own)
            if isinstance(model, Diagnostic):
                self.warn(model)
            else:
                models.append(model)
        self.progress("fitting", 1, 1)
        write_models(workspace.models, models)
        return models

    def emit(self, path: str, workspace: Workspace, device: DeviceProfile, output: Path) -> Source:
        """Write the tuned program."""
        program = self.load(path)
        models = self.models_of(program.source, workspace)
        selection = emit_selection(models, device)
        step = ReplaceLaunches(selection=selection.text, routines=selection.routines)
        unit = run_passes((step,), TranslationUnit(program))
        self.report(unit.diagnostics)
        tuned = unit.rewritten()
        write_text(output, tuned.text)
        return tuned

    def models_of(self, source: Source, workspace: Workspace) -> list[FittedModel]:
        """The models that were made of this source.

        Raises:
            CutuneError: CT009 when there are none, CT513 when it has changed since.
        """
        origin = Origin.of(source)
        models = [m for m in read_models(workspace.models) if m.facts.origin.path == origin.path]
        if any(model.facts.origin != origin for model in models):
            raise CutuneError(Diagnostic.at(Code.STALE_MODELS, None, path=source.path))
        return models


def passes_named(names: str) -> tuple[Pass, ...]:
    """Passes by their names, separated by commas, in running order and with their defaults.

    Raises:
        CutuneError: CT304 for a name that no pass has.
    """
    wanted = names.split(",")
    known = {step.name: step for step in PASSES}
    for name in wanted:
        if name not in known:
            raise CutuneError(
                Diagnostic.at(Code.UNKNOWN_PASS, None, name=name, known=", ".join(known))
            )
    return tuple(step() for name, step in known.items() if name in wanted)


def _silent(_: Diagnostic) -> None:
    """The file was read before: its torn lines have been reported."""
