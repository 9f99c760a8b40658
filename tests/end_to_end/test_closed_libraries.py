"""NVIDIA's libraries of machine code: of some there are replacements, others are refused."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from cutune.emulator.link import closed_libraries, first_build_flags
from cutune.emulator.run import program_environment
from cutune.toolchain.nvcc import find_nvcc
from tests.support.cutune_runs import build_flags
from tests.support.short_headers import STANDARD, as_users_do, with_all_headers

pytestmark = pytest.mark.nvcc

PROGRAMS = Path(__file__).parents[1] / "corpus" / "programs"
Build = Callable[..., Path]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Compile a source for the emulated device."""

    def compiled(source: Path, flags: Sequence[str] = (STANDARD,), *, own: bool = True) -> Path:
        program, nvcc = tmp_path / f"{source.stem}.program", find_nvcc()
        first = [*first_build_flags(nvcc), *build_flags()] if own else []
        with with_all_headers() if own else as_users_do():
            nvcc.check([*first, str(source), *flags, "-o", str(program)])
        return program

    return compiled


def execute(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = program_environment(program)
    return subprocess.run(
        [program, *arguments], env=environment, capture_output=True, text=True, check=False
    )


def shared_library(text: str, folder: Path, soname: str, *options: str) -> Path:
    """A library with the soname, and a link of its name without a version."""
    path = folder / soname
    command = ["g++", "-x", "c++", "-shared", "-fPIC", "-", f"-Wl,-soname,{soname}", *options]
    subprocess.run([*command, "-o", str(path)], input=text, text=True, check=True)
    (folder / f"{soname.partition('.so')[0]}.so").symlink_to(path)
    return path


@pytest.mark.long
def test_products_vectors_and_random_numbers(build: Build) -> None:
    done = execute(
        build(PROGRAMS / "blas_and_rand.cu", ("-lcublas", "-lcublasLt", "-lcurand", STANDARD))
    )
    assert (done.returncode, done.stdout) == (0, "0 wrong\n"), done.stderr
    assert "cublasSgelsBatched is not supported by the emulated device [CT296]" in done.stderr


def test_transforms(build: Build) -> None:
    done = execute(build(PROGRAMS / "transforms.cu", ("-lcufft", STANDARD)))
    assert (done.returncode, done.stdout) == (0, "0 wrong\n"), done.stderr
    assert "cufftXtSetGPUs is not supported by the emulated device [CT296]" in done.stderr


def test_systems_of_equations(build: Build, tmp_path: Path) -> None:
    """Linked to cuSOLVER; a graph factors what is there when it is launched."""
    source = tmp_path / "solves.cu"
    source.write_text(
        """#include <cstdio>
        struct Solver;
        extern "C" {
        int cusolverDnCreate(Solver **), cusolverDnDestroy(Solver *);
        int cusolverDnSetStream(Solver *, cudaStream_t);
        int cusolverDnDpotrf_bufferSize(Solver *, int, int, double *, int, int *);
        int cusolverDnDpotrf(Solver *, int, int, double *, int, double *, int, int *);
        int cusolverDnDpotrs(Solver *, int, int, int, const double *, int, double *, int, int *);
        int cusolverDnSgebrd(Solver *);
        }
        int main() {
            Solver *solver;
            cudaStream_t stream;
            cudaGraph_t graph;
            cudaGraphExec_t made;
            double *a, *b;
            int *info, size = 0, wrong = cusolverDnCreate(&solver);
            cudaMallocManaged(&a, 4 * sizeof *a);
            cudaMallocManaged(&b, 2 * sizeof *b);
            cudaMallocManaged(&info, sizeof *info);
            cudaStreamCreate(&stream);
            wrong += cusolverDnSetStream(solver, stream);
            wrong += cusolverDnDpotrf_bufferSize(solver, 0, 2, a, 2, &size);
            cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
            wrong += cusolverDnDpotrf(solver, 0, 2, a, 2, nullptr, size, info);
            wrong += cusolverDnDpotrs(solver, 0, 2, 1, a, 2, b, 2, info);
            cudaStreamEndCapture(stream, &graph);
            cudaGraphInstantiate(&made, graph, 0);
            const double given[] = {4, 2, 2, 5, 8, 12};
            for (int k = 0; k < 6; ++k) (k < 4 ? a[k] : b[k - 4]) = given[k];
            cudaGraphLaunch(made, stream);
            cudaStreamSynchronize(stream);
            const int refused = cusolverDnSgebrd(solver);
            std::printf("%d %g %g %g %d\\n", wrong, a[0], b[0], b[1], refused);
            return cusolverDnDestroy(solver);
        }
        """
    )
    done = execute(build(source, ("-lcusolver", STANDARD)))
    assert (done.returncode, done.stdout) == (0, "0 2 1 2 9\n"), done.stderr
    assert "cusolverDnSgebrd is not supported by the emulated device [CT296]" in done.stderr


def test_they_are_found_in_place_of_nvidias(build: Build, tmp_path: Path) -> None:
    """Linked by name with a path of the program's own, and loaded later by an absolute path."""
    names = closed_libraries(find_nvcc())
    blas, rand = (
        next(n for n in names if n.startswith(f"lib{x}.so.")) for x in ("cublas", "curand")
    )
    shared_library('extern "C" int cublasGetProperty(int, int *) { return 77; }', tmp_path, blas)
    path = shared_library('extern "C" int curandGetVersion(int *) { return 77; }', tmp_path, rand)
    source = tmp_path / "calls.cu"
    source.write_text(
        f"""#include <cstdio>
        #include <dlfcn.h>
        extern "C" int cublasGetProperty(int, int *);
        int main() {{
            int value = 0;
            auto *rand = dlopen("{path}", RTLD_NOW);
            auto *version = (int (*)(int *))dlsym(rand, "curandGetVersion");
            const int linked = cublasGetProperty(0, &value);
            std::printf("%d %d %d\\n", cudaFree(nullptr), linked, version(&value));
        }}
        """
    )
    linker = ("-Xlinker", f"-rpath={tmp_path}", "-Xlinker", "--disable-new-dtags")
    flags = ("-gencode", "arch=compute_80,code=compute_80", f"-L{tmp_path}", "-lcublas", *linker)
    done = execute(build(source, (*flags, "-ldl"), own=False))
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 0 0\n", "")


def closed_library(folder: Path) -> Path:
    """Stands for one of NVIDIA's, with an own runtime that asks the driver for what is private."""
    text = """#include <dlfcn.h>
        extern "C" int cutensorNothing() {
            const void *table = nullptr;
            char id[16] = {};
            auto *driver = dlopen("libcuda.so.1", RTLD_NOW);
            auto *ask = (int (*)(const void **, const void *))dlsym(driver, "cuGetExportTable");
            return ask ? ask(&table, id) : -1;
        }"""
    return shared_library(text, folder, "libcutensor.so.2")


def test_a_program_that_needs_machine_code_of_nvidia_is_refused(
    build: Build, tmp_path: Path
) -> None:
    closed_library(tmp_path)
    text = (
        'extern "C" int cutensorNothing(); extern "C" int between() { return cutensorNothing(); }'
    )
    linked = [f"-L{tmp_path}", "-lcutensor", f"-Wl,-rpath={tmp_path}"]
    shared_library(text, tmp_path, "libbetween.so.1", *linked)
    source = tmp_path / "calls_a_library.cu"
    for library, function in (("cutensor", "cutensorNothing"), ("between", "between")):
        source.write_text(
            f"""#include <cstdio>
            extern "C" int {function}();
            int main() {{ std::puts("begins"); return cudaFree(nullptr) + {function}(); }}
            """
        )
        flags = (f"-L{tmp_path}", f"-l{library}", "-Xlinker", f"-rpath={tmp_path}", STANDARD)
        done = execute(build(source, flags=flags))
        assert (done.returncode, done.stdout) == (1, "begins\n")
        assert "libcutensor.so.2 is not supported on the emulated device" in done.stderr


@pytest.mark.long
def test_such_a_library_that_is_loaded_later_is_refused_when_it_is_used(
    build: Build, tmp_path: Path
) -> None:
    library = closed_library(tmp_path)
    source = tmp_path / "loads_a_library.cu"
    source.write_text(
        f"""#include <cstdio>
        #include <dlfcn.h>
        int main(int argc, char **) {{
            auto *library = dlopen("{library}", RTLD_NOW);
            auto *nothing = (int (*)())dlsym(library, "cutensorNothing");
            if (cudaFree(nullptr)) return 1;
            std::puts("begins");
            return argc > 1 && nothing() ? 2 : 0;
        }}
        """
    )
    own = execute(build(source, flags=("-ldl", STANDARD)))
    # Where the driver would be NVIDIA's nothing of it may be called.
    assert (own.returncode, own.stdout) == (1, "")
    assert "libcutensor.so.2 is not supported on the emulated device" in own.stderr
    flags = ("-ldl", "-gencode", "arch=compute_80,code=compute_80")
    program = build(source, flags=flags, own=False)
    unused, used = execute(program), execute(program, "used")
    assert (unused.returncode, unused.stdout, unused.stderr) == (0, "begins\n", "")
    assert (used.returncode, used.stdout) == (2, "begins\n")
    assert "libcutensor.so.2 is not supported on the emulated device" in used.stderr
