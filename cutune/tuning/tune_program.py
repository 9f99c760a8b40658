"""`cutune tune` for sources that are named: all stages in one, for the command line and Python.

Where nothing has changed, what an earlier call has made is written again, and no stage is loaded.
Scripts (`scripts`) and builds (`project`) have functions of their own. `cutune/tuned.py` is another
thing: it runs a script that was tuned.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread
from typing import TYPE_CHECKING

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.progress import Reporter
from cutune.core.workspace import Json, make_folder, writing
from cutune.measure import try_copies
from cutune.measure.program_runs import RunPlan
from cutune.space.parameter import NO_PARAMETERS, ParameterOptions
from cutune.tuning.inputs import Request, WatchedRequest
from cutune.tuning.kept import Answer, KeptAnswer, keep_answer, kept_answer, write_texts

if TYPE_CHECKING:
    from cutune.emulator.program_builds import InstrumentedProgram
    from cutune.model.fit.fitted_model import FittedModel
    from cutune.proof.analysis.analyzer import Analyzer
    from cutune.proof.analysis.recorded_launches import SeenLaunch
    from cutune.source.program import Program
    from cutune.source.rewrite.output import Target


@dataclass(frozen=True)
class Tuning:
    """How a program is tuned.

    Attributes:
        output: the file or the folder that is to be written; None: beside each source.
        targets_of: the places of the tuned sources, one per source.
        method: how models are fitted. performance: the model that chooses. None: the usual one.
        is_associative: may rounded numbers be added up in any order?
        is_anew: ignore what an earlier call has made.
        shortlist: so many configurations of each kernel, the first ones by the model, are timed on
            this machine's GPU, and the best is kept; 0: the model chooses alone. Nothing is kept
            for a later call then.
    """

    plan: RunPlan
    output: str | None
    targets_of: Callable[[Sequence[Program]], Sequence[Target]]
    method: str | None = None
    performance: str | None = None
    with_variants: bool = True
    is_associative: bool = False
    parameters: ParameterOptions = NO_PARAMETERS
    is_anew: bool = False
    shortlist: int = 0


@dataclass(frozen=True)
class TunedProgram:
    """Sources that were tuned. `launches`: how each was judged; `said`: messages, in order."""

    programs: Sequence[Program]
    launches: Sequence[SeenLaunch]
    models: Sequence[FittedModel]
    targets: Sequence[Target]
    said: Sequence[Diagnostic]
    _run: str
    _instrumented: InstrumentedProgram
    _watched: WatchedRequest | None

    @property
    def sources(self) -> list[Path]:
        pairs = zip(self.targets, self.programs, strict=True)
        return [target.files_of(program)[0] for target, program in pairs]

    def keep(self, shown: Json) -> None:
        """Keep it, with what was shown, for the next equal request."""
        if self._watched is None:
            return
        pairs = zip(self.targets, self.programs, strict=True)
        files = [file for target, program in pairs for file in target.files_of(program)]
        kernels = [launch.kernel for launch in self.launches]
        answer = Answer(self._run, self._instrumented, kernels, files, self.said, shown)
        keep_answer(self._watched, answer)


def tuned_targets(programs: Sequence[Program], output: str | None) -> list[Target]:
    """Where the tuned sources are written to; `output` None: beside each. Raises as `Target.of`."""
    from cutune.source.rewrite.output import Target

    if len(programs) == 1 or output is None:
        return [Target.of(program, output, "tuned") for program in programs]
    return [Target.complete(program, Path(output)) for program in programs]


def make_folder_of(targets: Sequence[Target]) -> None:
    """Make the folder that `-o` names for several sources. Raises CT002."""
    if len(targets) > 1:
        make_folder(targets[0].path.parent)


class NothingTuned(CutuneError):
    """No launch may be tuned, or none has a model. `launches`, `said`: see `TunedProgram`."""

    def __init__(
        self, diagnostic: Diagnostic, launches: Sequence[SeenLaunch], said: Sequence[Diagnostic]
    ) -> None:
        super().__init__(diagnostic)
        self.launches, self.said = launches, said


def tune_program(request: Request, tuning: Tuning, reporter: Reporter) -> TunedProgram | KeptAnswer:
    """Collect, fit and emit all sources of a request; or write what an earlier call has made.

    The first device is the one that is modelled. Raises NothingTuned (CT415 where no launch may be
    tuned, CT503 where nothing could be modelled), CT002, CT015, and what the stages raise.
    """
    if tuning.shortlist:
        from cutune.tuning.time_shortlists import require_gpu_like

        require_gpu_like(request.devices[0])
    kept = None if tuning.is_anew or tuning.shortlist else kept_answer(request)
    if kept is not None:
        write_texts(kept.tuned)
        return kept
    _check_place(request, tuning.output)
    try:
        request = request.with_begun()
        watched = None if tuning.shortlist else WatchedRequest.begin(request)
    except CutuneError:  # There is no nvcc: the analysis says so.
        watched = None
    # The later stages are loaded while nvcc is at work.
    Thread(target=import_module, args=("cutune.tuning.stages",)).start()
    from cutune.proof.analysis.analyzer import Analyzer
    from cutune.proof.analysis.recorded_launches import seen_launches

    reporter, said = reporter.remembering()
    analyzer = Analyzer(
        request.toolchain,
        reporter,
        tuning.with_variants,
        is_associative=tuning.is_associative,
        try_copies=partial(try_copies, progress=reporter.progress),
    )
    programs = analyzer.load_all(request.sources, require_nvcc=True)
    launches, targets = (
        list(seen_launches(programs, request.toolchain.flags)),
        tuning.targets_of(programs),
    )
    try:
        models, instrumented = _tuned(analyzer, request, tuning, programs, targets)
    except CutuneError as error:
        if error.diagnostic.code in (Code.NOTHING_TUNABLE, Code.NOTHING_MODELLED):
            raise NothingTuned(error.diagnostic, launches, said) from error
        raise
    run = tuning.plan.run
    return TunedProgram(programs, launches, models, targets, said, run, instrumented, watched)


def _tuned(
    analyzer: Analyzer,
    request: Request,
    tuning: Tuning,
    programs: Sequence[Program],
    targets: Sequence[Target],
) -> tuple[list[FittedModel], InstrumentedProgram]:
    from cutune.model.fit.fit import EXACT
    from cutune.model.selection.chooser import DEFAULT
    from cutune.tuning.stages import collect, emit, fit_collected, nothing_modelled

    workspace, devices = request.workspace, request.devices
    collected, instrumented = collect(analyzer, programs, tuning.plan, devices[0], workspace)
    if not collected:
        raise nothing_modelled(request.sources, "none of them could be measured")
    method, performance = tuning.method or EXACT, tuning.performance or DEFAULT
    fitted = fit_collected(analyzer.reporter, workspace, collected, method, devices[0])
    if tuning.shortlist:
        from cutune.tuning.time_shortlists import time_shortlists

        about = tuning.plan, devices[0], workspace
        fitted = time_shortlists(analyzer, programs, *about, fitted, tuning.shortlist)
    paths = {str(Path(path).resolve()) for path in request.sources}
    models = [model for model in fitted if model.kernel.origin.path in paths]
    if not models:
        raise nothing_modelled(request.sources, "none of their kernels could be modelled")
    make_folder_of(targets)
    for program, target in zip(programs, targets, strict=True):
        emit(analyzer, program, workspace, devices, target, performance, fitted, tuning.parameters)
    return models, instrumented


def _check_place(request: Request, output: str | None) -> None:
    """Raise CT002 before the work if nothing can be written at its end."""
    if output is None:
        return
    path = Path(output)
    is_folder = len(request.sources) != 1 or not path.suffix or output.endswith(os.sep)
    folder = path if is_folder or path.is_dir() else path.parent
    if path.exists() and not path.is_dir() and not path.is_file():
        return  # a device, or a pipe
    while folder == path and not os.path.lexists(folder):
        # Folders are made as they are needed.
        folder, path = folder.parent, path.parent
    if folder.resolve() != request.workspace.folder.resolve():
        with writing(Path(output)), TemporaryFile(dir=folder):
            pass
