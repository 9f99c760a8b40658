"""Scripts that use CUDA from Python, unmodified, on the emulated device."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from cutune.core.codes import Code
from cutune.toolchain.nvcc import find_nvcc
from tests.support.short_headers import as_users_do

pytestmark = pytest.mark.nvcc

SCRIPTS = Path(__file__).parents[1] / "corpus" / "python"
PACKAGES = ("cupy", "pycuda")
WITH_PACKAGES = sorted(path.stem for each in PACKAGES for path in SCRIPTS.glob(f"{each}_*.py"))
#: Which compile for long.
LARGE = ("cupy_libraries", "pycuda_arrays")
#: Examples of PyCUDA, which `make packages` keeps.
EXAMPLES = Path(sys.prefix) / "pycuda"

#: An extension of torch in one file, as its users write them.
EXTENSION = """#include <torch/extension.h>
__global__ void scale(const float *x, float *y, long n, float by)
{
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = by * x[i];
}
torch::Tensor scaled(torch::Tensor x, double by)
{
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    auto y = torch::empty_like(x);
    long n = x.numel();
    scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, (float)by);
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scaled", &scaled); }
"""
MODULE = """__device__ int offset;
extern "C" __global__ void add(int *a, int n) { if (threadIdx.x < n) a[threadIdx.x] += offset; }
"""
LIBRARY = """__global__ void twice(int *a) { a[threadIdx.x] *= 2; }
extern "C" int run(int *host)
{
    int *a = nullptr;
    cudaMalloc(&a, 5 * sizeof *a);
    cudaMemcpy(a, host, 5 * sizeof *a, cudaMemcpyDefault);
    twice<<<1, 5>>>(a);
    return cudaMemcpy(host, a, 5 * sizeof *a, cudaMemcpyDefault);
}
"""
#: Loads a library and calls it; compiles it before that, unless a file is named.
DRIVE = """import ctypes, subprocess, sys
if not sys.argv[1:]:
    command = ["nvcc", "-shared", "-Xcompiler", "-fPIC", "lib.cu", "-o", "lib.so"]
    subprocess.run(command, check=True)
