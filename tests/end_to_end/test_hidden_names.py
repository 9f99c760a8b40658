"""Names that headers of the C and C++ libraries declare stay free for the program.

A program that is rewritten includes no more than it did: otherwise <stdio.h> would have its own
`remove` called in place of a template of the program, and <atomic> would make `memory_order`
ambiguous after `using namespace std`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, find_nvcc
from tests.support.cutune_runs import build_flags, compiled, cutune, run, tune
from tests.support.short_headers import STANDARD

pytestmark = pytest.mark.nvcc

#: Of what nvcc itself includes, the host's code sees none of these.
PROGRAM = r"""
extern "C" int puts(const char *);
namespace std {}
using namespace std;
int memory_order = 3, uint8_t = 4, atomic = 5;
template <class T> int remove(T) { return 1; }
template <class T> int unlink(T) { return 2; }
template <class T> int close(T) { return 3; }
// Another source may well have a function of this name that prints something else.
extern "C" int debug_print(const char *) asm("dprintf");
int debug_print(const char *) { __builtin_trap(); }
__global__ void halve(int n, float *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 0.5f;
}
int main(int count, char **words) {
    const int n = atoi(words[1]);
    float *x;
    cudaMalloc(&x, n * sizeof(float));
    cudaMemset(x, 0, n * sizeof(float));
    halve<<<(n + 31) / 32, 32>>>(n, x);
    const bool is_own = remove("x") == 1 && unlink("x") == 2 && close(0) == 3;
    puts(is_own && memory_order + uint8_t + atomic == 12 ? "own" : "another");
    return cudaDeviceSynchronize();
}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hidden") / "halve.cu"
    path.write_text(PROGRAM)
    return path


@pytest.mark.long
def test_a_tuned_program_calls_its_own_functions(source: Path) -> None:
    tuned = tune(source, source.parent, "1000,4000")
    for text in (source, tuned):
        done = run(compiled(text, source, text.with_suffix("")), "100000", CUTUNE="verbose")
        assert (done.returncode, done.stdout) == (0, "own\n"), done.stderr
        assert ("cutune: halve" in done.stderr) is (text == tuned)


#: Here <iostream> makes whatever namespace std holds visible.
IN_STD = r"""
#include <iostream>
using namespace std;
int count = 1, ratio = 2;
enum { search, sort, nth_element, unique };
template <class T> int open(T) { return 3; }
template <class T> int write(T) { return 4; }
template <class T> int unlink(T) { return 5; }
template <class T> int rename(T) { return 6; }
__global__ void halve(int n, float *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 0.5f;
}
int main(int, char **words) {
    const int n = atoi(words[1]);
#pragma cutune tune(m: 1, 2) data(n)
    int m = 1;
    float *x;
    cudaMalloc(&x, n * sizeof(float));
#pragma cutune region begin
    halve<<<(n + 31) / 32, 32>>>(n, x);
#pragma cutune region end
    cout << m + count + ratio + unique << open("") << write(0) << unlink("") << rename("");
    return cudaDeviceSynchronize();
}
"""


@pytest.mark.long
@pytest.mark.parametrize("standard", [STANDARD, "-std=c++20"])
@pytest.mark.parametrize(
    ("program", "step", "schema", "printed"),
    [
        (PROGRAM, "instrument-launches", "cutune-record-1", "own\n"),
        (IN_STD, "instrument-launches", "cutune-record-1", "73456"),
        (IN_STD, "instrument-tunables", "cutune-region-1", "73456"),
    ],
)
def test_an_instrumented_program_calls_its_own_functions(
    program: str, step: str, schema: str, printed: str, standard: str, tmp_path: Path
) -> None:
    source, text, binary = tmp_path / "a.cu", tmp_path / "b.cu", tmp_path / "b"
    source.write_text(program)
    done = cutune("instrument", source, "--passes", step, "-o", text)
    assert done.returncode == 0, done.stderr
    # As for a GPU: the probe stands in no library.
    flags = [flag for flag in build_flags() if flag != "-DCUTUNE_PROBE_LINKED"]
    find_nvcc().check([standard, f"-I{INCLUDE_DIRECTORY}", *flags, str(text), "-o", str(binary)])
    output = tmp_path / "lines"
    ran = run(binary, "1000", CUTUNE_MODE="record", CUTUNE_OUTPUT=str(output))
    assert (ran.returncode, ran.stdout) == (0, printed), ran.stderr
    (line,) = map(json.loads, output.read_text().splitlines())
    assert line["schema"] == schema
