"""`cutune shake` through nvcc and the emulated device."""

from __future__ import annotations

import os
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch

import pytest

from cutune.check.shake import build_both, trials_of
from cutune.check.shake import shake as compare
from cutune.check.verify import Conditions
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.workspace import write_text
from cutune.measure.program_runs import plan_runs
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.program import Program
from cutune.source.rewrite.output import Target
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK, QUICK_FLAGS, cutune, run

pytestmark = pytest.mark.nvcc

HEAD = """\
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#ifndef SUCCESS
#define SUCCESS 0
#endif
"""
PURE = """\
__global__ void fill(int n, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 3 * i + 1;
}
"""
SHAPED = """\
__global__ void fill(int n, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = threadIdx.x;
}
"""
#: What the user says, be it true or not.
ASSERTED = "#pragma cutune kernel fill block(x: 32, 64, 128) grid(ceil(n / x))\n"
MAIN = """\
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100, *out, *copy = (int *)malloc(n * 4);
    if (cudaMalloc(&out, n * 4) != cudaSuccess) return 1;
    fill<<<(n + 63) / 64, 64>>>(n, out);
    cudaMemcpy(copy, out, n * 4, cudaMemcpyDeviceToHost);
    unsigned sum = 0;
    for (int i = 0; i < n; ++i) sum = 31 * sum + copy[i];
    printf("%u\\n", sum);
    fprintf(stderr, "%s\\n", argv[0]);
    return SUCCESS;
}
"""


def shake(*words: object, **variables: str) -> CompletedProcess[str]:
    """`cutune shake` at two sizes; sources come first."""
    with patch.dict(os.environ, variables):
        return cutune(
            "shake", *QUICK, *words, "-q", "--run", "{program} {n}", "--vary", "n=100,1000"
        )


def written(folder: Path, text: str, name: str = "app.cu") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def pure(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CompletedProcess[str]]:
    """A pure kernel, shaken: its folder, and what was said."""
    folder = tmp_path_factory.mktemp("pure")
    return folder, shake(written(folder, HEAD + PURE + MAIN), "--seeds", 3, "--variants=all")


def test_a_pure_kernel_is_the_same(pure: tuple[Path, CompletedProcess[str]]) -> None:
    folder, done = pure
    assert (done.returncode, done.stdout) == (
        0,
        "same: 3 seeds, 4 variants, 1 tunable launch, 2 runs\n",
    )
    assert list(folder.iterdir()) == [folder / "app.cu"]


def test_configurations_are_changed(pure: tuple[Path, CompletedProcess[str]]) -> None:
    """Without this, everything else would be the same for nothing."""
    assert "CT438" not in pure[1].stderr


def test_where_nothing_may_change_the_reasons_are_given(tmp_path: Path) -> None:
    done = shake(written(tmp_path, HEAD + SHAPED + MAIN))
    assert done.returncode == 0
    assert done.stdout.startswith("nothing may change: 0 of 1 launches are tunable\n")
    assert "[CT2" in done.stdout and done.stdout.endswith("1 launch, 0 tunable\n")


@pytest.mark.long
def test_what_is_asserted_wrongly_is_found_and_can_be_seen_again(tmp_path: Path) -> None:
    done = shake(written(tmp_path, HEAD + ASSERTED + SHAPED + MAIN), "--seeds", 8)
    assert done.returncode == 1
    first, again = done.stdout.splitlines()
    assert first.startswith("differs: seed ") and ", n=" in first
    assert "standard output, line 1: '" in first
    seed = first.split()[2].rstrip(",")
    assert again.startswith(f"see it again: CUTUNE_SEED={seed} cutune shake ")
    alone = shake(tmp_path / "app.cu", "--seeds", 8, CUTUNE_SEED=seed)
    assert alone.returncode == 1 and alone.stdout.startswith(f"differs: seed {seed}, n=")


def test_times_of_events_are_no_results(tmp_path: Path) -> None:
    """Another block takes another time, which few digits or a ratio need not show to vary."""
    begin, launch = "cudaEventRecord(begin);", "fill<<<(n + 63) / 64, 64>>>(n, out);"
    timed = MAIN.replace(
        launch,
        f"cudaEvent_t begin, end; cudaEventCreate(&begin); cudaEventCreate(&end); {begin}"
        f"{launch} cudaEventRecord(end); float ms; cudaEventElapsedTime(&ms, begin, end);"
        f"{begin} {launch} {launch} cudaEventRecord(end); float more;"
        'cudaEventElapsedTime(&more, begin, end); printf("%.3f ms, %.2f\\n", ms, more / ms);',
    )
    done = shake(written(tmp_path, HEAD + PURE + timed), "--seeds", 2)
    assert done.returncode == 0 and done.stdout.startswith("same: 2 seeds"), done.stdout
    assert "[CT436]" in done.stderr


