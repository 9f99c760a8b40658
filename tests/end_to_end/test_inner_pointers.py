"""Pointers in structures: where they lead decides at each launch whether warps stay as they are."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from cutune.emulator.launch_log import read_launches
from cutune.emulator.program_builds import build, build_emulated
from cutune.model.emit.programs import random_program
from cutune.passes import ReplaceLaunches
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.program import Program
from cutune.source.rewrite.output import Target
from cutune.source.rewrite.pipeline import TranslationUnit, run_passes
from cutune.toolchain.kernel_names import base_name
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK, QUICK_FLAGS, cutune, run

pytestmark = pytest.mark.nvcc

PATH = Path(__file__).parents[1] / "corpus" / "programs" / "inner_pointers.cu"
ANALYZER = Analyzer(Toolchain(flags=QUICK_FLAGS))
#: A block that does not keep the program's warps, which have 32 threads, wherever it is allowed.
ROUTINE = """
static cutune_chosen cutune_select_any(const cutune_request *, cutune_shortlist *) {
    return cutune_only_block(dim3(48));
}
enum : unsigned long long { cutune_select_any_arguments = 0 };
"""
OTHER, OWN = 48, 32
BOTH = [OTHER, OWN]
#: The widths of the blocks that each kernel got, in the order of its launches.
WIDTHS = {
    # By the functions of the program that launch it: of_one_structure, of_arguments, of_graphs,
    # of_memory.
    "plain": [
        *(OTHER, OWN, OWN),
        *(OWN, OTHER, OTHER, OTHER, OTHER, OWN, OTHER, OWN, OWN),
        OWN,
        *(OWN, OTHER, OTHER, OWN, OWN),
    ],
    "constant": BOTH,
    "nested": BOTH,
    "two_structures": BOTH,
    "beside": BOTH,
    "in_rows": [OTHER, OWN, OWN],
    "of_constant_block": [OTHER, OWN, OWN],
    "array_first": BOTH,
    "of_union": BOTH,
    "of_private": BOTH,
    "of_derived": BOTH,
    "of_numbers": BOTH,
    "of_views": [*BOTH, OTHER],
    "moved": BOTH,
    "hands_value": BOTH,
    "hands_reference": BOTH,
    "fixed": BOTH,
    "sixteen": [OTHER, OWN, OTHER],
    # Bytes that are not read as one pointer, and pointers that are made of several.
    "of_packed": [OWN] * 2,
    "assigned": [OWN],
    "chosen": [OWN],
    "exchanged": [OWN],
    "indexed": [OWN],
    "stepped": [OWN],
    "inner_steps": [OWN],
    "perhaps": [OWN],
    # More than a launch asks about.
    "seventeen": [OWN] * 3,
    # Pointers that no launch passes.
    "hands_away": [OWN] * 2,
    "behind": [OWN] * 2,
    "deep": [OWN] * 2,
    # The pointers meet in the copy that the kernel gets.
    "of_copied": [OWN],
    # What is passed is not known to be what the kernel gets.
    "of_many": [OWN] * 2,
    "overloaded": [OWN] * 2,
    "defaulted": [OWN],
}


@pytest.fixture(scope="module")
def program() -> Program:
    return ANALYZER.load(str(PATH), require_nvcc=True)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the program prints as it is."""
    done = run(build_emulated(ANALYZER.toolchain, str(PATH), tmp_path_factory.mktemp("original")))
    assert done.returncode == 0 and done.stdout.count("no error") > 50
    return done.stdout


def built(source: Path, program: Program, folder: Path) -> Path:
    return build(
        ANALYZER.toolchain,
        source,
        ANALYZER.toolchain.compile_flags(program.source.path),
        folder / "binary",
    )


@pytest.mark.long
def test_each_launch_finds_its_pointers(program: Program, expected: str, tmp_path: Path) -> None:
    assert [site.kernel for site in program.launches if site.code is not None] == []
    routines = tuple((site.id, "cutune_select_any") for site in program.tunable_launches)
    unit = run_passes([ReplaceLaunches(ROUTINE, routines)], TranslationUnit(program))
    binary = built(Target(tmp_path / "tuned.cu").write(unit), program, tmp_path)
    log = tmp_path / "log"
    assert run(binary, CUTUNE_LAUNCH_LOG=str(log)).stdout == expected
    found: defaultdict[str, list[int]] = defaultdict(list)
    for launch in read_launches(log):
        found[base_name(launch.kernel)].append(launch.block[0])
    assert found == WIDTHS


