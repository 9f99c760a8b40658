"""Names that headers of the C and C++ libraries declare stay free for the program.

A program that is rewritten includes no more than it did: otherwise <stdio.h> would have its own
`remove` called in place of a template of the program, and <atomic> would make `memory_order`
ambiguous after `using namespace std`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.tuning import compiled, run, tune

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


def test_a_tuned_program_calls_its_own_functions(source: Path) -> None:
    tuned = tune(source, source.parent, "1000,4000")
    for text in (source, tuned):
        done = run(compiled(text, source, text.with_suffix("")), "100000", CUTUNE="verbose")
        assert (done.returncode, done.stdout) == (0, "own\n"), done.stderr
        assert ("cutune: halve" in done.stderr) is (text == tuned)