@pytest.mark.long
def test_an_original_that_fails_is_an_error(tmp_path: Path) -> None:
    source = written(tmp_path, HEAD + PURE + MAIN)
    done = shake(source, "-DSUCCESS=3", "--seeds", 1)
    assert done.returncode == 1 and "[CT433]" in done.stderr, done.stderr
    assert "differs" not in done.stdout + done.stderr
    done = shake(source, "-DSUCCESS=3", "--seeds", 1, "--status", "0,3")
    assert (done.returncode, done.stdout) == (0, "same: 1 seed, 1 tunable launch, 2 runs\n")


def test_a_program_of_several_sources_with_a_header(tmp_path: Path) -> None:
    written(tmp_path, f"#pragma once\n{PURE.replace('void', 'static void')}", "fill.h")
    launch = "fill<<<(n + 63) / 64, 64>>>(n, out);"
    start = f'#include "fill.h"\nvoid start(int n, int *out) {{ {launch} }}\n'
    further = written(tmp_path, HEAD + start, "start.cu")
    main = MAIN.replace(launch, f"start(n, out); {launch}")
    declared = '#include "fill.h"\nvoid start(int n, int *out);\n'
    done = shake(written(tmp_path, HEAD + declared + main), further, "--seeds", 2)
    assert (done.returncode, done.stdout) == (0, "same: 2 seeds, 2 tunable launches, 2 runs\n")


def test_programs_are_kept(tmp_path: Path) -> None:
    source, kept = written(tmp_path, HEAD + PURE + MAIN), tmp_path / "kept"
    assert shake(source, "--seeds", 0, "--variants=all", "--keep", kept).returncode == 0
    original, shaken = (kept / word / "app" for word in ("original", "shaken"))
    forced = run(shaken, "100", CUTUNE="verbose", CUTUNE_VARIANT="restrict_x2")
    assert forced.stdout == run(original, "100").stdout
    assert "fill: variant restrict_x2" in forced.stderr


def by_seed(analyzer: Analyzer, program: Program, seed: int, target: Target) -> Path:
    """Stands for `random_program`: the block is 32 times the seed."""
    chosen = 'int b = 32 * atoi(getenv("CUTUNE_SEED") ? getenv("CUTUNE_SEED") : "2"); '
    changed = chosen + "fill<<<(n + b - 1) / b, b>>>"
    text = program.source.text.replace("fill<<<(n + 63) / 64, 64>>>", changed)
    write_text(target.path, text)
    return target.path


@pytest.mark.parametrize("kernel", [PURE, SHAPED])
def test_another_writer_of_configurations(kernel: str, tmp_path: Path) -> None:
    path = written(tmp_path, HEAD + ASSERTED + kernel + MAIN)
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS))
    program = analyzer.load(str(path))
    binaries = build_both(analyzer, [program], tmp_path, None, by_seed)
    plans = [plan_runs("{program} {n}", {"n": ["100", "1000"]}, one) for one in binaries]
    conditions = Conditions(DeviceProfile.named("h200"))
    found = list(compare(plans[0], plans[1], trials_of(range(1, 4)), conditions, jobs=1))
    expected = ["None", "None"] if "3 * i" in kernel else ["seed 1", "seed 1"]
    assert [str(one.trial) for one in found] == expected
    assert not [remark for one in found for remark in one.remarks()]


def broken(analyzer: Analyzer, program: Program, seed: int, target: Target) -> Path:
    write_text(target.path, program.source.text.replace("return SUCCESS", "return FAILURE"))
    return target.path


def test_who_does_not_compile_is_said(tmp_path: Path) -> None:
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS))
    for text, code in (
        (HEAD + PURE + MAIN, Code.SHAKEN_NOT_COMPILED),
        (HEAD + PURE + MAIN + "int x = y;", Code.NVCC_FAILED),
    ):
        with pytest.raises(CutuneError) as error:
            program = analyzer.load(str(written(tmp_path, text)))
            build_both(analyzer, [program], tmp_path / "built", None, broken)
        assert error.value.diagnostic.code is code