@pytest.mark.long
def test_the_same_is_printed_in_any_block(program: Program, expected: str, tmp_path: Path) -> None:
    source = random_program(ANALYZER, program, 1, Target(tmp_path / "random.cu"))
    binary = built(source, program, tmp_path)
    for seed in range(1, 9):
        found = run(binary, CUTUNE_SEED=str(seed), CUTUNE="verbose")
        assert found.stdout == expected
        assert found.stderr.count(" -> ") > 50


#: Steps from one field to another, in place, or within one allocation.
STEPS = r"""
#include <cstdio>
#include <cstdlib>
struct Fields { int nx, ny; float *now, *next; };
__global__ void step(Fields f) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < f.nx && j < f.ny) f.next[j * f.nx + i] = 0.5f * f.now[j * f.nx + (i ^ 4)] + 1;
}
int main(int, char **words) {
    const int n = atoi(words[1]), how = atoi(words[2]);
    float *one, *other;
    cudaMalloc(&one, 2 * n * n * sizeof(float));
    cudaMalloc(&other, n * n * sizeof(float));
    float *values = new float[2 * n * n];
    for (int i = 0; i < 2 * n * n; ++i) values[i] = i % 317;
    cudaMemcpy(one, values, 2 * n * n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(other, values, n * n * sizeof(float), cudaMemcpyHostToDevice);
    Fields f = {n, n, one, how == 0 ? other : how == 1 ? one : one + n * n};
    for (int round = 0; round < 4; ++round) {
        step<<<dim3(n / 8, n / 4), dim3(8, 4)>>>(f);
        if (how == 0) f = Fields{n, n, f.next, f.now};
    }
    cudaMemcpy(values, one, 2 * n * n * sizeof(float), cudaMemcpyDeviceToHost);
    double sum = 0;
    for (int i = 0; i < 2 * n * n; ++i) sum += values[i] * (i % 1009);
    printf("%.17g %s\n", sum, cudaGetErrorString(cudaDeviceSynchronize()));
}
"""


@pytest.mark.long
def test_tuned_and_compared(tmp_path: Path) -> None:
    """The whole way: measured, modelled, emitted, and run in all cases."""
    (tmp_path / "steps.cu").write_text(STEPS)
    source = tmp_path / "steps.cu"
    command = ("--run", "./{program} {n} {how}", "--vary")
    tuned = tmp_path / "steps.tuned.cu"
    done = cutune(
        *("tune", source, *command, "n=96,160", "--vary", "how=0", "--device", "h200"),
        *("--workspace", tmp_path, "-o", tuned, *QUICK),
    )
    assert done.returncode == 0, done.stderr
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS))
    original = build_emulated(analyzer.toolchain, str(source), tmp_path)
    binary = build(
        analyzer.toolchain, tuned, analyzer.toolchain.compile_flags(str(source)), tmp_path / "tuned"
    )
    ways = ("n=640", "--vary", "how=0,1,2", "--identical")
    compared = cutune("verify", original, binary, *command, *ways)
    assert compared.returncode == 0 and compared.stdout.count("same:") == 3, compared.stderr
    said = {how: run(binary, "640", how, CUTUNE="verbose").stderr for how in "012"}
    assert "block 8x4x1 -> 8x4x1" not in said["0"] and " -> " in said["0"]
    for how in "12":
        assert keeps_warps(said[how]), said[how]


def keeps_warps(said: str) -> bool:
    """Are all blocks 8 wide, in whole warps?"""
    blocks = [line.rpartition(" -> ")[2].split()[0] for line in said.splitlines() if " -> " in line]
    shapes = [[int(part) for part in block.split("x")] for block in blocks]
    return bool(shapes) and all(s[0] == 8 and s[0] * s[1] * s[2] % 32 == 0 for s in shapes)
