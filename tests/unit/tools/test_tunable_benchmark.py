"""The count of tunable launches: options of a Makefile, command lines, two runs compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.compile_lines import compile_options
from benchmarks.followed_pragmas import followed
from benchmarks.launch_verdicts import LaunchVerdict, Unit, command_line, inspected
from benchmarks.tunable import changes, own_programs, public_program, repository

TUNABLE = LaunchVerdict("s", "p", "a.cu", 3, "k", 1, "tunable", None, "global ids only in x")
REFUSED = replace(TUNABLE, verdict="refused", code="CT211", reason="uses shared memory")


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("-O3 -std=c++17 -arch=sm_90 -c a.cu -o a.o", ["-std=c++17"]),
        ("-DN=3 -D M -dc a.cu", ["-DN=3", "-D", "M", "-rdc=true"]),
        ("--default-stream per-thread -Xcompiler -fopenmp a.cu",
         ["--default-stream", "per-thread", "-Xcompiler", "-fopenmp"]),
        ("-stdpar=gpu -g -G a.cu", []),
    ],
)  # fmt: skip
def test_options_that_decide_what_is_compiled(line: str, kept: list[str]) -> None:
    assert list(compile_options(line.split(), Path("/p"))) == kept


def test_include_folders_are_absolute(tmp_path: Path) -> None:
    assert list(compile_options(["-I../include"], tmp_path)) == [f"-I{tmp_path}/../include"]


def test_inspect_is_called_in_its_own_words() -> None:
    words = command_line(Unit(("a.cu", "b.cu"), ("-DN=3", "-I/x", "-std=c++17", "-x", "cu")))
    assert words[words.index("inspect") :] == [
        *("inspect", "--json", "-q", "-D", "N=3", "-I", "/x"),
        *("--nvcc-flag=-std=c++17", "--nvcc-flag=-x", "--nvcc-flag=cu", "a.cu", "b.cu"),
    ]


def test_launches_of_both_runs_are_compared() -> None:
    other = replace(TUNABLE, line=9)
    assert changes([REFUSED, other], [TUNABLE, other]) == ([TUNABLE], [])
    assert changes([TUNABLE, other], [REFUSED, other]) == ([], [REFUSED])


def test_a_tunable_launch_that_is_no_longer_seen_is_lost() -> None:
    other = replace(TUNABLE, line=9)
    assert changes([TUNABLE, other], [other]) == ([], [TUNABLE])


def test_programs_that_were_not_looked_at_are_not_lost() -> None:
    assert changes([TUNABLE], [replace(TUNABLE, program="q")]) == ([], [])


def test_a_program_is_what_its_makefile_compiles(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    for name in ("a.cu", "included.cu", "host.cpp"):
        (folder / name).write_text("")
    (folder / "Makefile").write_text("all:\n\tnvcc -DN=1 -c a.cu\n\tnvcc -c host.cpp\n")
    assert public_program(tmp_path, "p").units == (Unit(("a.cu",), ("-DN=1",)),)
    (folder / "Makefile").unlink()
    (unit,) = public_program(tmp_path, "p").units
    assert unit.files == ("a.cu", "included.cu")


def test_samples_and_judge_sets_are_programs() -> None:
    sets = {program.set for program in own_programs()}
    assert {"polybench", "tridiagonal", "judges/01", "judges/14"} <= sets


def test_a_repository_is_inspected_file_by_file(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    for name in ("src/a.cu", "src/b.cu", "none.cu", "lib/own.h", "windows/unistd.h"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("k<<<1, 2>>>();" if name.startswith("src") else "")
    (folder / "none.cu").write_text("template <int N> __global__ void other(int *a) {}")
    (folder / "src" / "b.cu").write_text("k<<<1, 2>>>(); other<3><<<1, 2>>>(a);")
    program = repository(tmp_path, "r")
    assert [unit.files for unit in program.units] == [("src/a.cu",), ("src/b.cu", "none.cu")]
    (flags,) = {unit.flags for unit in program.units}
    assert [flag.removeprefix(f"-I{folder}") for flag in flags] == [
        "-std=c++17",
        "",
        "/lib",
        "/src",
    ]


ONE_SUM = """\
__global__ void sums(float *out, const float *in, int n)
{
    extern __shared__ float part[];
    int t = threadIdx.x, all = blockDim.x;
    const float *x = in + blockIdx.x * n;
    float sum = 0;
    for (int i = t; i < n; i += all) sum += x[i];
    part[t] = sum;
    for (int s = all / 2; s > 0; s /= 2) {
        __syncthreads();
        if (t < s) part[t] += part[t + s];
    }
    __syncthreads();
    for (int i = t; i < n; i += all) out[blockIdx.x * n + i] = expf(x[i] - part[0]);
}
__global__ void turned(float *x) { x[threadIdx.x ^ blockIdx.x] = blockDim.x; }
void launched(const float *x, float *y, int rows, int n)
{
    sums<<<rows, 256, 1024>>>(y, x, n);
    turned<<<100, 256>>>(y);
}
"""


@pytest.mark.long
@pytest.mark.nvcc
def test_pragmas_are_followed_as_they_are_printed(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "a.cu").write_text(ONE_SUM)
    program = repository(tmp_path, "r")
    found = inspected(
        program, 300, follow=lambda unit, document: followed(program, unit, document, 300)
    )
    assert not found.failures and not found.vain
    assert [(one.kernel, one.verdict, one.pragma) for one in found.launches] == [
        ("sums", "refused", "kernel"),
        ("turned", "refused", ""),
    ]
    assert (tmp_path / "r" / "a.cu").read_text() == ONE_SUM
