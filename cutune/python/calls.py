"""The verbs as functions. Takes paths and options, gives results; errors are `CutuneError`s.

What the command line would print as a warning is a Python warning here.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from cutune.analysis.analyzer import Analyzer
from cutune.analysis.linked import linked
from cutune.collect.run import RunPlan
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.progress import Reporter, silent
from cutune.core.workspace import Workspace as Files
from cutune.device.present import default_device, named_devices, profile_of
from cutune.device.profile import DeviceProfile
from cutune.evaluation.sweep_gpu import evaluate as judge
from cutune.fit.fitted_model import FittedModel
from cutune.fit.measurement.sweep import RecordedSweep, read_sweep
from cutune.fit.models_file import read_models
from cutune.frontend.program import Program
from cutune.nvcc.unit_models import models_in, named_model
from cutune.page.facts.gathered import ReportSource, read_subjects, read_timings, report_of
from cutune.page.facts.kernels import at_sizes
from cutune.page.facts.sources import program_facts
from cutune.python.results import Inspection, Judgement, KernelChoice, ReportPage, Tuned
from cutune.stages.tune import Tuning, tune, tuned_targets
from cutune.toolchain.steps.architectures import EMULATED
from cutune.toolchain.steps.toolchain import Toolchain
from cutune.unchanged.inputs import Request
from cutune.unchanged.kept import Kept

#: The folder of results beside a source.
FOLDER = ".cutune"
PathLike = str | os.PathLike[str]


def _warn(diagnostic: Diagnostic) -> None:
    warnings.warn(diagnostic.render(), stacklevel=2)


def _toolchain(
    flags: Sequence[str], nvcc: str | None, devices: Sequence[DeviceProfile] = ()
) -> Toolchain:
    architectures = (EMULATED, *(device.architecture for device in devices)) if devices else ()
    return Toolchain(nvcc, tuple(flags), architectures)


def _devices(names: str | None) -> list[DeviceProfile]:
    return named_devices((names or default_device()).split(","))


def _beside(files: Sequence[PathLike]) -> Files:
    return Files(Path(files[0]).parent / FOLDER)


def _misused(verb: str, reason: str) -> CutuneError:
    reason, advice = f"{verb}: {reason}", f"help(cutune.{verb})"
    return CutuneError(Diagnostic.at(Code.WRONG_USAGE, None, reason=reason, help=advice))


def _check_files(verb: str, files: Sequence[PathLike]) -> None:
    if not files:
        raise _misused(verb, "name the sources of the program")


def _varied(vary: Mapping[str, Sequence[object]]) -> dict[str, list[str]]:
    """A text is a sequence, too, but its letters are no values."""
    if not isinstance(vary, Mapping) or any(
        isinstance(values, str) or not isinstance(values, Iterable) for values in vary.values()
    ):
        raise _misused("tune", 'vary gives a list to each name, as {"n": [128, 256, 512]}')
    return {name: [str(one) for one in values] for name, values in vary.items()}


def inspect(*files: PathLike, flags: Sequence[str] = (), nvcc: str | None = None) -> Inspection:
    """Which launches of a program may be tuned, and why not the others.

    Parameters
    ----------
    files : paths
        All sources of one program.
    flags : sequence of str
        Options of nvcc, as ``("-Iinclude", "-DN=4")``.
    nvcc : str, optional
        The compiler; by default the one that is found. Without one, verdicts are by the text.

    Returns
    -------
    Inspection
        In a notebook: each launch with its verdict and the source beside it.

    Raises
    ------
    CutuneError
        CT001 when a file cannot be read, CT1xx when it is no CUDA source.

    Examples
    --------
    >>> import cutune
    >>> found = cutune.inspect("add.cu")
    >>> [(launch.kernel, launch.line, launch.is_tunable) for launch in found.launches]
    [('add', 12, True)]
    """
    _check_files("inspect", files)
    analyzer = Analyzer(_toolchain(flags, nvcc), Reporter(_warn))
    programs = analyzer.reported(linked([analyzer.read(os.fspath(path)) for path in files]))
    return Inspection(tuple(program_facts(program, ()) for program in programs))


def tune_sources(
    *files: PathLike,
    run: str = "./{program}",
    vary: Mapping[str, Sequence[object]] | None = None,
    device: str | None = None,
    output: PathLike | None = None,
    workspace: PathLike | None = None,
    flags: Sequence[str] = (),
    nvcc: str | None = None,
    launches_only: bool = False,
    again: bool = False,
) -> Tuned:
    """Make a program that chooses its thread blocks; no GPU is needed.

    Parameters
    ----------
    files : paths
        All sources of one program.
    run : str
        How it is run, as ``"./{program} {n}"``.
    vary : mapping
        A few small values for each name in braces, as ``{"n": [128, 256, 512]}``.
    device : str, optional
        The GPU that is modelled: a name or the path of a profile; several, joined by commas.
    output : path, optional
        File to write, or folder for several sources; by default ``NAME.tuned.cu`` beside each.
    workspace : path, optional
        Folder of results; by default ``.cutune`` beside the first source.
    flags, nvcc
        As in `inspect`.
    launches_only : bool
        Do not execute kernels while the program runs: sizes may then be large.
    again : bool
        Measure all of it anew, although nothing has changed since an earlier call.

    Returns
    -------
    Tuned
        In a notebook: what each kernel is predicted to gain.

    Raises
    ------
    CutuneError
        Where nothing can be tuned or measured; the message says what to do.

    Examples
    --------
    >>> import cutune
    >>> tuned = cutune.tune("add.cu", run="./{program} {n}", vary={"n": [64, 96]})
    >>> tuned.sources[0].name
    'add.tuned.cu'
    >>> tuned.report.summary.startswith("On an NVIDIA H200, ")
    True
    """
    _check_files("tune", files)
    values, sources = _varied(vary or {}), [os.fspath(path) for path in files]
    devices, name = _devices(device), None if output is None else os.fspath(output)
    place = Files(Path(workspace)) if workspace is not None else _beside(files)
    options = {"run": run, "vary": values, "output": name, "launches_only": launches_only}
    options["is_folder"] = name is not None and os.path.isdir(name)
    toolchain = _toolchain(flags, nvcc, devices)
    request = Request({"caller": "python", **options}, sources, toolchain, devices, place)
    plan = RunPlan(run, values, "paper", launches_only=launches_only)
    tuning = Tuning(plan, name, lambda programs: tuned_targets(programs, name), is_anew=again)
    tuned = tune(request, tuning, Reporter(_warn))
    if isinstance(tuned, Kept):
        for message in tuned.said:
            warnings.warn(message, stacklevel=2)
        written = tuple(map(Path, tuned.shown["written"]))
        programs = Analyzer(toolchain).load_all(sources, require_nvcc=True)
        models = read_models(place.models)
    else:
        written, programs, models = tuple(tuned.sources), [*tuned.programs], [*tuned.models]
        tuned.keep({"written": [str(path) for path in written]})
    subjects = [_subject(program, models) for program in programs]
    return Tuned(written, ReportPage(report_of(toolchain, silent, subjects, devices[0], place)))


# Python's name of it, which `help` shows, too.
tune_sources.__name__ = tune_sources.__qualname__ = "tune"


def _subject(program: Program, models: Sequence[FittedModel]) -> ReportSource:
    path = str(Path(program.source.path).resolve())
    own = tuple(model for model in models if model.kernel.origin.path == path)
    return ReportSource(path, program, own)


def select(
    kernel: str,
    sizes: Mapping[str, int] | int | None = None,
    *,
    device: str | None = None,
    workspace: PathLike = FOLDER,
    **named: int,
) -> KernelChoice:
    """Choose the configuration of a kernel at some sizes.

    Parameters
    ----------
    kernel : str
        Its name in the source.
    sizes : mapping or int
        Data parameters by name, or one value for all; ``"T.x"`` and ``"G.x"`` as in
        ``cutune select``.
    device, workspace
        As in `tune`.
    **named : int
        Further sizes by name.

    Returns
    -------
    KernelChoice
        In a notebook: predicted times over blocks and variants, and what each resource would take.

    Raises
    ------
    CutuneError
        CT510 for a kernel without a model, CT511 and CT512 for sizes that do not fit it.

    Examples
    --------
    >>> import cutune
    >>> choice = cutune.select("add", 2048)
    >>> choice.at.own.block
    (16, 16, 1)
    >>> choice.gain >= 1
    True
    >>> cutune.select("add", n=4096, m=64).grid[0] * choice.block[0] >= 64
    True
    """
    return TunedFolder(workspace).select(kernel, sizes, device=device, **named)


def evaluate(
    sweep: PathLike | RecordedSweep,
    *files: PathLike,
    device: str | None = None,
    workspace: PathLike = FOLDER,
    train: int | None = None,
) -> Judgement:
    """How good the choices are, against the times of all configurations.

    Parameters
    ----------
    sweep : path or RecordedSweep
        What ``cutune evaluate --save`` wrote on a GPU.
    files : paths
        Sources whose launches count; without any, all of the sweep do.
    train : int, optional
        Judge sizes above; timings there may be reused by the strategies that do so.
    device, workspace
        As in `tune`.

    Returns
    -------
    Judgement
        In a notebook: regret of cutune and of other strategies.

    Raises
    ------
    CutuneError
        CT009 where a file is missing, CT516 where no launch is left.

    Examples
    --------
    >>> import cutune
    >>> judgement = cutune.evaluate("sweep.json")
    >>> judgement.score.cases
    2
    >>> judgement.score.mean < 0.1
    True
    """
    swept = sweep if isinstance(sweep, RecordedSweep) else read_sweep(Path(sweep))
    models = models_in(Files(Path(workspace)))
    paths = [os.fspath(path) for path in files]
    profile = _devices(device or profile_of(swept.device))[0]
    return Judgement(judge(swept, models, profile, paths, train))


class TunedFolder:
    """The models, choices and timings of the programs of a folder.

    Parameters
    ----------
    folder : path
        A ``.cutune`` folder.

    Examples
    --------
    >>> import cutune
    >>> workspace = cutune.Workspace(".cutune")
    >>> workspace.kernels
    ('add',)
    >>> report = workspace.report()
    >>> report.save("report.html").name
    'report.html'
    """

    def __init__(self, folder: PathLike = FOLDER) -> None:
        self.files = Files(Path(folder))

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels that have a model."""
        return tuple(dict.fromkeys(model.kernel.name for model in models_in(self.files)))

    def select(
        self,
        kernel: str,
        sizes: Mapping[str, int] | int | None = None,
        *,
        device: str | None = None,
        **named: int,
    ) -> KernelChoice:
        """See `cutune.select`."""
        every = sizes if isinstance(sizes, int) else None
        asked = {**(sizes if isinstance(sizes, Mapping) else {}), **named}
        model = named_model(models_in(self.files), kernel)
        return KernelChoice(kernel, at_sizes(model, _devices(device)[0], asked, every))

    def report(
        self,
        *files: PathLike,
        device: str | None = None,
        sweeps: Sequence[PathLike] = (),
        sizes: Sequence[int] | None = None,
        flags: Sequence[str] = (),
        nvcc: str | None = None,
    ) -> ReportPage:
        """Everything that is known, as one page: what ``cutune report`` writes.

        Parameters
        ----------
        files : paths
            Sources; without any, all that were tuned.
        sweeps : sequence of paths
            Recorded sweeps to compare with.
        sizes : sequence of int, optional
            What all data parameters are set to.
        device, flags, nvcc
            As in `tune`.

        Returns
        -------
        ReportPage
            In a notebook: what each kernel gains. `ReportPage.save` writes the page.

        Raises
        ------
        CutuneError
            CT009 where nothing was tuned and no file is named.
        """
        toolchain, profile = _toolchain(flags, nvcc), _devices(device)[0]
        analyzer = Analyzer(toolchain, Reporter(_warn))
        timings, notes = read_timings(self.files, [os.fspath(path) for path in sweeps], profile)
        subjects = read_subjects(analyzer, self.files, [os.fspath(path) for path in files])
        about = subjects, profile, self.files, timings, sizes, notes
        return ReportPage(report_of(toolchain, silent, *about))

    def __repr__(self) -> str:
        return f"<Workspace {self.files.folder}>"
