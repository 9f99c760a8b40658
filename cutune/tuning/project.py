"""A whole project, built by its own build system. Takes a command that builds it, gives models.

The project is built twice through `cutune nvcc`: instrumented for the emulated device, where it
is run and its kernels are measured, and tuned. What the first build made is removed before the
second, so that no build system takes it for up to date. The variable by which a Makefile is given
another nvcc is read from its text.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

from cutune.core.codes import ERROR, Code
from cutune.core.diagnostics import CutuneError, Diagnostic, ToldAlready
from cutune.core.temporary import temporary_folder
from cutune.core.workspace import Workspace, writing
from cutune.emulator.link import searched_libraries
from cutune.measure.measure_kernels import Part, measure_kernels
from cutune.measure.program_runs import RunPlan
from cutune.measure.resources import Resources, or_none, resources_of, with_lent
from cutune.model.fit.fitted_model import FittedModel
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.analysis.kernels_of_other_sources import linked
from cutune.proof.analysis.read_source import ReadSource
from cutune.proof.analysis.recorded_launches import SeenLaunch, suggesting
from cutune.source.program import Program, SiteNumbers
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.locate import first_on_path, stand_in
from cutune.toolchain.nvcc import COMPATIBILITY_FLAGS, without_driver
from cutune.tuning.nvcc.command import (
    ALL,
    ASSOCIATIVE,
    EMULATED,
    INSTRUMENT,
    NONE,
    TUNED,
    VARIANTS,
    WORKSPACE,
)
from cutune.tuning.nvcc.rewriting import OUTPUTS, TOLD, compiled_sources
from cutune.tuning.nvcc.units import (
    CompiledSource,
    connect,
    forget,
    lenders_of,
    note_place,
    noted_launches,
    registered,
)
from cutune.tuning.stages import fit_collected

#: Where make looks, in its order.
_NAMES = ("GNUmakefile", "makefile", "Makefile")
_ASSIGNED = re.compile(
    r"^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*(?:[:?]{0,2}=)[ \t]*(\S+)", re.MULTILINE
)
_NVCC = re.compile(r"(?:.*/)?nvcc")
_IN_RECIPE = re.compile(r"^\t.*\bnvcc\b", re.MULTILINE)
USUAL = "NVCC"


def is_make(command: str) -> bool:
    return command.split(maxsplit=1)[:1] in (["make"], ["gmake"])


def compiler_variable(command: str, folder: Path = Path()) -> str | None:
    """The variable by which make, run in `folder`, gets another nvcc; None: its rules say nvcc."""
    text = _text(command, folder)
    named = (str(one[1]) for one in _ASSIGNED.finditer(text) if _NVCC.fullmatch(one[2]))
    used = [name for name in dict.fromkeys(named) if _is_used(name, text)]
    if USUAL in used or _is_used(USUAL, text):
        return USUAL
    if used:
        return used[0]
    # Without a rule that compiles, other Makefiles do.
    return None if _IN_RECIPE.search(text) else USUAL


def kept_tuned(command: str, stand_in: str) -> str:
    """The command that leaves a project tuned. `stand_in`: a folder whose nvcc is cutune."""
    name = compiler_variable(command)
    if name is None:
        return f'PATH="$PWD/{stand_in}:$PATH" {command}'
    return f'{command} {name}="cutune nvcc"'


def _is_used(name: str, text: str) -> bool:
    return f"$({name})" in text or f"${{{name}}}" in text


def _text(command: str, folder: Path) -> str:
    """The Makefile, if it is read from here; and what the command line assigns."""
    named: list[str] = []
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    for option, value in pairwise([*words, ""]):
        if option == "-C":
            folder = folder / value
        if option == "-f":
            named.append(value)
    assigned = [word for word in words if "=" in word]
    for name in named or _NAMES:
        try:
            text = (folder / name).read_text(encoding="latin-1")
        except OSError:
            continue
        return "\n".join([*assigned, text])
    return "\n".join(assigned)


MOST_SHOWN = 3
_CMAKE = re.compile(r"\b(cmake|ninja)\b")
#: What CMake has written where it was configured, and the build is run.
_CMAKE_CACHE = "CMakeCache.txt"


@dataclass(frozen=True)
class ProjectBuild:
    """How a project is built and run. `clean`: run before each build, unless it is empty."""

    make: str
    plan: RunPlan
    clean: str = ""


def tune_project(
    project: ProjectBuild, analyzer: Analyzer, device_name: str, workspace: Workspace
) -> list[FittedModel]:
    """Build, measure, build again, tuned. Raises CT706 if it fails, CT707 if cutune saw nothing."""
    device = DeviceProfile.named(device_name.split(",", maxsplit=1)[0])
    workspace = Workspace(workspace.folder.absolute()).create()
    note_place(workspace)
    forget(workspace, with_lending=True)
    outputs = workspace.folder / "outputs"
    outputs.unlink(missing_ok=True)
    compiled_sources(outputs).unlink(missing_ok=True)

    # Each source is compiled as a copy, beside which its headers may have copies, too; and for the
    # emulated device with a header of its own.
    analyzer = replace(analyzer.with_flags(COMPATIBILITY_FLAGS), rewrites_headers=True)
    progress = analyzer.reporter.progress
    build = _Build(project, analyzer, device_name, workspace)
    progress("building", 0, 1)
    build.run(f"{INSTRUMENT},{EMULATED}", {OUTPUTS: str(outputs)})
    if connect(workspace):
        # Some sources launch kernels of others. Only now it is known which source defines them.
        _remove_built(outputs)
        outputs.unlink(missing_ok=True)
        forget(workspace)
        build.run(f"{INSTRUMENT},{EMULATED}", {OUTPUTS: str(outputs)})
    progress("building", 1, 1)
    models = _models(project, analyzer, device, workspace)
    _remove_built(outputs)
    progress("building the tuned program", 0, 1)
    build.run(TUNED, {})
    progress("building the tuned program", 1, 1)
    return models


def build_copies(
    project: ProjectBuild,
    analyzer: Analyzer,
    device_name: str,
    workspace: Workspace,
    modes: Sequence[str],
    folder: Path,
) -> list[Path]:
    """Build a project in each mode; gives copies of the current folder that hold what was made.

    The project itself is left in its tuned build. Raises CT002, CT706, CT707.
    """
    workspace = Workspace(workspace.folder.absolute()).create()
    outputs = workspace.folder / "outputs"
    build = _Build(project, analyzer, device_name, workspace)
    copies, total, progress = [], len(modes) + 1, analyzer.reporter.progress
    for number, mode in enumerate(modes):
        progress("building", number, total)
        _remove_built(outputs)
        outputs.unlink(missing_ok=True)
        build.run(mode, {OUTPUTS: str(outputs)})
        if not _listed(outputs):
            raise _compiled_nothing(project)
        copy = folder / str(number)
        with writing(copy):
            shutil.copytree(Path(), copy, symlinks=True, ignore=_left_out)
        copies.append(copy)
    _remove_built(outputs)
    progress("building", len(modes), total)
    build.run(TUNED, {})
    progress("building", total, total)
    return copies


def _left_out(folder: str, names: Sequence[str]) -> list[str]:
    """What no program reads: what cutune and git have written."""
    return [name for name in names if name in (WORKSPACE, ".git")]


def _remove_built(outputs: Path) -> None:
    for line in filter(os.path.isfile, _listed(outputs)):
        os.unlink(line)


def _models(
    project: ProjectBuild, analyzer: Analyzer, device: DeviceProfile, workspace: Workspace
) -> list[FittedModel]:
    units = registered(workspace)
    if not units:
        noted = _listed(compiled_sources(workspace.folder / "outputs"))
        sources = [Path(line).name for line in dict.fromkeys(noted)]
        raise _nothing_to_measure(project, noted_launches(workspace), sources)
    read: dict[str, ReadSource] = {}
    parts = []
    for unit in units:
        lenders = lenders_of(unit, workspace)
        for one in (unit, *lenders):
            if one.key not in read:
                read[one.key] = one.read(_of_folder(analyzer, one), require_nvcc=True)
        program, *others = linked([read[one.key] for one in (unit, *lenders)])
        _of_folder(analyzer, unit).reported([program])
        program = unit.instrumented(program)
        lent = [
            (other, _resources(analyzer, lender, other, device))
            for lender, other in zip(lenders, others, strict=True)
        ]
        resources = with_lent(program, _resources(analyzer, unit, program, device), lent)
        own = unit.own_workspace(workspace).create()
        numbers = SiteNumbers(unit.first_site)
        parts.append(Part(program, numbers, resources, own, unit.folder))
    reporter = analyzer.reporter
    libraries = searched_libraries(analyzer.toolchain.nvcc, reporter.progress)
    runs = project.plan.runs(Path(), libraries)
    measured = measure_kernels(reporter, parts, runs, device, project.plan.candidate_set)
    return [
        model
        for part, collected in zip(parts, measured, strict=True)
        if collected
        for model in fit_collected(reporter, part.workspace, collected)
    ]


def _of_folder(analyzer: Analyzer, unit: CompiledSource) -> Analyzer:
    """The analyzer, which names files as from the current folder, and not as from a unit's."""
    return replace(analyzer, reporter=analyzer.reporter.of_folder(unit.folder))


