"""Which launches of a script are made by a library of a unit, and which as they are written."""

from __future__ import annotations

import ctypes
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutune.core.codes import Code
from cutune.ptx.parse import parse
from cutune.tuning.script_session import (
    SCHEMA,
    TABLE,
    CompiledUnit,
    LoadedUnit,
    OwnCompiler,
    Session,
    UnitLibrary,
    alike_kernels,
    built_library,
)
from cutune.tuning.scripts import program_text, variables

SOURCE = 'extern "C" __global__ void k(int n) { }\n'
NVCC = "/no/nvcc"
CONTEXT = 7


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


SAXPY = """
.visible .entry saxpy(
\t.param .u32 saxpy_param_0
)
{
\t.reg .b32 \t%r<{registers}>; // one of them
\t.loc\t1 9 0
\tret;

}
"""
OWN = "//\n.version 9.0\n.target sm_90\n.global .u32 unused;\n.weak .entry k()\n{\n ret;\n}\n"


@pytest.mark.parametrize(
    ("other", "alike"),
    [
        (SAXPY.replace("{registers}", "3"), {"saxpy"}),
        (SAXPY.replace("{registers}", "3").replace("\t.loc\t1 9 0\n", ""), {"saxpy"}),
        (SAXPY.replace("{registers}", "4"), set()),
        (".visible .entry k()\n{\n ret;\n}\n\t.section\t.debug_str\n\t{\n.b8 1\n\t}\n", {"k"}),
        (".visible .entry k()\n{\n ret;\n}\n.global .u32 other;\n", set()),
        (".func f()\n{\n ret;\n}\n.visible .entry k()\n{\n ret;\n}\n", set()),
    ],
)
def test_kernels_of_two_compilers(other: str, alike: set[str]) -> None:
    own = OWN + SAXPY.replace("{registers}", "3")
    assert alike_kernels(own, ".version 8.9\n.target sm_80\n" + other) == alike


def unit_compiled(folder: Path, code: str, registers: int = 3) -> LoadedUnit:
    """One of a package with a compiler of its own, and an nvcc that makes `code` of it."""
    nvcc = folder / "nvcc"
    (folder / "code.ptx").write_text(code)
    copied = f'cp {folder}/code.ptx "$last" || {{ echo error: none >&2; exit 1; }}'
    nvcc.write_text(f"#!/bin/sh\nfor last; do :; done\n{copied}\n")
    nvcc.chmod(0o755)
    unit = CompiledUnit.of(SOURCE, ["-arch", "sm_90"], str(nvcc))
    assert unit is not None
    own = SAXPY.replace("{registers}", str(registers))
    return LoadedUnit(unit, CONTEXT, OwnCompiler("1", lambda architecture: f"{architecture};{own}"))


@pytest.mark.parametrize(
    ("registers", "said"),
    [(3, None), (4, "to other code"), (0, "nvcc does not compile kernel 'saxpy': error: none")],
)
def test_what_tune_is_told(registers: int, said: str | None, tmp_path: Path) -> None:
    code = ".version 9.0\n.target sm_80\n80;" + SAXPY.replace("{registers}", str(registers))
    loaded = unit_compiled(tmp_path, code)
    if not registers:
        (tmp_path / "code.ptx").unlink()
    noted = tmp_path / "noted.jsonl"
    assert Session.noting(str(noted)).launcher(loaded, "saxpy", "saxpy<int>") is None
    row = json.loads(noted.read_text())
    if said is None:
        assert (row["kernel"], row["spelled"], row["source"]) == ("saxpy", "saxpy<int>", SOURCE)
    else:
        assert said in row["left"]


def test_other_code_is_not_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = ".target sm_90\n90;" + SAXPY.replace("{registers}", "4")
    loaded = unit_compiled(tmp_path, code)
    row = {"source": "k.cu", "kernels": ["saxpy"], "architectures": ["90"]}
    (tmp_path / "k.cu").write_text("")
    session = Session(tmp_path, {loaded.unit.digest: row})
    assert session.launcher(loaded, "saxpy") is None
    assert "nvcc compiles kernel 'saxpy' to other code" in capsys.readouterr().err


