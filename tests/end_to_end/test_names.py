"""Parameters of kernels may be called what models call their own values."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.device.thread_block import EXTENTS
from tests.end_to_end.tuning import compiled, run, select, tune

pytestmark = pytest.mark.nvcc

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
__global__ void damp(int COUNT, int ROUNDS, float *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;
    float v = x[i];
    for (int k = 0; k < ROUNDS; ++k) v = v * 0.5f + i;
    x[i] = v;
}
int main(int count, char **words) {
    const int n = atoi(words[1]);
    float *x, first[2];
    cudaMalloc(&x, n * sizeof(float));
    cudaMemset(x, 0, n * sizeof(float));
    damp<<<(n + 31) / 32, 32>>>(n, n / 8, x);
    cudaMemcpy(first, x, sizeof first, cudaMemcpyDeviceToHost);
    printf("%g %g\n", first[0], first[1]);
}
"""


def tuned(folder: Path, count: str, rounds: str) -> Path:
    """The tuned program, its parameters called so."""
    folder.mkdir()
    source = folder / "damp.cu"
    source.write_text(PROGRAM.replace("COUNT", count).replace("ROUNDS", rounds))
    return tune(source, folder, "256,512,768")


def output(program: Path) -> tuple[str, str]:
    """What it prints, and which blocks it chose."""
    binary = compiled(program, program, program.with_suffix(""))
    done = run(binary, "2000", CUTUNE="verbose")
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with names that mean nothing, tuned."""
    return tuned(tmp_path_factory.mktemp("names") / "plain", "n", "m")


@pytest.fixture(scope="module")
def usual(plain: Path) -> tuple[str, str]:
    """What that prints, and which blocks it chose."""
    return output(plain)


def test_predictions_do_not_depend_on_names(
    plain: Path, usual: tuple[str, str], tmp_path: Path
) -> None:
    expected = select("damp", plain.parent, "n=1000000", "m=700")["ranked"]
    for count, rounds in (("working", "steps"), ("row", "warps"), ("blocks", "time_us")):
        folder = tmp_path / count
        program = tuned(folder, count, rounds)
        answer = select("damp", folder, f"{count}=1000000", f"{rounds}=700")
        assert answer["ranked"] == expected, (count, rounds)
        assert output(program) == usual


def test_a_parameter_called_as_an_extent_is_no_size(usual: tuple[str, str], tmp_path: Path) -> None:
    program = tuned(tmp_path / "named", EXTENTS[0], "steps")
    assert output(program)[0] == usual[0]
