"""A project of two libraries that a script loads by ctypes: tuned, run, verified and shaken."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from cutune.core.codes import Code
from tests.support.cutune_runs import cutune

pytestmark = pytest.mark.nvcc
TWICE = """
__global__ void twice(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}
extern "C" void doubled(float *host, int n)
{
    float *x;
    cudaMalloc(&x, n * sizeof *x);
    cudaMemcpy(x, host, n * sizeof *x, cudaMemcpyHostToDevice);
    twice<<<(n + 63) / 64, 64>>>(x, n);
    cudaMemcpy(host, x, n * sizeof *x, cudaMemcpyDeviceToHost);
    cudaFree(x);
}
"""
ADD = TWICE.replace("twice", "add").replace("*= 2", "+= n").replace("doubled", "added")
MAKEFILE = """\
all: libtwice.so libadd.so
lib%.so: %.cu
\tnvcc -O0 -shared -Xcompiler -fPIC $< -o $@
clean:
\trm -f *.so
"""
DRIVER = """\
import ctypes, sys
n = int(sys.argv[1])
x = (ctypes.c_float * n)(*range(n))
ctypes.CDLL("./libtwice.so").doubled(x, n)
ctypes.CDLL("./libadd.so").added(x, n)
print(sum(x))
"""
BUILT = "--make", "make", "--clean", "make clean", "--run", f"{sys.executable} drive.py {{n}}"


def started(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    with patch.dict(os.environ, variables):
        return cutune(*words, cwd=folder)


def written(folder: Path, add: str = ADD) -> Path:
    texts = {"twice.cu": TWICE, "add.cu": add, "Makefile": MAKEFILE, "drive.py": DRIVER}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that `tune --make` has left tuned."""
    folder = written(tmp_path_factory.mktemp("libraries"))
    done = started(folder, "tune", *BUILT, "--vary", "n=1000,3000,9000")
    assert done.returncode == 0, done.stderr
    assert "2 launches: 2 tuned" in done.stdout
    return folder


@pytest.mark.long
def test_both_libraries_choose_in_one_process(project: Path) -> None:
    done = started(project, "run", sys.executable, "drive.py", "5000", CUTUNE="verbose")
    assert (done.returncode, done.stdout) == (0, "49995000.0\n"), done.stderr
    for kernel in ("twice", "add"):
        assert f"cutune: {kernel}, 5000 x 1 x 1 threads: block 64x1x1 -> " in done.stderr
        assert f"{kernel}: 1 launch, grid " in done.stderr


@pytest.mark.long
def test_the_tuned_build_is_verified_and_left(project: Path) -> None:
    done = started(project, "verify", *BUILT, "--vary", "n=777,3000")
    assert (done.returncode, done.stdout) == (0, "same: n=777\nsame: n=3000\n"), done.stderr
    assert b"cutune_select_" in (project / "libadd.so").read_bytes()


def test_what_is_not_tuned_is_not_verified(tmp_path: Path) -> None:
    done = started(written(tmp_path), "verify", *BUILT, "--vary", "n=777")
    assert done.returncode == 1
    assert Code.MISSING_STAGE.number in done.stderr


@pytest.mark.long
def test_both_libraries_are_shaken(project: Path) -> None:
    done = started(project, "shake", *BUILT, "--vary", "n=777", "--seeds", "2")
    assert (done.returncode, done.stdout) == (0, "same: 2 seeds, 2 tunable launches\n"), done.stderr


@pytest.mark.long
def test_a_wrong_annotation_is_shaken_out(tmp_path: Path) -> None:
    asserted = "#pragma cutune kernel add data(n) block(x: 32, 128) grid(ceil(n / x))\n"
    wrong = f"{asserted}{ADD.replace('+= n', '+= threadIdx.x')}"
    done = started(written(tmp_path, wrong), "shake", *BUILT, "--vary", "n=777", "--seeds", "3")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("differs: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("verify", "one.cu"), "name both programs"),
        (("verify", "one.cu", "two.cu", *BUILT), "no programs or sources"),
        (("shake", "one.cu", *BUILT), "no programs or sources"),
        (("shake",), "name the sources of the program"),
        (("verify", "--make", " ", "--run", "./app"), "names no command"),
        (("shake", "--make", "make"), "--run names the program"),
        (("shake", "--make", "make", "--run", "./{program}"), "--run names the program"),
    ],
)
def test_wrong_usage(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = started(tmp_path, *words)
    assert done.returncode == 2
    assert said in done.stderr