def _listed(file: Path) -> list[str]:
    return file.read_text(errors="surrogateescape").splitlines() if file.exists() else []


def _compiled_nothing(project: ProjectBuild) -> CutuneError:
    advice = _way_to_cutune(project)
    return CutuneError.at(Code.NOTHING_COMPILED, command=project.make, advice=advice)


def _way_to_cutune(project: ProjectBuild) -> str:
    if _CMAKE.search(project.make) is not None or Path(_CMAKE_CACHE).exists():
        return (
            "CMake keeps the path of its nvcc: configure with -DCMAKE_CUDA_COMPILER_LAUNCHER="
            "'cutune;nvcc' -DCMAKE_CUDA_RUNTIME_LIBRARY=Shared (cutune help projects)"
        )
    clean = "" if project.clean else "if everything was up to date, add --clean 'make clean'; "
    name = (compiler_variable(project.make) if is_make(project.make) else None) or USUAL
    return f"{clean}if the build names its nvcc by a path, give it another: {name}='cutune nvcc'"


def _nothing_to_measure(
    project: ProjectBuild, seen: Sequence[SeenLaunch], sources: Sequence[str]
) -> CutuneError:
    if not seen and sources:
        shown = ", ".join(sources[:MOST_SHOWN]) + (", …" if len(sources) > MOST_SHOWN else "")
        return CutuneError.at(Code.NO_LAUNCH_COMPILED, command=project.make, sources=shown)
    if not seen:
        return _compiled_nothing(project)
    reasons = (
        f"{one.file}:{one.line}: {one.kernel}: {one.reason}{f' [{one.code}]' if one.code else ''}"
        for one in seen
    )
    helping = [f"what would help: {command}" for command in suggesting(seen)]
    why = "".join(f"\n{line}" for line in dict.fromkeys([*reasons, *helping]))
    code, launches = Code.NOTHING_TUNABLE_BUILT, f"{len(seen)} launch{'es' * (len(seen) > 1)}"
    return CutuneError.at(code, command=project.make, launches=launches, why=why)


