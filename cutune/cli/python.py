"""The verbs as functions. Takes paths and options, gives results; errors are `CutuneError`s.

What the command line would print as a warning is a Python warning here.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cutune.check.evaluate import Evaluation, StrategyScore
from cutune.check.evaluate import evaluate as judge
from cutune.cli.page.facts import at_sizes, program_facts
from cutune.cli.page.gather import read_subjects, read_timings, report_of, subject_of
from cutune.cli.page.html import part, to_html
from cutune.cli.page.page_facts import AtSizes, LaunchFacts, PageFacts, ProgramFacts
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.progress import Reporter, silent
from cutune.core.workspace import Workspace as Files
from cutune.core.workspace import replace_file
from cutune.measure import try_copies
from cutune.measure.program_runs import RunPlan
from cutune.model.fit.fitted_model import read_models
from cutune.model.measurement.sweep import RecordedSweep, SweptConfiguration, read_sweep
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.analysis.kernels_of_other_sources import linked
from cutune.toolchain.device.present import default_device, named_devices, profile_of
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import Block, configuration_text
from cutune.toolchain.device_code import EMULATED
from cutune.toolchain.toolchain import Toolchain
from cutune.tuning.inputs import Request
from cutune.tuning.kept import KeptAnswer
from cutune.tuning.nvcc.units import models_in, named_model
from cutune.tuning.tune_program import Tuning, tune_program, tuned_targets


@dataclass(frozen=True)
class Inspection:
    """Programs, in the order of the files, and the verdicts about their launches."""

    programs: tuple[ProgramFacts, ...]

    @property
    def launches(self) -> list[LaunchFacts]:
        """The launches of all programs, with verdict, reason and remedy."""
        return [launch for program in self.programs for launch in program.launches]

    def __repr__(self) -> str:
        names = ", ".join(program.name for program in self.programs)
        tunable = sum(launch.is_tunable for launch in self.launches)
        plural = "" if len(self.launches) == 1 else "es"
        return f"<{names}: {len(self.launches)} launch{plural}, {tunable} tunable>"

    def _repr_html_(self) -> str:
        return part("programs", self.programs)


@dataclass(frozen=True)
class KernelChoice:
    """The configuration of a kernel at some sizes. `at`: all candidates and predictions."""

    kernel: str
    at: AtSizes

    @property
    def block(self) -> Block:
        """The thread block."""
        return self.at.chosen.block

    @property
    def grid(self) -> Block:
        """Thread blocks per dimension."""
        return self.at.grid

    @property
    def variant(self) -> str:
        """The name of the variant; empty: the kernel itself."""
        return self.at.chosen.variant

    @property
    def gain(self) -> float | None:
        """How many times as fast as the program's own block; None: that is no candidate."""
        return self.at.gain

    @property
    def reason(self) -> str:
        """Why this is chosen."""
        return self.at.reason

    @property
    def predicted_us(self) -> Mapping[SweptConfiguration, float]:
        """The predicted time of each configuration in microseconds, the fastest first."""
        return {c.configuration: c.predicted_us or 0.0 for c in self.at.predicted}

    def __repr__(self) -> str:
        gain = "" if self.gain is None else f", predicted {self.gain:.2f} times as fast"
        return f"<{self.kernel}: {configuration_text(*self.at.chosen)}{gain}>"

    def _repr_html_(self) -> str:
        return part("choice", self.kernel, self.at)


@dataclass(frozen=True)
class Judgement:
    """Choices against a sweep. `evaluation`: a case per launch, each strategy's answer."""

    evaluation: Evaluation

    @property
    def scores(self) -> Mapping[str, StrategyScore]:
        """The score of each strategy, by its name."""
        return {name: self.evaluation.score(name) for name in self.evaluation.strategies}

    @property
    def score(self) -> StrategyScore:
        """The score of the model that is judged."""
        return self.evaluation.score(self.evaluation.judged)

    def __repr__(self) -> str:
        regret = 100 * self.score.mean
        return f"<{len(self.evaluation.cases)} launches, mean regret {regret:.1f} %>"

    def _repr_html_(self) -> str:
        return part("evaluation", self.evaluation)


