"""Integers of the host that a block follows: which are proposed as parameters of the program."""

from __future__ import annotations

import re
from functools import cache

import pytest

from cutune.core.source import Source
from cutune.proof.analysis.suggestions import Suggestion, suggestions
from cutune.source.syntax.parse import parse
from cutune.source.tunable_pragmas import tunables_of
from tests.support.analyzed import analyzed

pytestmark = pytest.mark.long

#: A warp per row, which keeps its row in shared memory, beside what all rows are multiplied by.
KERNEL = """
__global__ void NAME(float *out, const float *in, const float *weight, int n, int c) {
    extern __shared__ float memory[];
    float *own = memory + (1 + threadIdx.y) * c;
    for (int i = threadIdx.x + 32 * threadIdx.y; i < c; i += 32 * blockDim.y) memory[i] = weight[i];
    __syncthreads();
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= n) return;
    for (int i = threadIdx.x; i < c; i += 32) own[i] = in[row * c + i] * memory[i];
    for (int i = threadIdx.x; i < c; i += 32) out[row * c + i] = own[i] + own[c - 1 - i];
}
"""
LAUNCH = (
    "<<<(n + rows - 1) / rows, dim3(32, rows), (1 + rows) * c * sizeof(float)>>>(o, i, w, n, c)"
)
ALL = "rows: 1, 2, 4, 8, 16, 32"

#: What stands before the launch, the launch, and the parameter with its sizes; empty: none.
HOSTS: dict[str, tuple[str, str, str]] = {
    "warps": ("int rows = threads / 32;", LAUNCH, f"tune({ALL}) data(n, c)"),
    "constant_of_a_run": ("const int rows = threads / 32;", LAUNCH, f"tune({ALL}) data(n, c)"),
    "by_variables": (
        """int rows = threads / 32;
        const int grid = (n + rows - 1) / rows;
        size_t memory = (1 + rows) * c * sizeof(float);""",
        "<<<grid, dim3(32, rows), memory>>>(o, i, w, n, c)",
        f"tune({ALL}) data(n, c)",
    ),
    "other_lanes": (
        "unsigned rows = threads / 16;",
        LAUNCH.replace("32", "16"),
        "tune(rows: 2, 4, 8, 16, 32, 64) data(n, c)",
    ),
    "of_no_size": ("int rows = threads / 32;", LAUNCH.replace("n, c)", "128, 64)"), ""),
    # What it is computed from reaches the launch in another way, too.
    "other_grid": (
        "int rows = threads / 32;",
        LAUNCH.replace("(n + rows - 1) / rows", "n / threads"),
        "",
    ),
    "other_memory": ("int rows = threads / 32;", LAUNCH.replace("(1 + rows)", "threads"), ""),
    "other_variable": (
        "int rows = threads / 32; int more = threads / 32 + 1;",
        LAUNCH.replace("(1 + rows)", "more"),
        "",
    ),
    "argument": ("int rows = threads / 32;", LAUNCH.replace("n, c)", "threads, c)"), ""),
    "argument_of_it": (
        "int rows = threads / 32; int m = threads * 4;",
        LAUNCH.replace("n, c)", "m, c)"),
        "",
    ),
    "of_a_size": ("int rows = n / 64;", LAUNCH, ""),
    "also_in_z": ("int rows = threads / 32;", LAUNCH.replace("rows)", "rows, threads)"), ""),
    # It has several values, or none that a pragma could change.
    "changed": ("int rows = threads / 32; rows *= 2;", LAUNCH, ""),
    "counted": ("int rows = threads / 32; rows++;", LAUNCH, ""),
    "by_address": ("int rows = threads / 32; best(&rows);", LAUNCH, ""),
    "assigned": ("int rows; rows = threads / 32;", LAUNCH, ""),
    "parameter": ("", LAUNCH.replace("rows", "threads"), ""),
    "number": ("int rows = 8;", LAUNCH, ""),
    "within_a_line": ("n += 1; int rows = threads / 32;", LAUNCH, ""),
    "static_one": ("static int rows = threads / 32;", LAUNCH, ""),
    "real": ("float rows = threads / 32;", LAUNCH.replace("rows", "int(rows)"), ""),
    "side_effect": ("int rows = threads++ / 32;", LAUNCH, ""),
}
#: The kernel counts its rows by a number, and does not read how many a block has.
FIXED = KERNEL.replace("blockDim.y", "8")
#: It asks for the order of threads.
ORDERED = KERNEL.replace("own[i] = in", "own[i] = atomicAdd(out, 1.0f) + in")


def text_of(kernels: dict[str, str]) -> str:
    text = "void best(int *);\n"
    for name, (before, launch, _) in HOSTS.items():
        text += kernels.get(name, KERNEL).replace("NAME", name)
        text += (
            f"void run_{name}(float *o, const float *i, const float *w, int n, int c, int threads)"
            f"\n{{\n    {before}\n    {name}{launch};\n}}\n"
        )
    return text


@cache
def said() -> dict[str, Suggestion]:
    """Of each kernel; all are one program."""
    found = analyzed(Source("a.cu", text_of({})))
    return {one.kernel: one for one in suggestions(found)}


@pytest.mark.nvcc
@pytest.mark.parametrize("name", HOSTS)
def test_an_integer_is_proposed_that_all_of_a_launch_follows(name: str) -> None:
    found, (_, _, expected) = said()[name], HOSTS[name]
    assert found.pragma is None and found.code == "CT211"
    pragmas = re.findall(r"`#pragma cutune (tune[^`]*)` before line (\d+) of a.cu", found.text)
    assert [pragma for pragma, _ in pragmas] == [expected] * bool(expected), found.text
    for pragma, line in pragmas:
        lines = text_of({}).split("\n")
        lines.insert(int(line) - 1, f"#pragma cutune {pragma}")
        read = tunables_of([parse(Source("a.cu", "\n".join(lines)))])
        assert [one.parameter.name for one in read.tunables] == ["rows"] and not read.diagnostics
        assert "rows = threads" in lines[int(line)]


@pytest.mark.nvcc
def test_kernels_that_do_not_follow_their_block_have_none() -> None:
    text = "".join(
        kernel.replace("NAME", name)
        + f"void run_{name}(float *o, const float *i, const float *w, int n, int c, int threads)"
        f"\n{{\n    int rows = threads / 32;\n    {name}{LAUNCH};\n}}\n"
        for name, kernel in {"fixed": FIXED, "ordered": ORDERED}.items()
    )
    found = [*suggestions(analyzed(Source("a.cu", text)))]
    assert {one.kernel for one in found} == {"fixed", "ordered"}
    assert not any(one.helps for one in found)