values = (ctypes.c_int * 5)(1, 2, 3, 4, 5)
print(ctypes.CDLL((sys.argv[1:] or ["./lib.so"])[0]).run(values), list(values))
"""


def run_script(
    folder: Path, *words: object, options: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """A script as users run it, with the packages that the tests have."""
    return run_cutune(folder, "run", *options, sys.executable, *words)


def run_cutune(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cutune", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if name in LARGE else []) for name in WITH_PACKAGES],
)
def test_a_script_with_a_package(name: str, tmp_path: Path) -> None:
    package = name.partition("_")[0]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    with as_users_do():
        done = run_script(tmp_path, SCRIPTS / f"{name}.py")
    # PyCUDA says where it compiles some kernels, unless it has them.
    said = [line for line in done.stdout.splitlines() if not line.startswith("*** compiler output")]
    assert (done.returncode, said) == (0, ["all is well"]), done.stderr
    assert "warp instructions" in done.stderr


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="without PyCUDA's examples: make packages")
def test_examples_of_pycuda() -> None:
    with as_users_do():
        demo = run_script(EXAMPLES, "demo.py")
        streams = run_script(EXAMPLES / "from-wiki", "kernel_concurrency.py")
    assert (demo.returncode, streams.returncode) == (0, 0), demo.stderr + streams.stderr
    _, *printed = re.split(r"(?m)^.*:$", demo.stdout)
    words = [re.sub(r"[\[\]]", " ", array).split() for array in printed]
    one, by_kernel, in_place, other, by_array = np.array(words, dtype="f")
    for start, doubled in (one, by_kernel), (one, in_place), (other, by_array):
        assert start.shape == (16,)
        np.testing.assert_allclose(doubled, 2 * start, rtol=1e-5, atol=1e-6)
    assert (streams.stdout.count("passed."), streams.stdout.count("FAILED!")) == (2, 0)


@pytest.mark.long
@pytest.mark.parametrize("package", PACKAGES)
def test_a_wrong_script_is_found(package: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    script = SCRIPTS / f"wrong_{package}.py"
    with as_users_do():
        done = run_script(tmp_path, script, options=["--check"])
    assert done.returncode == 1
    assert (
        f"kernel 'turned', block (0, 0, 0), thread (32, 0, 0), 64 times [{Code.SHARED_RACE.number}]"
        in done.stderr
    )
    assert "check: 1 error\n" in done.stderr


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_a_file_with_the_headers_of_torch(tmp_path: Path) -> None:
    from torch.utils.cpp_extension import include_paths  # noqa: PLC0415

    folders = [f"-I{path}" for path in (*include_paths(), sysconfig.get_paths()["include"])]
    options = ["-std=c++20", "-DTORCH_EXTENSION_NAME=ext", "-DTORCH_API_INCLUDE_EXTENSION_H"]
    (tmp_path / "ext.cu").write_text(EXTENSION)
    with as_users_do():
        done = run_cutune(tmp_path, "inspect", "-q", *options, *folders, "ext.cu")
    assert "scale   tunable" in done.stdout, done.stderr
    assert "1 launch, 1 tunable" in done.stdout


def test_the_drivers_interface(tmp_path: Path) -> None:
    source, ptx, cubin = (tmp_path / f"module.{ending}" for ending in ("cu", "ptx", "cubin"))
    source.write_text(MODULE)
    nvcc = find_nvcc()
    nvcc.check(["-ptx", str(source), "-o", str(ptx)])
    nvcc.check(["-cubin", str(source), "-o", str(cubin)])
    done = run_script(tmp_path, SCRIPTS / "driver_calls.py", ptx, cubin)
    assert (done.returncode, done.stdout) == (0, "all is well\n"), done.stderr
    said = Code.NOT_EMULATED.template.format(function="cuMipmappedArrayCreate")
    assert f"cutune: error: {said} [CT296]\n" in done.stderr
    assert "it is a cubin, which holds machine code alone" in done.stderr
    assert "add: 3 launches, grid 1x1x1, block 32x1x1" in done.stderr


@pytest.mark.parametrize("ending", ["ptx", "fatbin", "cubin"])
def test_nvcc_on_the_path_makes_modules_that_hold_ptx(ending: str, tmp_path: Path) -> None:
    (tmp_path / "module.cu").write_text(MODULE)
    compiling = f"""import subprocess
subprocess.run(["nvcc", "--{ending}", "-arch", "sm_90", "module.cu"], check=True)
"""
    (tmp_path / "compile.py").write_text(compiling)
    assert run_script(tmp_path, "compile.py").returncode == 0
    content = (tmp_path / f"module.{ending}").read_bytes()
    assert b".target sm_80" in content and b".entry add" in content


def test_a_library_by_ctypes(tmp_path: Path) -> None:
    (tmp_path / "lib.cu").write_text(LIBRARY)
    (tmp_path / "drive.py").write_text(DRIVE)
    done = run_script(tmp_path, "drive.py")
    assert done.stdout == "0 [2, 4, 6, 8, 10]\n", done.stderr
    assert "twice: 1 launch" in done.stderr


@pytest.mark.parametrize("is_stripped", [False, True])
def test_a_library_that_holds_the_runtime(is_stripped: bool, tmp_path: Path) -> None:
    (tmp_path / "lib.cu").write_text(LIBRARY)
    (tmp_path / "drive.py").write_text(DRIVE)
    flags = ["-shared", "-Xcompiler", "-fPIC", *(["-Xlinker", "-s"] if is_stripped else [])]
    find_nvcc().check([*flags, str(tmp_path / "lib.cu"), "-o", str(tmp_path / "own.so")])
    done = run_script(tmp_path, "drive.py", "./own.so")
    if is_stripped:
        assert done.stdout.endswith("[1, 2, 3, 4, 5]\n")
        assert "'./own.so' has NVIDIA's CUDA runtime built in" in done.stderr
        assert "NVCC_APPEND_FLAGS='-no-compress -cudart shared" in done.stderr
    else:
        assert done.stdout == "0 [2, 4, 6, 8, 10]\n", done.stderr
        assert "twice: 1 launch" in done.stderr