@dataclass(frozen=True)
class ReportPage:
    """Everything that is known, as one page. `facts`: what it says, as values."""

    facts: PageFacts

    @property
    def summary(self) -> str:
        """One sentence: what is gained, and where."""
        return self.facts.summary

    def save(self, path: str | Path = "report.html") -> Path:
        """Write the page, one file that loads nothing.

        Raises:
            CutuneError: CT002, CT017 where jinja2 is not installed.
        """
        target = Path(path)
        replace_file(target, to_html(self.facts).encode())
        return target

    def __repr__(self) -> str:
        return f"<{self.summary}>"

    def _repr_html_(self) -> str:
        gains = [gain for k in self.facts.kernels for gain in (k.gain, k.measured_gain) if gain]
        return part("gains", self.facts, max(gains, default=1.0))


@dataclass(frozen=True)
class Tuned:
    """A tuned program. `sources`: ordinary CUDA C++; `report`: what is predicted."""

    sources: tuple[Path, ...]
    report: ReportPage

    def __repr__(self) -> str:
        return f"<{', '.join(map(str, self.sources))}: {self.report.summary}>"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


#: The folder of results beside a source.
FOLDER = ".cutune"
NO_SOURCES = "name the sources of the program"
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


def _misused(verb: str, reason: str) -> CutuneError:
    reason, advice = f"{verb}: {reason}", f"help(cutune.{verb})"
    return CutuneError.at(Code.WRONG_USAGE, reason=reason, help=advice)


def _varied(vary: Mapping[str, Sequence[object]]) -> dict[str, list[str]]:
    """A text is a sequence, too, but its letters are no values."""
    if not isinstance(vary, Mapping) or any(
        isinstance(values, str) or not isinstance(values, Iterable) for values in vary.values()
    ):
        raise _misused("tune", 'vary gives a list to each name, as {"n": [128, 256, 512]}')
    return {name: [str(one) for one in values] for name, values in vary.items()}


def inspect(*files: PathLike, flags: Sequence[str] = (), nvcc: str | None = None) -> Inspection:
    """Which launches of a program may be tuned, and why not the others.

    Args:
        files: All sources of one program.
        flags: Options of nvcc, as `("-Iinclude", "-DN=4")`.
        nvcc: The compiler; by default the one that is found. Without one, verdicts are by the text.

    Returns:
        In a notebook: each launch with its verdict and the source beside it.

    Raises:
        CutuneError: CT001 when a file cannot be read, CT1xx when it is no CUDA source, CT701
            when it does not compile.

    >>> import cutune
    >>> found = cutune.inspect("add.cu")
    >>> [(launch.kernel, launch.line, launch.is_tunable) for launch in found.launches]
    [('add', 12, True)]
    """
    if not files:
        raise _misused("inspect", NO_SOURCES)
    analyzer = Analyzer(_toolchain(flags, nvcc), Reporter(_warn), try_copies=try_copies)
    programs = analyzer.reported(linked([analyzer.read(os.fspath(path)) for path in files]))
    return Inspection(tuple(program_facts(program, ()) for program in programs))


