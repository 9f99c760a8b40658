"""A launch that CUDA refuses is made as it was: its error is the program's to see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cutune_runs import cutune

#: One launch is compiled under no option, one under -DCHECKED alone, with its kernel.
PARTLY_COMPILED = """
#ifdef CHECKED
__global__ void check(int *a, int n) { int i = ID; if (i < n) a[i] += 1; }
#endif
__global__ void twice(int *a, int n) { int i = ID; if (i < n) a[i] *= 2; }
void run(int *a) {
#ifdef CHECKED
    check<<<1, 128>>>(a, 100);
#elif defined NEVER
    twice<<<2, 128>>>(a, 100);
#endif
    twice<<<1, 128>>>(a, 100);
}
"""
PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "refused.cu"


@pytest.mark.long
@pytest.mark.nvcc
def test_errors_of_invalid_configurations_stay(tmp_path: Path) -> None:
    words = ("--seeds", 2, "--run", "./{program} 5", "--keep", tmp_path)
    done = cutune("shake", PROGRAM, *words, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("same"), done.stdout + done.stderr


@pytest.mark.nvcc
def test_launches_that_an_if_leaves_out_are_said_to_be_left_out(tmp_path: Path) -> None:
    source = tmp_path / "app.cu"
    head = "#define ID blockIdx.x * blockDim.x + threadIdx.x"
    source.write_text(head + PARTLY_COMPILED)
    for options, left_out in (((), [True, True, False]), (("-DCHECKED",), [False, True, False])):
        done = cutune("inspect", "--json", source, *options, cwd=tmp_path)
        launches = json.loads(done.stdout)["launches"]
        assert [
            one["verdict"] == "refused" and "#if" in one["reason"] for one in launches
        ] == left_out