def _resources(
    analyzer: Analyzer, unit: CompiledSource, program: Program, device: DeviceProfile
) -> Resources:
    with chdir(unit.folder):
        about = analyzer.toolchain.with_flags(unit.flags), analyzer.code, program, device
        warn = analyzer.reporter.of_folder(unit.folder).warn
        return or_none(warn, program, partial(resources_of, *about))


@dataclass(frozen=True)
class _Build:
    project: ProjectBuild
    analyzer: Analyzer
    device_name: str
    workspace: Workspace

    def run(self, mode: str, variables: Mapping[str, str]) -> None:
        environment = {
            **os.environ,
            **first_on_path(stand_in(self.workspace.folder, self.analyzer.toolchain.nvcc.path)),
            **without_driver(self.workspace.folder),
            "CUTUNE_MODE": mode,
            "CUTUNE_WORKSPACE": str(self.workspace.folder),
            "CUTUNE_DEVICE": self.device_name,
            VARIANTS: ALL if self.analyzer.with_variants else NONE,
            ASSOCIATIVE: "1" if self.analyzer.is_associative else "0",
            # If a build calls `ccache nvcc`, ccache knows neither our modes nor our models: it is
            # switched off for instrumented sources and recaches tuned ones.
            "CCACHE_RECACHE" if mode == TUNED else "CCACHE_DISABLE": "1",
            **variables,
        }
        with temporary_folder() as folder:
            self._built({**environment, TOLD: str(Path(folder) / "told")})

    def _built(self, environment: Mapping[str, str]) -> None:
        if self.project.clean:
            # It may find nothing to remove.
            self._shell(self.project.clean, environment, Code.CLEAN_COMMAND_FAILED)
        self._shell(self.project.make, environment, Code.BUILD_COMMAND_FAILED)

    def _shell(self, command: str, environment: Mapping[str, str], code: Code) -> None:
        # A build prints to standard error: standard output holds cutune's own results.
        done = subprocess.run(
            command, shell=True, env=environment, stdout=sys.stderr.fileno(), check=False
        )
        if done.returncode != 0:
            failed = Diagnostic.at(code, status=done.returncode, command=command)
            if failed.code.severity == ERROR and os.path.exists(environment[TOLD]):
                raise ToldAlready
            if failed.code.severity == ERROR:
                raise CutuneError(failed)
            self.analyzer.reporter.warn(failed)
