"""Programs that are built of the code that their analysis has compiled: the same programs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cutune.core.diagnostics import CutuneError
from cutune.emulator.link import TARGET_FLAGS
from cutune.emulator.program_builds import (
    InstrumentedProgram,
    build,
    build_emulated,
    build_instrumented,
)
from cutune.measure.resources import resources_of
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.variants.registry import with_only
from cutune.toolchain import built_code as host_build
from cutune.toolchain import device_code, dry_run
from cutune.toolchain.built_code import BuiltCode
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, Nvcc
from cutune.toolchain.preprocessed import files_of
from cutune.toolchain.toolchain import Toolchain

pytestmark = pytest.mark.nvcc
STANDARD = "-std=c++14"
HEADER = """\
#include <cstdio>
template <typename T> __global__ void add(int n, const T *a, T *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] += a[i] * i;
}
"""
SOURCE = """\
#include "kernels.h"
__constant__ float offset = 3.0f;
__device__ float further[2] = {1.0f, 2.0f};
namespace {
int points() { return 1000; }
}
static __global__ void fill(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = offset + further[i % 2];
}
template <typename T> __global__ void mix(int n, const T *a, T *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = 2 * b[i] + a[i] + a[i / 2];
}
int main() {
    const int n = points();
    float *a, *b, sum = 0, *values = new float[n];
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMemset(b, 0, n * sizeof(float));
    fill<<<(n + 127) / 128, 128>>>(n, a);
    add<<<(n + 127) / 128, 128>>>(n, a, b);
    add<float><<<(n + 127) / 128, 128>>>(n, a, b);
    mix<<<(n + 127) / 128, 128>>>(n, a, b);
    cudaMemcpy(values, b, n * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) sum += values[i];
    printf("%s %.1f\\n", cudaGetErrorString(cudaGetLastError()), sum);
    return 0;
}
"""
OTHER = """\
#include "kernels.h"
void other(int n, double *a, double *b) { add<<<n, 32>>>(n, a, b); }
"""


@pytest.fixture(scope="module", autouse=True)
def own_kept_code(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is known of a source depends on what was kept before: here nothing was."""
    folder = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_code, "cache_folder", lambda: folder)
        yield


@pytest.fixture
def run_programs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is run of nvcc's steps for a program."""
    names: list[str] = []
    run = dry_run.run

    def noted(command: Sequence[str], environment: Mapping[str, str]) -> None:
        names.append(os.path.basename(command[0]))
        run(command, environment)

    monkeypatch.setattr(host_build, "run", noted)
    return names


def written(folder: Path, text: str = SOURCE, name: str = "app.cu") -> str:
    (folder / "kernels.h").write_text(HEADER)
    (folder / name).write_text(text)
    return str(folder / name)


def output(program: Path) -> str:
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def instrumented(analyzer: Analyzer, paths: Sequence[str], folder: Path) -> InstrumentedProgram:
    """The program of these sources with hooks, built of the code that is known."""
    loaded = analyzer.load_all(paths, require_nvcc=True)
    programs = [analyzer.with_checked_variants(one) for one in loaded]
    assert sum(len(one.tunable_launches) for one in programs) >= 3
    flags = [analyzer.toolchain.compile_flags(program.source.path) for program in programs]
    codes = list(map(analyzer.code.built, programs, flags))
    return build_instrumented(analyzer.toolchain, programs, folder / "built", None, codes)


def built(analyzer: Analyzer, paths: Sequence[str], folder: Path) -> str:
    """What the instrumented program of these sources prints."""
    return output(instrumented(analyzer, paths, folder).binary)


def refuse_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise AssertionError("nvcc builds the program")

    monkeypatch.setattr(Nvcc, "check", fails)


@pytest.mark.parametrize(
    ("name", "with_variants"),
    [("app.cu", True), ("app.cu", False), ("of a user's (1).cu", True), ("app.inc", False)],
)
def test_one_source(
    name: str,
    with_variants: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run_programs: list[str],
) -> None:
    language = ("-x", "cu") if name.endswith(".inc") else ()
    analyzer = Analyzer(Toolchain(flags=(STANDARD, *language)), with_variants=with_variants)
    path = written(tmp_path, name=name)
    expected = output(build_emulated(analyzer.toolchain, path, tmp_path))
    assert expected.startswith("no error")
    refuse_nvcc(monkeypatch)
    assert built(analyzer, [path], tmp_path) == expected
    assert "cudafe++" in run_programs and "cicc" not in run_programs