def tune(
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
    shortlist: int = 0,
) -> Tuned:
    """Make a program that chooses its thread blocks; no GPU is needed without a shortlist.

    Args:
        files: All sources of one program.
        run: How it is run, as `"./{program} {n}"`.
        vary: A few small values for each name in braces, as `{"n": [128, 256, 512]}`.
        device: The GPU that is modelled: a name or the path of a profile; several, joined by
            commas.
        output: File to write, or folder for several sources; by default `NAME.tuned.cu` beside
            each.
        workspace: Folder of results; by default `.cutune` beside the first source.
        flags, nvcc: As in `inspect`.
        launches_only: Do not execute kernels while the program runs: sizes may then be large.
        again: Measure all of it anew, although nothing has changed since an earlier call.
        shortlist: So many configurations of each kernel, the first ones by the model, are timed on
            this machine's GPU at the sizes of the runs, and the best is kept.

    Returns:
        In a notebook: what each kernel is predicted to gain.

    Raises:
        CutuneError: Where nothing can be tuned or measured; the message says what to do.

    >>> import cutune
    >>> tuned = cutune.tune("add.cu", run="./{program} {n}", vary={"n": [64, 96]})
    >>> tuned.sources[0].name
    'add.tuned.cu'
    >>> tuned.report.summary.startswith("On an NVIDIA H200, ")
    True
    """
    if not files:
        raise _misused("tune", NO_SOURCES)
    if shortlist < 0:
        raise _misused("tune", "shortlist is a count")
    values, sources = _varied(vary or {}), [os.fspath(path) for path in files]
    devices, name = _devices(device), None if output is None else os.fspath(output)
    place = Files(Path(files[0]).parent / FOLDER if workspace is None else Path(workspace))
    options = {"run": run, "vary": values, "output": name, "launches_only": launches_only}
    options["is_folder"] = name is not None and os.path.isdir(name)
    toolchain = _toolchain(flags, nvcc, devices)
    request = Request({"caller": "python", **options}, sources, toolchain, devices, place)
    plan = RunPlan(run, values, "paper", launches_only=launches_only)
    place_of = partial(tuned_targets, output=name)
    tuning = Tuning(plan, name, place_of, is_anew=again, shortlist=shortlist)
    tuned = tune_program(request, tuning, Reporter(_warn))
    if isinstance(tuned, KeptAnswer):
        for message in tuned.said:
            warnings.warn(message, stacklevel=2)
        written = tuple(map(Path, tuned.shown["written"]))
        programs = Analyzer(toolchain, try_copies=try_copies).load_all(sources, require_nvcc=True)
        models = read_models(place.models)
    else:
        written, programs, models = tuple(tuned.sources), [*tuned.programs], [*tuned.models]
        tuned.keep({"written": [str(path) for path in written]})
    subjects = [subject_of(program, models) for program in programs]
    return Tuned(written, ReportPage(report_of(toolchain, silent, subjects, devices[0], place)))


def select(
    kernel: str,
    sizes: Mapping[str, int] | int | None = None,
    *,
    device: str | None = None,
    workspace: PathLike = FOLDER,
    **named: int,
) -> KernelChoice:
    """Choose the configuration of a kernel at some sizes.

    Args:
        kernel: Its name in the source.
        sizes: Data parameters by name, or one value for all; `"T.x"` and `"G.x"` as in `cutune
            select`.
        device, workspace: As in `tune`.
        **named: Further sizes by name.

    Returns:
        In a notebook: predicted times over blocks and variants, and what each resource would take.

    Raises:
        CutuneError: CT510 for a kernel without a model, CT511 and CT512 for sizes that do not fit
            it.

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

    Args:
        sweep: What `cutune evaluate --save` wrote on a GPU.
        files: Sources whose launches count; without any, all of the sweep do.
        train: Judge sizes above; timings there may be reused by the strategies that do so.
        device, workspace: As in `tune`.

    Returns:
        In a notebook: regret of cutune and of other strategies.

    Raises:
        CutuneError: CT009 where a file is missing, CT516 where no launch is left.

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

    Args:
        folder: A `.cutune` folder.

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

        Args:
            files: Sources; without any, all that were tuned.
            sweeps: Recorded sweeps to compare with.
            sizes: What all data parameters are set to.
            device, flags, nvcc: As in `tune`.

        Returns:
            In a notebook: what each kernel gains. `ReportPage.save` writes the page.

        Raises:
            CutuneError: CT009 where nothing was tuned and no file is named.
        """
        toolchain, profile = _toolchain(flags, nvcc), _devices(device)[0]
        analyzer = Analyzer(toolchain, Reporter(_warn), try_copies=try_copies)
        timings = read_timings(self.files, [os.fspath(path) for path in sweeps], profile)
        subjects = read_subjects(analyzer, self.files, [os.fspath(path) for path in files])
        facts = report_of(toolchain, silent, subjects, profile, self.files, timings, sizes)
        return ReportPage(facts)

    def __repr__(self) -> str:
        return f"<Workspace {self.files.folder}>"
