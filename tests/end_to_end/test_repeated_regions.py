"""Regions that run again with other values, on the emulated device."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cutune.cli.main import main
from cutune.emulator.run import program_environment
from tests.support.cutune_runs import QUICK

pytestmark = pytest.mark.nvcc

PROGRAM = """\
#include <cstdio>
#include <cstdlib>

__global__ void fill(int n, int m, int *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = m;
}

static int evaluated = 0;
static int own() { return ++evaluated, 5; }

static int inner(int n) {
#pragma cutune tune(k: 1, 2, 3) data(n)
    const int k = 1;
    return k;
}

static int fixed(int n) {
#pragma cutune tune(early: 1, 2) data(n)
    const int early = 1;
    return early;
}

static void step(int n, int m, int R, int *x) {
    const int blocks = (n + m - 1) / m;
    fill<<<blocks, m>>>(n, m + R, x);
}

static bool is_left(int m, int argc) { return m == 16 && argc > 2; }

int main(int argc, char **argv) {
    int n = atoi(argv[1]), *x, k = 0, first = fixed(n);
#pragma cutune tune(R: 0, 1) data(n)
    int R = 0;
#pragma cutune tune(m: 4, 8, 16) data(n, R)
    unsigned short m = own();
    cudaMallocManaged(&x, n * sizeof(int));
    for (int i = 0; i < 2; ++i) {
#pragma cutune region begin repeat
        k = inner(n);
        step(n, m, R, x);
        if (is_left(m, argc)) continue;
#pragma cutune region end
        printf("m %d, R %d, k %d, last %d\\n", m, R, k, x[n - 1]);
    }
#pragma cutune region begin repeat
    cudaDeviceSynchronize();
#pragma cutune region end
    printf("%d, evaluated %d\\n", first, evaluated);
}
"""


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("repeated") / "program.cu"
    path.write_text(PROGRAM)
    sweep = ["--tunables", "--run", "{program} {n}", "--vary", "n=64"]
    chosen = [f"--tune={name}={value}" for name, value in (("k", 1), ("m", 4), ("R", 1))]
    assert main(["collect", str(path), *sweep, *chosen, "--tune=early=1", "-q", *QUICK]) == 0
    return path.parent / ".cutune" / "builds" / "own" / "program.tunables"


def run(binary: Path, *words: str, **settings: str) -> tuple[str, list[dict[str, Any]]]:
    log = binary.with_name("log")
    log.unlink(missing_ok=True)
    environment = {**program_environment(binary), "CUTUNE_OUTPUT": str(log), **settings}
    done = subprocess.run(
        [binary, *words], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout, [json.loads(line) for line in log.read_text().splitlines()]


def values(line: dict[str, Any]) -> dict[str, int]:
    return {name: one["value"] for name, one in line["tunables"].items()}


def test_each_visit_runs_with_all_settings_and_goes_on_with_the_first(binary: Path) -> None:
    output, lines = run(binary, "64", CUTUNE_SET="m=8,k=2,early=2", CUTUNE_REPEAT="m=4,k=3,R=1;R=1")
    assert [(line["region"], line["turn"]) for line in lines] == [
        (number, turn) for number in (1, 1, 2) for turn in (0, 1, 2)
    ]
    assert [values(line) for line in lines[:3]] == [
        {"early": 2, "R": 0, "m": 8, "k": 2},
        # It has got its value before.
        {"early": 2, "R": 1, "m": 4, "k": 3},
        {"early": 2, "R": 1, "m": 5, "k": 1},
    ]
    assert [values(line) for line in lines[3:6]] == [values(line) for line in lines[:3]]
    assert [line["tunables"]["m"]["data"]["R"] for line in lines[:3]] == [0, 1, 1]
    assert not any(one["ambiguous"] for line in lines for one in line["tunables"].values())
    # What the last run has left in memory stays.
    assert output == 2 * "m 8, R 0, k 1, last 6\n" + "2, evaluated 1\n"


def test_without_a_list_it_runs_once(binary: Path) -> None:
    output, lines = run(binary, "64", CUTUNE_SET="m=8")
    assert [(line["region"], line["turn"]) for line in lines] == [(1, 0), (1, 0), (2, 0)]
    assert output == 2 * "m 8, R 0, k 1, last 8\n" + "1, evaluated 1\n"
    assert run(binary, "64", CUTUNE_SET="m=8", CUTUNE_REPEAT="")[0] == output


def test_what_leaves_a_region_ends_its_turns_and_shows_in_the_values(binary: Path) -> None:
    """At the next visit m still has the value of the turn that was left."""
    _, lines = run(binary, "64", "left", CUTUNE_SET="m=8", CUTUNE_REPEAT="m=16;m=4")
    assert [(line["region"], line["turn"], values(line)["m"]) for line in lines] == [
        (1, 0, 8),
        # The second visit is left in its first turn.
        (2, 0, 16),
        (2, 1, 16),
        (2, 2, 4),
    ]
