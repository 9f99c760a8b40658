"""Tunes scripts whose kernels a package compiles: takes a script and runs, gives tuned units.

A first run tells what is compiled. Behind the text of a unit functions are written that launch its
kernels. So it is a program like any other, but a library: the script loads it, and its runs are
those of the program. Grids are the script's own, at each launch; they need no formula.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import cutune
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.progress import Reporter, during
from cutune.core.temporary import temporary_folder
from cutune.core.workspace import make_folder, replace_file, write_document
from cutune.emulator.run import device_environment, program_environment
from cutune.measure.program_runs import RunPlan, run_program
from cutune.ptx.parse import parse
from cutune.ptx.types import Module
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY
from cutune.toolchain.toolchain import Toolchain
from cutune.tuning.inputs import Request
from cutune.tuning.script_session import LIBRARY, NOTE, SCHEMA, SHARED, TABLE, noted_rows
from cutune.tuning.tune_program import (
    NothingTuned,
    TunedProgram,
    Tuning,
    tune_program,
    tuned_targets,
)

_RUNNER = str(Path(cutune.__file__).resolve().parent / "tuned.py")
_HEADER = INCLUDE_DIRECTORY / "cutune_script.h"
_FUNCTION = """
static bool cutune_launch_{kernel}(const cutune_script_launch &asked)
{{
    alignas(256) char at[cutune_most_bytes];
    if (!cutune_take_arguments({spelled}, asked, at)) return false;
    {spelled}<<<asked.grid, asked.block, asked.shared, asked.stream>>>({arguments});
    return cudaGetLastError() == cudaSuccess;
}}
static struct _object *cutune_call_{kernel}(
    struct _object *context, struct _object *const *given, ssize_t count)
{{
    return cutune_call_python(cutune_launch_{kernel}, context, given, count);
}}
static struct _object *cutune_cupy_{kernel}(
    struct _object *about, struct _object *words, struct _object *named)
{{
    return cutune_call_cupy(cutune_launch_{kernel}, about, words, named);
}}
extern "C" cutune_python_function cutune_functions_{kernel}[2];
cutune_python_function cutune_functions_{kernel}[2] = {{
    {{"{kernel}", (void (*)())cutune_call_{kernel}, cutune_fast_call, nullptr}},
    {{"{kernel}", (void (*)())cutune_cupy_{kernel}, cutune_named_call, nullptr}}}};