#: What a library has of CUDA, and a kernel that tells how it was called.
STAND_IN = """
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
typedef struct CUstream_st *cudaStream_t;
enum cudaError_t { cudaSuccess, cudaFailed };
extern "C" { double seen[12]; int pending = 0; }
static cudaError_t cudaPeekAtLastError() { return pending ? cudaFailed : cudaSuccess; }
static cudaError_t cudaGetLastError() { return cudaPeekAtLastError(); }
static void record(dim3 g, dim3 b, unsigned shared, cudaStream_t stream)
{
    const unsigned all[] = {g.x, g.y, g.z, b.x, b.y, b.z, shared};
    for (int i = 0; i < 7; ++i) seen[i] = all[i];
    seen[7] = static_cast<double>(reinterpret_cast<size_t>(stream));
}
static void k(char c, double a, short n) { seen[8] = c; seen[9] = a; seen[10] = n; }
extern "C" int context(void **to) { *to = (void *)7; return 0; }
"""
LAYOUT = [(0, 1), (8, 8), (16, 2)]
VALUES = struct.pack("=b7xdh", 3, 0.5, -4)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """That of a unit, on a stand-in for CUDA."""
    folder = tmp_path_factory.mktemp("library")
    ptx = ".visible .entry k(.param .u8 a, .param .f64 b, .param .u16 c) { ret; }"
    text = program_text(
        "", parse(f".version 8.0\n.target sm_80\n.address_size 64\n{ptx}"), {"k": "k"}
    )
    text = re.sub(r"k<<<(.*)>>>", r"record(\1), k", text)
    source, made = folder / "k.cpp", folder / "k.so"
    source.write_text("#include <sys/types.h>\n" + STAND_IN + text)
    command = [
        "g++",
        "-std=c++11",
        "-Wall",
        "-Werror",
        "-shared",
        "-fPIC",
        str(source),
        "-o",
        str(made),
    ]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(made))


@pytest.mark.parametrize(
    ("launch", "seen"),
    [
        (((4,), (64,), 0, 0, VALUES), (4, 1, 1, 64, 1, 1, 0, 0)),
        (((4, 3, 2), (8, 4, 2), 16, 5, VALUES), (4, 3, 2, 8, 4, 2, 16, 5)),
        (((1, 3), (8, 4), 0, 2**40, VALUES), (1, 3, 1, 8, 4, 1, 0, 2**40)),
        (((True, 3), (8, 4), 0, 0, VALUES), None),
        (((np.int64(1), 3), (8, 4), 0, 0, VALUES), None),
        (((1, 3), (8, 4), np.int64(8), 0, VALUES), None),
        (((4, 0), (64,), 0, 0, VALUES), None),
        (((4,), (-64,), 0, 0, VALUES), None),
        (((4.0,), (64,), 0, 0, VALUES), None),
        (((2**31,), (64,), 0, 0, VALUES), None),
        (((2**70,), (64,), 0, 0, VALUES), None),
        (((4, 1, 1, 1), (64,), 0, 0, VALUES), None),
        (((), (64,), 0, 0, VALUES), None),
        (([4], (64,), 0, 0, VALUES), None),
        ((4, (64,), 0, 0, VALUES), None),
        (((4,), (64,), -1, 0, VALUES), None),
        (((4,), (64,), 0, "stream", VALUES), None),
        (((4,), (64,), 0, 0, bytearray(VALUES)), None),
        (((4,), (64,), 0, 0, VALUES[:-1]), None),
        (((4,), (64,), 0, 0, VALUES + b"0"), None),
        (((4,), (64,), 0, 0), None),
        (((4,), (64,), 0, 0, VALUES, 1), None),
    ],
)
def test_a_launch_by_the_library(
    library: ctypes.CDLL, launch: Any, seen: tuple[float, ...] | None
) -> None:
    units = UnitLibrary(library)
    assert units.launcher("other", CONTEXT) is None
    launcher = units.launcher("k", CONTEXT)
    assert launcher is not None and launcher.layout == LAYOUT
    found = (ctypes.c_double * 12).in_dll(library, "seen")
    found[:] = [0] * 12
    library.cutune_ask_driver(library.context)
    assert launcher.launch(*launch) is (seen is not None)
    assert tuple(found[:11]) == ((*seen, 3, 0.5, -4) if seen else (0,) * 11)


