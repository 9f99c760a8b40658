"""CUDA programs on the emulated device: built by nvcc, linked to the replacement libcudart."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from threading import Timer

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.emulator.launch_log import LaunchRecord, read_launches
from cutune.emulator.link import alias_folder, append_flags, own_build_flags
from cutune.emulator.run import RunResult, main_run, program_environment, run_program
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.nvcc import Nvcc, find_nvcc
from tests.support.cutune_runs import build_flags
from tests.support.hardware_counters import memory_ratios, ratio
from tests.support.short_headers import STANDARD, with_all_headers

pytestmark = pytest.mark.nvcc

PROGRAMS = Path(__file__).parents[1] / "corpus" / "programs"
RECORDED = Path(__file__).parents[1] / "recorded"
SAMPLES = Path(__file__).parents[2] / "samples" / "polybench"
SAMPLE_NAMES = sorted(path.stem for path in SAMPLES.glob("*.cu"))
SINGLE = (
    "vector_add",
    "symbols",
    "streams_events",
    "errors",
    "sticky",
    "managed",
    "templates",
    "device_queries",
    "snapshot",
    "unsupported",
    "library_algorithms",
    "textures",
    "graphs",
    "groups",
    "matrices",
)
#: Which compile for long.
LARGE = ("library_algorithms", "symbols", "groups")

#: What they include asks for C++17.
MODERN = ("library_algorithms", "groups")
#: What they include relies on mathematics, or they use what few programs do.
RELYING = (*MODERN, "matrices", "templates", "textures", "unsupported")

#: Holds a function that only runtimes of CUDA 12 have.
OLDER = """extern "C" int cudaGetDeviceProperties_v2() { return 0; }
int main() { return cudaDeviceSynchronize(); }
"""

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def nvcc() -> Nvcc:
    return find_nvcc()


@pytest.fixture(scope="module")
def build(nvcc: Nvcc, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile sources for the emulated device, once for all tests; further flags may follow."""

    @cache
    def compiled(*sources: Path, flags: Sequence[str] = (STANDARD,)) -> Path:
        program = tmp_path_factory.mktemp("build") / sources[0].stem
        headers = with_all_headers() if sources[0].stem in RELYING else nullcontext()
        own = build_flags() if "-rdc=true" not in flags else own_build_flags(nvcc)
        with headers:
            nvcc.check([*map(str, sources), *own, *flags, "-o", str(program)])
        return program

    return compiled


CMAKE = """cmake_minimum_required(VERSION 3.18)
project(app LANGUAGES CXX CUDA)
add_executable(app SOURCE)
set_target_properties(app PROPERTIES CUDA_ARCHITECTURES 80 LINK_FLAGS -s)
"""


def execute(program: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {**program_environment(program), **settings}
    return subprocess.run(
        [program, *arguments], env=environment, capture_output=True, text=True, check=False
    )


def launches(program: Path, folder: Path, **settings: str) -> list[LaunchRecord]:
    log = folder / "launches.jsonl"
    done = execute(program, CUTUNE_LAUNCH_LOG=str(log), **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return list(read_launches(log))


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if name in LARGE else []) for name in SINGLE],
)
def test_program_passes_its_own_check(build: Build, name: str) -> None:
    standard = "-std=c++17" if name in MODERN else STANDARD
    done = execute(build(PROGRAMS / f"{name}.cu", flags=(standard,)))
    assert (done.stdout.splitlines()[-1:], done.returncode) == (["PASS"], 0), done.stderr


def test_several_devices(build: Build) -> None:
    program = build(PROGRAMS / "devices.cu")
    done = execute(program, CUTUNE_DEVICES="3")
    assert (done.stdout, done.returncode) == ("PASS\n", 0), done.stderr
    reason = "uses memory of device 2, to which device 1 has no access (cudaDeviceEnablePeerAccess)"
    assert f"cutune: a kernel on device 1 {reason}" in done.stderr.splitlines()


