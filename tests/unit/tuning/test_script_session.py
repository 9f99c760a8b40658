"""Which launches of a script are made by a library of a unit, and which as they are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from cutune.core.codes import Code
from cutune.ptx.parse import parse
from cutune.tuning import script_session
from cutune.tuning.script_session import SCHEMA, TABLE, CompiledUnit, Session, UnitLibrary
from cutune.tuning.scripts import program_text, variables

SOURCE = 'extern "C" __global__ void k(int n) { }\n'
NVCC = "/no/nvcc"
CONTEXT = 7
SHAPE = ((4, 1), (64, 1, 1))


@pytest.mark.parametrize(
    ("options", "architecture"),
    [
        ([], ""),
        (["-arch", "sm_90", "-I/here"], "sm_90"),
        (["-arch=compute_80", "-DN=3", "-D", "M", "-O3", "--use_fast_math"], "compute_80"),
        (["-arch", "native"], None),
        (["-code", "sm_90"], None),
        (["-G"], None),
        (["-rdc=true"], None),
        (["-include", "other.h"], None),
        (["-Ihere"], None),
        (["-I", "/here"], None),
    ],
)
def test_options_that_are_known(options: list[str], architecture: str | None) -> None:
    unit = CompiledUnit.of(SOURCE, options, NVCC)
    assert (unit.architecture if unit else None) == architecture


def test_what_makes_another_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    def digest(source: str, *options: str) -> str:
        unit = CompiledUnit.of(source, options, NVCC)
        assert unit is not None
        return unit.digest

    own = digest(SOURCE, "-I/here", "-arch", "sm_90")
    assert own == digest(SOURCE, "-I/there", "-arch", "sm_80")
    others = [digest(SOURCE + " "), digest(SOURCE, "-DN=1"), digest(SOURCE, "-O3")]
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-DN=2")
    assert len({own, *others, digest(SOURCE)}) == 5


def test_headers_make_another_unit(tmp_path: Path) -> None:
    system, header, nvcc = tmp_path / "system/a.h", tmp_path / "own/cuda_own.h", tmp_path / "nvcc"
    for path in (system, header):
        path.parent.mkdir()
        path.write_text("1")
    own = f'case "$*" in *-I*) own="{header}" ;; esac'
    nvcc.write_text(f'#!/bin/sh\n{own}\necho "kernel.o : kernel.cu {system} \\\\"\necho " $own"\n')
    nvcc.chmod(0o755)

    def digest() -> str:
        unit = CompiledUnit.of('#include "cuda_own.h"', [f"-I{header.parent}"], str(nvcc))
        assert unit is not None
        return unit.digest

    first = digest()
    system.write_text("2")
    assert digest() == first
    header.write_text("2")
    assert digest() != first
    header.unlink()
    assert CompiledUnit.of("#include <cuda_own.h>", [f"-I{header.parent}"], str(nvcc)) is None


class Module:
    """A module of the package: code in a context."""

    def get_function(self, name: str) -> Function:
        return Function()


class Function:
    """A kernel, with the launches that the package made of it."""

    def __init__(self) -> None:
        self.own: list[tuple[Any, ...]] = []

    def _launch_kernel(self, *launch: Any) -> None:
        self.own.append(launch)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Loads a text as the package does, with a session that has a library for `SOURCE`."""

    def load(source: str = SOURCE, code: bytes = b"code", answer: int = 0) -> Any:
        asked: list[tuple[Any, ...]] = []

        def launch_k(*words: Any) -> int:
            asked.append(words)
            return answer

        unit = CompiledUnit.of(SOURCE, (), NVCC)
        assert unit is not None
        library: Any = SimpleNamespace(cutune_launch_k=launch_k)
        session = Session(Path(), built={unit.digest: UnitLibrary(library)})
        functions = type("Functions", (Function,), {})
        modules = type("Modules", (Module,), {"get_function": lambda *about: functions()})
        compiler, driver = ModuleType("compiler"), ModuleType("driver")
        vars(compiler)["compile_plain"] = lambda *about: code
        vars(driver).update(Module=modules, Function=functions)
        vars(driver)["module_from_buffer"] = lambda *about: modules()
        monkeypatch.setattr(script_session, "_current_context", lambda: CONTEXT)
        script_session.watch_compiler(session, compiler)
        script_session.watch_driver(session, driver)
        compiler.compile_plain(source, [], False, NVCC, "")
        return driver, asked

    return load


def test_a_launch_by_the_library(watched: Callable[..., Any]) -> None:
    driver, asked = watched()
    function = driver.module_from_buffer(b"code").get_function("k")
    function._launch_kernel(*SHAPE, b"1234", 0, None)
    function._launch_kernel((2,), (8, 8), b"1234", 16, SimpleNamespace(handle=5))
    launches = [(*script_session.LAUNCH.unpack(words[0]), *words[1:]) for words in asked]
    first, second = (7, 0, 4, 1, 1, 64, 1, 1, 0), (7, 5, 2, 1, 1, 8, 8, 1, 16)
    assert launches == [(*first, b"1234", 4), (*second, b"1234", 4)]
    assert function.own == []