def test_launches_that_the_library_leaves(library: ctypes.CDLL) -> None:
    """Those in another context, and those behind an error."""
    launch = (4,), (64,), 0, 0, VALUES
    other, own = (UnitLibrary(library).launcher("k", context) for context in (8, CONTEXT))
    assert other is not None and own is not None
    library.cutune_ask_driver(library.context)
    assert not other.launch(*launch) and own.launch(*launch)
    pending = ctypes.c_int.in_dll(library, "pending")
    pending.value = 1
    assert not own.launch(*launch)
    pending.value = 0
    assert own.launch(*launch)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cutune tune SCRIPT.py --run"),
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
    assert session.launcher(LoadedUnit(unit, CONTEXT), "k") is None
    assert session.built == {}


def test_another_architecture_is_not_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unit = CompiledUnit.of(SOURCE, ["-arch", "sm_90"], NVCC)
    assert unit is not None
    row = {"source": "k.cu", "kernels": ["k"], "architectures": ["80"]}
    (tmp_path / TABLE).write_text(json.dumps({"schema": SCHEMA, "units": {unit.digest: row}}))
    session = Session.of(tmp_path)
    assert session.launcher(LoadedUnit(unit, CONTEXT), "k") is None
    assert "not proven for 'sm_90'" in capsys.readouterr().err


#: Notes its words, and makes what is named behind -o.
NOTING_STAND_IN = """#!/bin/sh
case "$*" in --version) echo release; exit ;; esac
echo "$@" > {words}
while [ "$1" != -o ]; do shift; done
: > "$2"
"""


@pytest.mark.parametrize("is_wheel", [True, False])
def test_libraries_are_found_where_wheels_have_them(is_wheel: bool, tmp_path: Path) -> None:
    for name in ("bin", "lib", *([] if is_wheel else ["lib64"])):
        (tmp_path / name).mkdir()
    (tmp_path / "lib" / "libcudart_static.a").touch()
    nvcc, words = tmp_path / "bin" / "nvcc", tmp_path / "words"
    nvcc.write_text(NOTING_STAND_IN.format(words=words))
    nvcc.chmod(0o755)
    (tmp_path / "k.cu").write_text(SOURCE)
    unit = CompiledUnit.of(SOURCE, ["-arch", "sm_80"], str(nvcc))
    assert unit is not None
    row = {"source": "k.cu", "kernels": ["k"], "architectures": ["80"]}
    assert built_library(tmp_path, row, LoadedUnit(unit, CONTEXT)).exists()
    assert (f"-L{tmp_path}/lib" in words.read_text().split()) == is_wheel


PTX = """.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 tile[64];
{variable}
.visible .entry k(.param .u32 k_param_0, .param .u64 k_param_1) {{ ret; }}
.visible .entry other() {{ ret; }}
.visible .entry _Z7mangledi(.param .u32 n) {{ ret; }}
.visible .entry _Z1ti(.param .u32 n) {{ ret; }}
"""


def test_functions_that_launch() -> None:
    names = {"k": "k", "not_there": "not_there", "_Z7mangledi": "_Z7mangledi", "_Z1ti": "t<int>"}
    text = program_text(SOURCE, parse(PTX.format(variable="")), names)
    assert text.startswith(SOURCE)
    assert "(cutune_passed<0>(k, at), cutune_passed<1>(k, at));" in text
    assert "cutune_launch_k(" in text
    assert "cutune_launch_other" not in text and "mangled" not in text
    assert "cutune_launch__Z1ti" in text and " t<int><<<" in text


@pytest.mark.parametrize(
    ("variable", "found"),
    [("", []), (".const .align 4 .f32 c;", ["c"]), (".global .align 4 .u32 g = 1;", ["g"])],
)
def test_variables_that_outlive_a_launch(variable: str, found: list[str]) -> None:
    assert list(variables([parse(PTX.format(variable=variable))])) == found


def test_a_script_is_run_as_python_runs_it(tmp_path: Path) -> None:
    text = "import os, sys; os.chdir('/'); print(__file__, __name__, sys.argv, sys.path[0])"
    (tmp_path / "script.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    printed = [
        subprocess.run(
            [sys.executable, *started, "script.py", "word"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for started in ([], ["-m", "cutune.tuned"])
    ]
    assert printed[0] == printed[1] != ""