def test_the_files_that_were_read_are_known(tmp_path: Path) -> None:
    analyzer = Analyzer(Toolchain(flags=(STANDARD,)))
    paths = [written(tmp_path), written(tmp_path, OTHER, "other.cu")]
    read = instrumented(analyzer, paths, tmp_path).read
    assert len(read) == 2
    for source, files in read.items():
        flags = [STANDARD, "-Xcompiler", f"-iquote,{tmp_path}", f"-I{INCLUDE_DIRECTORY}"]
        flags += ["-O1", "-DCUTUNE_PROBE_LINKED", *TARGET_FLAGS]
        assert files_of(analyzer.toolchain.nvcc.preprocess(str(source), flags)) == files


def test_several_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_programs: list[str]
) -> None:
    analyzer = Analyzer(Toolchain(flags=(STANDARD,)))
    path, other = written(tmp_path), written(tmp_path, OTHER, "other.cu")
    expected = output(build_emulated(analyzer.toolchain, path, tmp_path))
    refuse_nvcc(monkeypatch)
    assert built(analyzer, [path, other], tmp_path) == expected
    assert run_programs.count("cudafe++") == 2 and "nvlink" not in run_programs


@pytest.mark.long
@pytest.mark.parametrize(
    "flags", [("-rdc=true",), ("--keep",), ("-Xptxas", "-v", "-G"), ("-arch=sm_80",)]
)
def test_anything_unusual_is_built_by_nvcc(
    flags: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_programs: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    analyzer = Analyzer(Toolchain(flags=(STANDARD, *flags)))
    assert built(analyzer, [written(tmp_path)], tmp_path).startswith("no error")
    assert run_programs == []


def without_instance(code: BuiltCode) -> BuiltCode:
    """The same as if a template were not instantiated."""
    lines = [line for line in code.stub.splitlines(True) if "_wrapper__device_stub_add" not in line]
    return replace(code, stub="".join(lines))


@pytest.mark.parametrize("others", [[], [OTHER]])
def test_where_the_code_lacks_a_kernel_nvcc_builds(
    others: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_programs: list[str]
) -> None:
    analyzer = Analyzer(Toolchain(flags=(STANDARD,)))
    paths = [written(tmp_path), *(written(tmp_path, text, "other.cu") for text in others)]
    include = BuiltCode.stub_including
    monkeypatch.setattr(
        BuiltCode, "stub_including", lambda code, name: include(without_instance(code), name)
    )
    expected = output(build_emulated(analyzer.toolchain, paths[0], tmp_path))
    assert built(analyzer, paths, tmp_path) == expected
    assert "cudafe++" in run_programs


def test_what_does_not_compile_is_said_by_nvcc(tmp_path: Path) -> None:
    analyzer = Analyzer(Toolchain(flags=(STANDARD,)))
    (program,) = analyzer.load_all([written(tmp_path)], require_nvcc=True)
    code = analyzer.code.built(program, analyzer.toolchain.compile_flags(program.source.path))
    assert code is not None
    broken = Path(written(tmp_path, SOURCE.replace("return 0", "return nothing"), "broken.cu"))
    with pytest.raises(CutuneError, match='identifier "nothing" is undefined') as caught:
        build(
            analyzer.toolchain,
            broken,
            analyzer.toolchain.compile_flags(str(broken)),
            tmp_path / "broken",
            None,
            code,
        )
    assert caught.value.diagnostic.code.number == "CT701"


def test_variants_are_compiled_once_for_their_registers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyzer = Analyzer(Toolchain(flags=(STANDARD,), architectures=("sm_80", "sm_90")))
    loaded, h200 = analyzer.load(written(tmp_path), require_nvcc=True), DeviceProfile.named("h200")
    program = analyzer.with_checked_variants(loaded)
    assert any(kernel.variants for kernel in program.kernels)
    with monkeypatch.context() as patch:
        patch.setattr(Nvcc, "check", None)
        found = resources_of(analyzer.toolchain, analyzer.code, program, h200)
    fresh = Analyzer(Toolchain(flags=(STANDARD,), architectures=("sm_80", "sm_90")))
    assert found == resources_of(fresh.toolchain, fresh.code, program, h200)


def test_code_of_other_variants_is_not_taken(tmp_path: Path) -> None:
    analyzer = Analyzer(Toolchain(flags=(STANDARD,)))
    program = analyzer.with_checked_variants(analyzer.load(written(tmp_path), require_nvcc=True))
    flags, known = analyzer.toolchain.compile_flags(program.source.path), analyzer.code
    names = {kernel.name: [one.name for one in kernel.variants] for kernel in program.kernels}
    assert len(names["mix"]) > 1
    of_all, of_none = known.built(program, flags), known.built(with_only(program, {}), flags)
    assert of_all is not None and "mix__" in of_all.stub
    assert of_none is not None and "mix__" not in of_none.stub
    assert known.built(with_only(program, {"mix": names["mix"][:1]}), flags) is None
    assert known.built(program, [*flags, "-DX"]) is None