extern "C" int cutune_layout_{kernel}(unsigned *to)
{{
    return cutune_write_layout({spelled}, to);
}}
"""
#: A shell that is not linked to CUDA: so is whatever starts a script.
_ANY_PROGRAM = Path("/bin/sh")


@dataclass(frozen=True)
class ScriptUnit:
    """A text that a script compiles.

    `kernels`: those of it that it looks up, with their names in C++.
    """

    digest: str
    source: str
    options: tuple[str, ...]
    kernels: Mapping[str, str]


@dataclass(frozen=True)
class TunedScript:
    """The units that were tuned. `said`: all messages; `refused`: units without a tuned kernel."""

    tuned: Sequence[TunedProgram]
    refused: Sequence[NothingTuned]
    said: Sequence[Diagnostic]


def tune_script(request: Request, tuning: Tuning, reporter: Reporter) -> TunedScript:
    """Tune the units of the only source, a script, and write them and their table to a folder.

    The template of runs names `{script}`; `tuning.output` is the folder. Raises CT305 where no
    kernel is known, CT411, and what `tune` raises where it raises that for all units.
    """
    reporter, said = reporter.remembering()
    (script,), folder = request.sources, Path(tuning.output or "")
    plan = replace(tuning.plan, environment=program_environment(_ANY_PROGRAM))
    with during(reporter.progress, "running"):
        rows = _noted(script, plan, request.devices[0])
    for reason in dict.fromkeys(row["left"] for row in rows if "left" in row):
        reporter.warn(Diagnostic.at(Code.SCRIPT_UNTUNED, reason=reason.strip()))
    units = _units([row for row in rows if "left" not in row])
    if not units:
        raise CutuneError.at(Code.NO_SCRIPT_KERNELS, path=script)
    tuning = replace(tuning, plan=plan, is_anew=True)
    joined = _Joined(request, tuning, reporter, folder)
    for number, unit in enumerate(units, 1):
        joined.add(unit, f"{Path(script).stem}-{number}")
    if joined.failed and not joined.tuned and not joined.refused:
        raise joined.failed[0]
    if joined.tuned:
        write_document(folder / TABLE, SCHEMA, {"units": joined.rows})
    return TunedScript(joined.tuned, joined.refused, said)


def _noted(script: str, plan: RunPlan, device: DeviceProfile) -> list[dict[str, Any]]:
    """What the script compiles in all of its runs: a row for each kernel that it looks up."""
    with temporary_folder() as name:
        path = Path(name) / "units.jsonl"
        for run in replace(plan, script=(_RUNNER, NOTE, str(path), script)).runs(Path()):
            run_program(run, device_environment(device, Path(name)))
        return noted_rows(path)


def _units(rows: Sequence[dict[str, Any]]) -> list[ScriptUnit]:
    kernels: dict[str, dict[str, str]] = {}
    for row in rows:
        kernels.setdefault(row["digest"], {})[row["kernel"]] = row["spelled"]
    by_digest = {row["digest"]: row for row in rows}
    return [
        ScriptUnit(digest, row["source"], tuple(row["options"]), kernels[digest])
        for digest, row in by_digest.items()
    ]


@dataclass
class _Joined:
    """The units of a script while they are tuned, one after the other."""

    request: Request
    tuning: Tuning
    reporter: Reporter
    folder: Path
    tuned: list[TunedProgram] = field(default_factory=list)
    refused: list[NothingTuned] = field(default_factory=list)
    failed: list[CutuneError] = field(default_factory=list)
    rows: dict[str, Mapping[str, object]] = field(default_factory=dict)

    def add(self, unit: ScriptUnit, name: str) -> None:
        try:
            self._tune(unit, name)
        except NothingTuned as error:
            self.refused.append(error)
        except CutuneError as error:
            self.failed.append(error)
            self.reporter.warn(error.diagnostic)

    def _tune(self, unit: ScriptUnit, name: str) -> None:
        request, folder = self.request, self.request.workspace.create().folder
        toolchain = request.toolchain.with_flags(unit.options)
        path = folder / f"{name}.cu"
        modules = _compiled(toolchain, unit, path)
        for variable in variables(modules):
            listed = ", ".join(f"'{kernel}'" for kernel in unit.kernels)
            raise CutuneError.at(Code.SCRIPT_VARIABLE, kernels=listed, name=variable)
        replace_file(path, program_text(unit.source, modules[0], unit.kernels).encode())
        make_folder(self.folder)
        started = _RUNNER, LIBRARY, f"{unit.digest}={{program}}", request.sources[0]
        plan = replace(self.tuning.plan, script=started)
        output = str(self.folder / path.name)
        targets_of = partial(tuned_targets, output=output)
        tuning = replace(self.tuning, plan=plan, output=output, targets_of=targets_of)
        request = replace(request, sources=[str(path)], toolchain=toolchain.with_flags(SHARED))
        tuned = tune_program(request, tuning, self.reporter)
        assert isinstance(tuned, TunedProgram), "it is done anew"
        self.tuned.append(tuned)
        modelled = {_template(model.kernel.name) for model in tuned.models}
        found = [one for one, name in unit.kernels.items() if _template(name) in modelled]
        self.rows[unit.digest] = {
            "source": path.name,
            "kernels": sorted(found),
            "architectures": [one.rpartition("_")[2] for one in toolchain.architectures],
        }


def _template(name: str) -> str:
    """The name of a kernel without its namespace, and without arguments where it is an instance."""
    return name.partition("<")[0].rpartition("::")[2]


def _compiled(toolchain: Toolchain, unit: ScriptUnit, path: Path) -> list[Module]:
    """The device code of a unit, for each architecture. Raises CT701."""
    replace_file(path, unit.source.encode())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        codes = toolchain.device_codes(str(path), pool)
        return [parse(code.result().ptx) for code in codes.values()]


def variables(modules: Sequence[Module]) -> Iterator[str]:
    """Variables that outlive a launch: the library has its own, which the script does not see."""
    for module in modules:
        for variable in module.variables:
            if variable.space != "shared":
                yield variable.name


def program_text(source: str, module: Module, kernels: Mapping[str, str]) -> str:
    """The text of a unit with functions behind it that launch kernels; `module`: its code."""
    # A mangled name is none in C++.
    known = (
        (module.functions[kernel], spelled)
        for kernel, spelled in kernels.items()
        if kernel in module.functions and spelled[:2] != "_Z"
    )
    functions = "".join(
        _launch(entry.name, spelled, len(entry.parameters))
        for entry, spelled in known
        if entry.is_kernel
    )
    return f"{source}\n{_HEADER.read_text(encoding='utf-8')}{functions}"


def _launch(kernel: str, spelled: str, count: int) -> str:
    arguments = ", ".join(f"cutune_passed<{n}>({spelled}, at)" for n in range(count))
    return _FUNCTION.format(kernel=kernel, spelled=spelled, arguments=arguments)
