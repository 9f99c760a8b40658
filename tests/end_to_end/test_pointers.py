"""Launches through pointers: each known kernel is a launch of its own, others stay as they are."""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path

import pytest

from cutune.emulator.launch_log import read_launches
from cutune.model.emit.programs import random_program
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.rewrite.output import Target
from cutune.toolchain.kernel_names import base_name
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import H200, QUICK, QUICK_FLAGS, compiled, cutune, run

pytestmark = pytest.mark.nvcc

PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "pointers.cu"
ABROAD = PROGRAM.with_name("pointers_abroad.cu")
STANDARD = "-std=c++17"


def built(source: Path, binary: Path) -> Path:
    return compiled(source, PROGRAM, binary, (STANDARD, str(ABROAD)))


def launched(binary: Path, **variables: str) -> tuple[str, list[tuple[str, int]]]:
    """What the program prints; its kernels as they are launched, with the widths of blocks."""
    log = binary.with_suffix(".log")
    log.unlink(missing_ok=True)
    done = run(binary, device=H200, CUTUNE_LAUNCH_LOG=str(log), **variables)
    assert done.returncode == 0, done.stderr
    found = [(base_name(one.kernel).partition("__")[0], one.block[0]) for one in read_launches(log)]
    return done.stdout, found


@pytest.mark.long
def test_each_kernel_that_is_known_is_a_launch(tmp_path: Path) -> None:
    analyzer = Analyzer(Toolchain(flags=(STANDARD, QUICK_FLAGS[1])))
    program = analyzer.load(str(PROGRAM), require_nvcc=True)
    told = {
        line: " ".join(one.code.number if one.code else one.kernel for one in sites)
        for line, sites in groupby(program.launches, lambda one: one.compiled_line)
    }
    lines = PROGRAM.read_text().splitlines()
    written = {n: line for n, line in enumerate(lines, 1) if "<<<" in line}
    assert told == {n: line.partition("  // ")[2] for n, line in written.items()}
    instances = {site.callee: site.entries for site in program.launches if "<" in site.callee}
    assert sorted(instances) == ["filled<float, 2>", "power<3, float>"]
    assert all(len(entries) == 1 for entries in instances.values())
    expected, own = launched(built(PROGRAM, tmp_path / "original"))
    assert "host 1000" in expected and "copies 0" in expected
    source = random_program(analyzer, program, 1, Target(tmp_path / "random.cu"))
    binary = built(source, tmp_path / "random")
    changed = set[str]()
    for seed in "12345":
        text, found = launched(binary, CUTUNE_SEED=seed)
        assert text == expected
        assert [name for name, _ in found] == [name for name, _ in own]
        pairs = zip(found, own, strict=True)
        changed |= {name for (name, width), (_, before) in pairs if width != before}
    kept = {"abroad", "over", "bits", "dynamic"}
    assert changed == {name for name, _ in own} - kept
    assert launched(binary, CUTUNE="off") == (expected, own)


TWO = """
#include <cstdio>
__global__ void up(float *x, int n, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += f;
}
__global__ void grow(float *x, int n, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= f;
}
__global__ void unused(float *x, int n, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] -= f;
}
__global__ void held(float *x, int n, float f) {
    if (threadIdx.x == 0 && blockIdx.x < n) x[blockIdx.x] += f * blockDim.x;
}
typedef void (*Kernel)(float *, int, float);
void test(Kernel kernel, float *x, int n) {
    kernel<<<(n + 63) / 64, 64>>>(x, n, 2.0f);
}
int main() {
    const int n = 30000;
    float *x, first;
    cudaMalloc(&x, n * sizeof(float));
    cudaMemset(x, 0, n * sizeof(float));
    const Kernel kernels[] = {up, grow, held, unused};
    for (int k = 0; k < 3; ++k) test(kernels[k], x, n);
    cudaMemcpy(&first, x, sizeof first, cudaMemcpyDeviceToHost);
    printf("%g\\n", first);
}
"""


@pytest.mark.long
def test_the_tuned_program_and_what_is_said(tmp_path: Path) -> None:
    (tmp_path / "two.cu").write_text(TWO)
    done = cutune("inspect", "two.cu", *QUICK[:2], "--json", cwd=tmp_path)
    launches = json.loads(done.stdout)["launches"]
    names = ["grow", "held", "unused", "up"]
    assert [one["kernel"] for one in launches] == names
    assert {one["callee"] for one in launches} == {"kernel"}
    assert [one["id"] for one in launches if one["verdict"] == "refused"] == [2]
    done = cutune("tune", "two.cu", *QUICK, "--json", cwd=tmp_path)
    outcomes = {one["kernel"]: one["outcome"] for one in json.loads(done.stdout)["launches"]}
    # One that was never launched has no outcome.
    assert outcomes == {"grow": "tuned", "held": "refused", "up": "tuned"}
    text = (tmp_path / "two.tuned.cu").read_text()
    assert re.findall(r"cutune_branch\(\d+, cutune_call\(::(\w+)\)", text) == ["grow", "up"]
    done = cutune("verify", "two.cu", "two.tuned.cu", *QUICK[:2], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "same: the run\n"), done.stderr


@pytest.mark.long
def test_cutune_nvcc_compiles_an_instrumented_program(tmp_path: Path) -> None:
    (tmp_path / "two.cu").write_text(TWO)
    words = ("two.cu", "-o", "two", "--cutune-mode=instrument,emulated")
    done = cutune("nvcc", *words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert launched(tmp_path / "two")[0] == "132\n"


KERNEL = """__global__ void NAME(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
}
"""
LAUNCH = "NAME(void (*k)(int, float *), int n, float *x) { k<<<(n + 63) / 64, 64>>>(n, x); }\n"
FIRST = f"""#pragma once
{KERNEL.replace("NAME", "first")}
inline void {LAUNCH.replace("NAME", "in_header")}"""
HEADERS = f"""#include "first.h"
// Not weak.
{KERNEL.replace("NAME", "own")}
void {LAUNCH.replace("NAME", "before")}
#include "second.h"
void {LAUNCH.replace("NAME", "behind")}
{KERNEL.replace("NAME", "third")}
void (*const known)(int, float *) = third;
#define third own
void {LAUNCH.replace("NAME", "last")}
void all(int n, float *x) {{
    void (*const kernels[])(int, float *) = {{first, second, own, known}};
    for (auto k : kernels) in_header(k, n, x), before(k, n, x), behind(k, n, x), last(k, n, x);
}}
"""


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        (
            "static",
            {
                "in_header": ["first"],
                # Of headers those that are included before, if none is behind.
                "before": ["own"],
                "behind": ["first", "own", "second"],
                # Where `third` stands for another one.
                "last": ["first", "own", "second"],
            },
        ),
        ("__attribute__((weak))", {}),
    ],
)
@pytest.mark.parametrize("define", ["#define third", "# /* */ define/**/third"])
def test_kernels_that_are_declared_before(
    define: str, attribute: str, expected: dict[str, list[str]], tmp_path: Path
) -> None:
    (tmp_path / "first.h").write_text(FIRST)
    (tmp_path / "second.h").write_text(f"{attribute} {KERNEL.replace('NAME', 'second')}")
    path = tmp_path / "main.cu"
    path.write_text(HEADERS.replace("#define third", define))
    program = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(path), require_nvcc=True)
    found: dict[str, list[str]] = {}
    for site in program.tunable_launches:
        assert site.function is not None
        found.setdefault(site.function, []).append(site.kernel)
    assert {name: sorted(kernels) for name, kernels in found.items()} == expected