@pytest.mark.parametrize(
    ("about", "buffer", "name", "launch"),
    [
        ({"answer": 1}, b"code", "k", (*SHAPE, b"", 0, None)),
        ({"source": SOURCE + " "}, b"code", "k", (*SHAPE, b"", 0, None)),
        ({}, b"other", "k", (*SHAPE, b"", 0, None)),
        ({}, bytearray(b"code"), "k", (*SHAPE, b"", 0, None)),
        ({}, b"code", "other", (*SHAPE, b"", 0, None)),
        ({}, b"code", "k", ((4.0, 1), (64, 1, 1), b"", 0, None)),
        ({}, b"code", "k", ((-4, 1), (64, 1, 1), b"", 0, None)),
        ({}, b"code", "k", ((4, 1, 1, 1), (64, 1, 1), b"", 0, None)),
        ({}, b"code", "k", ((4, 1), 64, b"", 0, None)),
        ({}, b"code", "k", (*SHAPE, bytearray(), 0, None)),
    ],
)
def test_launches_as_they_are_written(
    watched: Callable[..., Any],
    about: dict[str, Any],
    buffer: bytes,
    name: str,
    launch: tuple[Any, ...],
) -> None:
    driver, asked = watched(**about)
    function = driver.module_from_buffer(buffer).get_function(name)
    function._launch_kernel(*launch)
    assert function.own == [launch]
    assert len(asked) == ("answer" in about)


def test_options_of_a_module_are_the_packages_own(watched: Callable[..., Any]) -> None:
    driver, asked = watched()
    function = driver.module_from_buffer(b"code", [(1, 2)]).get_function("k")
    function._launch_kernel(*SHAPE, b"", 0, None)
    assert (len(function.own), asked) == (1, [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file"),
        ("{", "Expecting"),
        ("[" * 100_000, "recursion"),
        ("[]", "damaged"),
        ('{"schema": "cutune-units-0"}', "version"),
        (f'{{"schema": "{SCHEMA}", "units": []}}', "damaged"),
        (f'{{"schema": "{SCHEMA}", "units": {{"a": null}}}}', "damaged"),
        (f'{{"schema": "{SCHEMA}", "units": {{"a": {{"source": 1}}}}}}', "damaged"),
    ],
)
def test_a_table_that_is_none(
    text: str | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (tmp_path / TABLE).write_text(text)
    assert Session.of(tmp_path).units == {}
    error = capsys.readouterr().err
    assert said in error and Code.SCRIPT_UNTUNED.number in error


def test_kernels_without_a_model_are_not_asked(tmp_path: Path) -> None:
    unit = CompiledUnit.of(SOURCE, ["-arch", "sm_80"], NVCC)
    assert unit is not None
    row = {"source": "k.cu", "kernels": ["other"], "architectures": ["80"]}
    (tmp_path / TABLE).write_text(json.dumps({"schema": SCHEMA, "units": {unit.digest: row}}))
    session = Session.of(tmp_path)
    assert session.launcher(script_session.LoadedUnit(unit, CONTEXT), "k") is None
    assert session.built == {}


def test_another_architecture_is_not_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unit = CompiledUnit.of(SOURCE, ["-arch", "sm_90"], NVCC)
    assert unit is not None
    row = {"source": "k.cu", "kernels": ["k"], "architectures": ["80"]}
    (tmp_path / TABLE).write_text(json.dumps({"schema": SCHEMA, "units": {unit.digest: row}}))
    session = Session.of(tmp_path)
    assert session.launcher(script_session.LoadedUnit(unit, CONTEXT), "k") is None
    assert "not proven for 'sm_90'" in capsys.readouterr().err


PTX = """.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 tile[64];
{variable}
.visible .entry k(.param .u32 k_param_0, .param .u64 k_param_1) {{ ret; }}
.visible .entry other() {{ ret; }}
.visible .entry _Z7mangledi(.param .u32 n) {{ ret; }}
"""


def test_functions_that_launch() -> None:
    text = program_text(SOURCE, parse(PTX.format(variable="")), ["k", "not_there", "_Z7mangledi"])
    assert text.startswith(SOURCE)
    assert "(cutune_passed<0>(k, at), cutune_passed<1>(k, at));" in text
    assert "cutune_launch_k(" in text
    assert "cutune_launch_other" not in text and "mangled" not in text


@pytest.mark.parametrize(
    ("variable", "found"),
    [("", []), (".const .align 4 .f32 c;", ["c"]), (".global .align 4 .u32 g = 1;", ["g"])],
)
def test_variables_that_outlive_a_launch(variable: str, found: list[str]) -> None:
    assert list(variables([parse(PTX.format(variable=variable))])) == found