@pytest.mark.parametrize("count", ["0", "17", "two", "2x", "-1", " 2"])
def test_a_wrong_number_of_devices_is_one_error(build: Build, count: str) -> None:
    done = execute(build(PROGRAMS / "vector_add.cu"), CUTUNE_DEVICES=count)
    said = f"cutune: CUTUNE_DEVICES={count} is no number of devices; write one from 1 to 16\n"
    assert (done.stdout, done.stderr, done.returncode) == ("", said, 1)


MANY_STEPS = """
#include <cstdio>
int main() {
    char *a;
    cudaEvent_t begin, end;
    float ms;
    cudaMalloc(&a, 64);
    cudaEventCreate(&begin), cudaEventCreate(&end);
    cudaEventRecord(begin);
    for (int step = 0; step < 4000; ++step) cudaMemset(a, 0, 64);
    cudaEventRecord(end);
    cudaEventElapsedTime(&ms, begin, end);
    printf("%.9g\\n", ms / 4000);
}
"""


def test_means_of_many_times_vary_by_the_seed_of_the_clock(build: Build, tmp_path: Path) -> None:
    """Programs print the mean of a thousand launches, which another block makes another."""
    source = tmp_path / "steps.cu"
    source.write_text(MANY_STEPS)
    program = build(source)
    always = float(execute(program).stdout)
    assert float(execute(program).stdout) == always
    means = [float(execute(program, CUTUNE_CLOCK_SEED=str(seed)).stdout) for seed in range(1, 7)]
    assert all(0.4 * always < mean < 1.6 * always for mean in means)
    assert max(means) > 1.2 * min(means)


def test_two_translation_units(build: Build) -> None:
    program = build(PROGRAMS / "two_files_main.cu", PROGRAMS / "two_files_other.cu")
    assert execute(program).stdout == "PASS\n"


def test_separate_compilation(build: Build) -> None:
    sources = [PROGRAMS / "separate_main.cu", PROGRAMS / "separate_other.cu"]
    done = execute(build(*sources, flags=("-rdc=true", STANDARD)))
    assert done.stdout == "PASS\n", done.stderr


@pytest.mark.parametrize("mode", ["default", "size", "speed", "none"])
def test_compressed_fat_binaries(build: Build, nvcc: Nvcc, mode: str) -> None:
    if int(nvcc.version.split(".")[0]) < 13 and mode != "default":
        pytest.skip("this nvcc has no -compress-mode")
    program = build(PROGRAMS / "vector_add.cu", flags=("-compress-mode", mode, STANDARD))
    assert execute(program).stdout == "PASS\n"


def test_per_thread_default_streams(build: Build) -> None:
    for name in ("vector_add", "streams_events"):
        program = build(PROGRAMS / f"{name}.cu", flags=("-default-stream", "per-thread", STANDARD))
        assert execute(program).stdout == "PASS\n"


