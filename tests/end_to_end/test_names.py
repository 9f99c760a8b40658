"""Parameters of kernels may be called what models call their own values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cutune.toolchain.device.thread_block import EXTENTS
from tests.support.cutune_runs import compiled, run, select, tune

pytestmark = pytest.mark.nvcc

#: The parameters of kernels that do the same: names that mean nothing, and others.
NAMES = (("n", "m"), ("working", "steps"), ("row", "warps"), ("blocks", "time_us"))
#: One that is called as an extent is no size.
EXTENT = (EXTENTS[0], "steps")
KERNEL = r"""
__global__ void damp_KERNEL(int COUNT, int ROUNDS, float *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;
    float v = x[i];
    for (int k = 0; k < ROUNDS; ++k) v = v * 0.5f + i;
    x[i] = v;
}
"""
LAUNCH = r"""
    cudaMemset(x, 0, n * sizeof(float));
    damp_KERNEL<<<(n + 31) / 32, 32>>>(n, n / 8, x);
    cudaMemcpy(first, x, sizeof first, cudaMemcpyDeviceToHost);
    printf("%g %g\n", first[0], first[1]);
"""
PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
KERNELS
int main(int count, char **words) {
    const int n = atoi(words[1]);
    float *x, first[2];
    cudaMalloc(&x, n * sizeof(float));
    LAUNCHES
}
"""


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tuned program with a kernel for each pair of names."""
    source = tmp_path_factory.mktemp("names") / "damp.cu"
    kernels = [
        KERNEL.replace("KERNEL", str(number)).replace("COUNT", count).replace("ROUNDS", rounds)
        for number, (count, rounds) in enumerate((*NAMES, EXTENT))
    ]
    launches = [LAUNCH.replace("KERNEL", str(number)) for number in range(len(kernels))]
    text = PROGRAM.replace("KERNELS", "".join(kernels)).replace("LAUNCHES", "".join(launches))
    source.write_text(text)
    return tune(source, source.parent, "256,512,768")


@pytest.fixture(scope="module")
def output(tuned: Path) -> tuple[list[str], dict[str, str]]:
    """What it prints, and which block it chose for each kernel."""
    binary = compiled(tuned, tuned, tuned.with_suffix(""))
    done = run(binary, "2000", CUTUNE="verbose")
    assert done.returncode == 0, done.stderr
    chosen = re.findall(r"^cutune: (damp_\d), (.+)$", done.stderr, re.MULTILINE)
    return done.stdout.splitlines(), dict(chosen)


@pytest.mark.long
def test_predictions_do_not_depend_on_names(
    tuned: Path, output: tuple[list[str], dict[str, str]]
) -> None:
    printed, chosen = output
    expected = select("damp_0", tuned.parent, "n=1000000", "m=700")["ranked"]
    for number, (count, rounds) in enumerate(NAMES):
        kernel = f"damp_{number}"
        answer = select(kernel, tuned.parent, f"{count}=1000000", f"{rounds}=700")
        assert answer["ranked"] == expected, (count, rounds)
        assert chosen[kernel] == chosen["damp_0"], (count, rounds)
        assert printed[number] == printed[0]


def test_a_parameter_called_as_an_extent_is_no_size(
    output: tuple[list[str], dict[str, str]],
) -> None:
    printed, _ = output
    assert len(printed) == len(NAMES) + 1 and printed[-1] == printed[0]
