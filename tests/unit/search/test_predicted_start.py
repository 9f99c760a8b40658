"""Searches that start where the model says: what comes first, and what is predicted of a run."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cutune.core.progress import Reporter
from cutune.core.workspace import Workspace
from cutune.proof.analysis.analyzer import Analyzer
from cutune.search.measure_parameters import HostSweep, prepared
from cutune.search.predicted_start import predicted_first, predicting
from cutune.search.techniques.registry import TECHNIQUES, Technique, search
from cutune.search.techniques.tries import Allowance, Timed, Tries
from cutune.search.trial_runs import EMULATED, Measuring
from cutune.space.parameter import Parameter
from cutune.space.space import Configuration, Space
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.toolchain import Toolchain

INSTALLED = [one for one in TECHNIQUES if one.is_installed]

# A thread does `STEPS` points that lie far apart, so that more steps are slower.
SOURCE = """
#include <cstdio>
#include <cstdlib>
__global__ void scaled(int n, int steps, float *a) {
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * steps;
    for (int k = 0; k < steps; ++k)
        if (x + k < n) a[x + k] *= 2;
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    if (n == 0) return 1;
    float *a;
    cudaMalloc(&a, n * sizeof(float));
    cudaMemset(a, 0, n * sizeof(float));
    #pragma cutune tune(steps: 1, 8, 512) data(n)
    int steps = 8;
    #pragma cutune region begin
    scaled<<<(n + 64 * steps - 1) / (64 * steps), 64>>>(n, steps, a);
    cudaDeviceSynchronize();
    #pragma cutune region end
    puts("done");
}
"""


@pytest.mark.parametrize("technique", INSTALLED, ids=lambda one: one.name)
@pytest.mark.parametrize("fails", [False, True])
def test_what_is_said_comes_first_and_counts(technique: Technique, fails: bool) -> None:
    """It is not tried twice; the technique goes on from the best, and a failure is none."""
    space = Space.of([Parameter("a", tuple(range(40))), Parameter("b", (1, 2))], (), {})
    asked: list[Configuration] = []

    def timed(one: Configuration) -> Timed:
        asked.append(one)
        return Timed(None if fails and one["a"] == 7 else 1.0 + abs(int(one["a"]) - 7))

    tries = Tries(space, timed, Allowance(12))
    first = [{"a": 9, "b": 1}, {"a": 7, "b": 2}]
    places = [place for one in first if (place := space.place(one)) is not None]
    search(technique, tries, space.rows(79), first=places)
    assert asked[:3] == [*first, space.of_rows(space.rows(79))]
    assert len(asked) == len({tuple(one.items()) for one in asked}) == 12


def test_a_budget_may_end_in_what_comes_first() -> None:
    space = Space.of([Parameter("a", tuple(range(40)))], (), {})
    tries = Tries(space, lambda one: Timed(float(str(one["a"]))), Allowance(2))
    places = [space.rows(number) for number in random.Random(0).sample(range(40), 4)]
    search(TECHNIQUES[0], tries, space.rows(0), first=places)
    assert [*tries.known] == places[:2]


@pytest.mark.long
@pytest.mark.nvcc
def test_the_model_orders_runs_of_the_emulated_device(tmp_path: Path) -> None:
    source = tmp_path / "scaled.cu"
    source.write_text(SOURCE)
    toolchain, device = Toolchain(), DeviceProfile.named("h100")
    program = Analyzer(toolchain, with_variants=False).load(str(source), require_nvcc=True)
    how = predicting(Measuring(EMULATED, 1), toolchain.nvcc, device)
    where = Workspace(tmp_path / ".cutune")

    def ranked(argument: str) -> list[Configuration]:
        sweep = HostSweep(program, f"{{program}} {argument}", {}, where, device, (), how)
        with prepared(toolchain, Reporter(), sweep) as ready:
            return predicted_first(ready.trials, *ready.places[0])

    assert [one["steps"] for one in ranked("300000")][-1] == 512
    assert ranked("0") == [], "the program fails"