@pytest.mark.parametrize("macro", ["", "-DcudaThreadSynchronize=cudaDeviceSynchronize"])
def test_a_build_that_knows_nothing_of_cutune(nvcc: Nvcc, tmp_path: Path, macro: str) -> None:
    source = tmp_path / "old.cu"
    text = (PROGRAMS / "vector_add.cu").read_text().replace("DeviceSynch", "ThreadSynch")
    source.write_text(text)
    (tmp_path / "check.h").write_text((PROGRAMS / "check.h").read_text())
    environment = {**os.environ, "NVCC_APPEND_FLAGS": append_flags(nvcc)}
    options = [*nvcc.extra_flags, "-arch=sm_90", *filter(None, [macro])]
    command = [str(nvcc.path), *options, "old.cu", "-o", "old"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    done = execute(tmp_path / "old")
    assert (done.stdout, done.stderr) == ("PASS\n", "")
    assert str(alias_folder(nvcc)) in program_environment(tmp_path / "old")["LD_LIBRARY_PATH"]


def test_a_program_that_holds_the_runtime(nvcc: Nvcc, tmp_path: Path) -> None:
    program = tmp_path / "static"
    nvcc.check([str(PROGRAMS / "vector_add.cu"), "-o", str(program)])
    assert execute(program).stdout == "PASS\n"


def test_a_program_that_holds_the_runtime_of_another_version(nvcc: Nvcc, tmp_path: Path) -> None:
    if int(nvcc.version.split(".")[0]) < 13:
        pytest.skip("this runtime has the function itself")
    (tmp_path / "older.cu").write_text(OLDER)
    program = tmp_path / "older"
    nvcc.check([str(tmp_path / "older.cu"), "-o", str(program)])
    done = execute(program)
    assert done.returncode == 1
    assert "it asks for the runtime of CUDA 12, this nvcc offers that of CUDA 13" in done.stderr


def test_a_program_for_gpus_only_is_refused(nvcc: Nvcc, tmp_path: Path) -> None:
    program = tmp_path / "gpu_only"
    nvcc.check([str(PROGRAMS / "vector_add.cu"), "-Xlinker", "-s", "-o", str(program)])
    with pytest.raises(CutuneError) as caught:
        run_program([str(program)], DeviceProfile.named("h200"))
    assert caught.value.diagnostic.code is Code.STATIC_CUDART
    assert "NVCC_APPEND_FLAGS='-no-compress -cudart shared" in caught.value.diagnostic.message


@pytest.mark.long
@pytest.mark.skipif(shutil.which("cmake") is None, reason="without CMake")
def test_what_cmake_is_told_then_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It links the static runtime itself, whatever its launcher says."""
    source = str(PROGRAMS / "vector_add.cu")
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.replace("SOURCE", source))
    cutune = tmp_path / "cutune"
    cutune.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cutune "$@"\n')
    cutune.chmod(0o755)
    monkeypatch.setenv("CUTUNE_MODE", "tuned,emulated")
    program = tmp_path / "build" / "app"

    def build(*options: str) -> None:
        shutil.rmtree(program.parent, ignore_errors=True)
        launcher = f"-DCMAKE_CUDA_COMPILER_LAUNCHER={cutune};nvcc"
        for words in (["-S", ".", "-B", "build", launcher, *options], ["--build", "build"]):
            subprocess.run(["cmake", *words], cwd=tmp_path, check=True, capture_output=True)

    build()
    with pytest.raises(CutuneError) as caught:
        run_program([str(program)], DeviceProfile.named("h200"))
    told = re.findall(r"as CMake's launcher with (-D\S+), too", caught.value.diagnostic.message)
    build(*told)
    assert execute(program).stdout == "PASS\n"


def test_a_program_without_ptx_says_how_to_rebuild_it(nvcc: Nvcc, tmp_path: Path) -> None:
    program = tmp_path / "no_ptx"
    flags = [flag for flag in build_flags() if "compute_80" not in flag]
    flags = [flag for flag in flags if flag != "-gencode"]
    target = ["-gencode", "arch=compute_90,code=sm_90"]
    nvcc.check([str(PROGRAMS / "vector_add.cu"), *flags, *target, "-o", str(program)])
    done = execute(program)
    assert done.returncode == 1
    assert done.stderr.count("built without PTX, only for sm_90; rebuild it") == 1


def test_a_program_ends_where_cutune_fails_to_assemble_it(build: Build, tmp_path: Path) -> None:
    program = build(PROGRAMS / "vector_add.cu")
    cache = str(tmp_path / "cache")
    for python, said in (("/bin/false", "cutune itself failed"), ("/nowhere", "cannot start")):
        done = execute(program, CUTUNE_PYTHON=python, XDG_CACHE_HOME=cache)
        assert done.returncode == 1
        assert said in done.stderr and not done.stdout


def test_of_conflicting_stores_the_one_stays_that_stays_on_an_h200(build: Build) -> None:
    done = execute(build(PROGRAMS / "store_conflicts.cu"))
    assert done.stdout == (RECORDED / "store_conflicts_h200.txt").read_text()


def test_an_illegal_access_names_its_place_in_the_source(build: Build) -> None:
    done = execute(build(PROGRAMS / "sticky.cu"))
    assert "cutune: illegal address: kernel _Z6beyondPi" in done.stderr
    assert "source line 4: store of 4 bytes" in done.stderr


def test_a_launch_that_cuda_refuses_is_said_once(build: Build, tmp_path: Path) -> None:
    """Who does not ask for errors would see nothing."""
    source = tmp_path / "empty.cu"
    source.write_text("""
        extern "C" __global__ void work(int *a) { a[threadIdx.x] = 1; }
        int main() {
            int *a;
            cudaMalloc(&a, 128);
            for (int blocks = 1; blocks >= 0; --blocks) work<<<blocks, 32>>>(a);
            work<<<0, 32>>>(a);
            return cudaGetLastError() == cudaErrorInvalidValue ? 0 : 1;
        }
    """)
    done = execute(build(source))
    about = "(grid 0x1x1, block 32x1x1, 0 bytes of dynamic shared memory)"
    said = f"cutune: kernel 'work' is not launched: invalid argument {about}\n"
    assert (done.returncode, done.stderr) == (0, said)


def test_the_launch_log_tells_what_was_launched(build: Build, tmp_path: Path) -> None:
    program = build(PROGRAMS / "vector_add.cu")
    (launch,) = launches(program, tmp_path, CUTUNE_COUNT="1")
    assert launch.kernel == "_Z3addiPKfS0_Pf"
    assert (launch.grid, launch.block, launch.shared) == ((4, 1, 1), (256, 1, 1), 0)
    assert int.from_bytes(launch.parameters[:4], "little") == 1000
    assert [(p.offset, p.size, p.delta) for p in launch.pointers] == [
        (8, 4000, 0),
        (16, 4000, 0),
        (24, 4000, 0),
    ]
    assert Path(launch.module).read_text().count(".entry") == 1
    assert launch.site is None and launch.executed_blocks == 4
    # 1000 threads in 32 warps; two loads and a store each.
    assert sum(site["executions"] for site in launch.sites) == 3 * 32
    assert sum(site["lanes"] for site in launch.sites) == 3 * 1000


def test_tracing_counts_sectors(build: Build, tmp_path: Path) -> None:
    (launch,) = launches(build(PROGRAMS / "vector_add.cu"), tmp_path, CUTUNE_COUNT="trace")
    assert sum(site["sectors"] for site in launch.sites) == 3 * 1000 * 4 // 32
    assert sum(site["traced"] for site in launch.sites) == 3 * 32


def test_launch_sites_and_the_limit_of_the_log(build: Build, tmp_path: Path) -> None:
    program = build(PROGRAMS / "snapshot.cu")
    assert [launch.site for launch in launches(program, tmp_path)] == [None, 7, 7, 7]
    (tmp_path / "launches.jsonl").unlink()
    limited = launches(program, tmp_path, CUTUNE_LOG_LIMIT="1")
    assert [(launch.site, launch.sequence) for launch in limited] == [(None, 0), (7, 1)]


def test_the_program_sees_the_described_device(build: Build, tmp_path: Path) -> None:
    program = build(PROGRAMS / "device_queries.cu")
    description = tmp_path / "device.txt"
    description.write_text("name Test GPU 1\ncompute_capability 8.6\nmultiprocessors 14\n")
    done = execute(program, CUTUNE_DEVICE_FILE=str(description))
    assert done.stdout.splitlines()[0] == "Test GPU 1 8.6 14"
    assert execute(program).stdout.splitlines()[0] == "NVIDIA H200 9.0 132"


def test_run_sums_up_the_kernels(
    build: Build, capfd: pytest.CaptureFixture[str], nvcc: Nvcc
) -> None:
    program = build(PROGRAMS / "vector_add.cu")
    result = run_program([str(program), "500"], DeviceProfile.named("h200"), trace=True)
    assert isinstance(result, RunResult) and result.status == 0
    (kernel,) = result.kernels
    assert (kernel.launches, kernel.grid, kernel.block) == (1, (2, 1, 1), (256, 1, 1))
    capfd.readouterr()
    assert main_run([str(program)]) == 0
    shown = capfd.readouterr()
    assert shown.out == "PASS\n" and "1 launch, grid 4x1x1, block 256x1x1" in shown.err
    assert main_run([str(program)], json_output=True) == 0
    shown = capfd.readouterr()
    assert json.loads(shown.out)["kernels"][0]["launches"] == 1 and "PASS" in shown.err


def test_the_status_of_the_program_is_returned(build: Build, tmp_path: Path) -> None:
    source = tmp_path / "status.cu"
    source.write_text(
        "int main(int argc, char **) { cudaFree(0); if (argc > 1) __builtin_trap(); return 3; }"
    )
    program = build(source)
    assert main_run([str(program)]) == 3
    assert main_run([str(program), "x"]) > 128


@pytest.mark.parametrize("reason", ["no such program", "it is not executable"])
def test_what_cannot_be_run_is_said(tmp_path: Path, reason: str) -> None:
    path = tmp_path / "file"
    if "executable" in reason:
        path.write_text("")
    with pytest.raises(CutuneError) as caught:
        main_run([str(path)])
    assert caught.value.diagnostic.code is Code.NOT_RUN
    assert reason in caught.value.diagnostic.message
    # Nothing waits to say that it runs long.
    timers = [thread for thread in threading.enumerate() if isinstance(thread, Timer)]
    assert all(timer.finished.is_set() for timer in timers)


@pytest.fixture(scope="module")
def samples(build: Build, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Programs that run a sample, which is their first argument.

    They are compiled together, which is quicker. Corr and covar, 2mm and 3mm share names.
    """
    folder = tmp_path_factory.mktemp("samples")
    programs: dict[str, Path] = {}
    apart = ["2mm", "covar"]
    for number, part in enumerate(([name for name in SAMPLE_NAMES if name not in apart], apart)):
        source = folder / f"part{number}.cu"
        source.write_text(_dispatching(part))
        program = build(source, flags=(f"-I{SAMPLES}", STANDARD))
        programs |= dict.fromkeys(part, program)
    return programs


def _dispatching(names: Sequence[str]) -> str:
    renamed = (f'#define main main_{name}\n#include "{name}.cu"\n#undef main\n' for name in names)
    calls = (
        f'    if (!strcmp(words[1], "{name}")) return main_{name}(count - 1, words + 1);\n'
        for name in names
    )
    body = f"int main(int count, char **words) {{\n{''.join(calls)}    return 1;\n}}\n"
    return "".join(("#include <cstring>\n", *renamed, body))


@pytest.mark.long
@pytest.mark.parametrize("name", SAMPLE_NAMES)
def test_polybench_sample_passes_and_counts_as_a_gpu(
    samples: dict[str, Path], name: str, tmp_path: Path
) -> None:
    log = tmp_path / "launches.jsonl"
    settings = {"CUTUNE_COUNT": "trace", "CUTUNE_LAUNCH_LOG": str(log), "CUTUNE_LOG_LIMIT": "12"}
    done = execute(samples[name], name, "64", **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS" in done.stdout
    compared = list(memory_ratios(log, name, 64))
    assert compared
    for launch, counted, emulated, on_gpu in compared:
        assert abs(ratio(emulated, on_gpu) - 1) <= 0.02, (launch.kernel, counted, emulated, on_gpu)
