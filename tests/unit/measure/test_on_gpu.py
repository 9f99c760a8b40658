"""What is read of ncu and of the probe, without a GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.progress import silent
from cutune.core.source import Edit, Source, Span
from cutune.measure import gpu_sweep
from cutune.measure.gpu_sweep import (
    NO_BLOCK,
    GpuBuild,
    ProfiledLaunch,
    candidates_text,
    explained,
    join_counters,
    ncu_options,
    parse_profile,
    profile,
    shortlists_text,
    sweep_on_gpu,
)
from cutune.measure.program_runs import Run
from cutune.model.measurement.sweep import IN_PROGRAM, SweptConfiguration
from cutune.source.kernel_variant import KernelVariant, Tile
from cutune.source.program import Verdict
from tests.support.analyzed import analyzed

RECORDED = Path(__file__).parents[2] / "recorded"

SOURCE = """
__global__ void flat(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] += 1;
}
__global__ void rows(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[blockIdx.y * n + i] += threadIdx.y;
}
void go(int n, float *a) {
    flat<<<(n + 255) / 256, 256>>>(n, a);
    rows<<<dim3((n + 31) / 32, n), dim3(32, 4)>>>(n, a);
}
"""

KEEPING = """
__global__ void turn(const float *a, float *b, int n) {
    __shared__ float part[128];
    part[threadIdx.x] = a[blockIdx.x * 128 + threadIdx.x];
    __syncthreads();
    b[blockIdx.x * 128 + threadIdx.x] = part[127 - threadIdx.x];
}
void go(int n, const float *a, float *b) { turn<<<n / 128, 128>>>(a, b, n); }
"""


def test_counters_of_mvt() -> None:
    """Recorded on an H200 for N = 512: two kernels, 32 blocks and the originals once more."""
    counted = parse_profile((RECORDED / "ncu_mvt_h200.csv").read_text())
    assert len(counted) == 66
    first = counted[0]
    assert (first.kernel, first.grid, first.block) == ("mvt_kernel1", (2, 1, 1), (256, 1, 1))
    # One load of x, then A and y in each of 512 steps: 1025 loads by each of 16 warps.
    assert first.values["load_instructions"] == 16 * (1 + 2 * 512)
    assert first.values["store_instructions"] == 16 * 512
    # Rows are 2048 bytes apart, so that each lane of a load of A touches a sector of its own.
    assert first.values["load_sectors"] == 16 * (512 * (32 + 1) + 4)
    assert first.values["registers"] == 20
    assert {c.kernel for c in counted} == {"mvt_kernel1", "mvt_kernel2"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('"ID","Block Size"\n"0","(1, 1, 1)"\n', "no column 'Kernel Name'"),
        ('"ID","Kernel Name","Grid Size","Block Size"\n"0","k","(1, 1)","(1, 1, 1)"\n', "shape"),
        ('"ID","' + "x" * 200_000 + '"\n', "damaged: field larger than field limit"),
    ],
    ids=["column", "shape", "field"],
)
def test_another_table_of_ncu_is_refused(text: str, reason: str) -> None:
    with pytest.raises(CutuneError, match=reason) as refused:
        parse_profile(text)
    assert refused.value.diagnostic.code is Code.NO_COUNTERS


def test_thousands_separators_and_missing_metrics() -> None:
    head = '"ID","Kernel Name","Block Size","Grid Size","smsp__inst_executed.sum"\n'
    text = head + '"","","","","inst"\n"0","k(int)","(32, 4, 1)","(7, 1, 1)","1,234,567"\n'
    assert parse_profile("text of the program\n" + text) == [
        ProfiledLaunch("k", (7, 1, 1), (32, 4, 1), {"instructions": 1234567.0})
    ]
    assert parse_profile("no CSV at all") == []


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "may not read"),
        ("==ERROR== Failed to initialize the profiler: LibraryNotLoaded", "sandboxes"),
        ("==WARNING== No kernels were profiled.", "launched no kernel"),
    ],
)
def test_complaints_are_explained(said: str, meaning: str) -> None:
    assert meaning in (explained(said) or "")
    assert explained("==PROF== Connected") is None


def fake_ncu(folder: Path, script: str) -> None:
    path = folder / "ncu"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_refusal_is_a_diagnostic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    fake_ncu(tmp_path, "echo '==ERROR== ERR_NVGPUCTRPERM'; exit 1")
    with pytest.raises(CutuneError, match="NVreg_RestrictProfilingToAdminUsers") as caught:
        profile(["./app"], {})
    assert caught.value.diagnostic.code.number == "CT429"


def test_without_ncu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CutuneError, match="install NVIDIA Nsight Compute"):
        profile(["./app"], {})


def test_ncu_gets_the_command_and_the_hooks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    fake_ncu(
        tmp_path,
        'test "$LC_ALL" = C && test "$CUTUNE_MODE" = profile || exit 3\n'
        'echo \'"ID","Kernel Name","Block Size","Grid Size"\'\n'
        'for word; do last=$word; done\necho "\\"0\\",\\"$last\\",\\"(1, 1, 1)\\",\\"(1, 1, 1)\\""',
    )
    (found,) = profile(["./app", "512"], {"CUTUNE_MODE": "profile"})
    assert found.kernel == "512"
    assert "--clock-control" in ncu_options()


def test_counters_meet_the_lines_of_the_probe() -> None:
    def counters(kernel: str, block: int) -> ProfiledLaunch:
        return ProfiledLaunch(kernel, (4, 1, 1), (block, 1, 1), {})

    def entry(kernel: str, block: int, **more: str) -> dict[str, object]:
        return {"kernel": kernel, "grid": [4, 1, 1], "block": [block, 1, 1], **more}

    counted = [
        *(counters("other", 1), counters("a", 256), counters("a", 64), counters("a", 256)),
        *(counters("b", 256), counters("b", 64)),
    ]
    entries = [
        *(entry("a", 256), entry("a", 32, error="not allowed"), entry("a", 64)),
        *(entry("b", 256), entry("b", 64)),
    ]
    pairs = list(join_counters(entries, counted))
    assert [found for _, found in pairs] == [counted[1], counted[2], counted[4], counted[5]]


PROGRAM = """#!/bin/sh
[ "$CUTUNE_MODE" = sweep ] || exit 0
[ "$CUTUNE_STEP" -lt 4 ] || exit 0
[ "$CUTUNE_CACHE" = program ] || exit 3
for launch in 0 1; do
    printf '{"schema": "cutune-timing-1", "site": 1, "kernel": "flat", "launch": %d,' $launch
    printf '"block": [%d, 1, 1], "extent": [9, 1, 1], ' $((32 + 32 * CUTUNE_STEP))
    printf '"original": %s, "modelled": false, ' $([ $CUTUNE_STEP = 0 ] && echo true || echo false)
    printf '"identical": true, "difference": 0, "arguments": [], '
    printf '"milliseconds": [0.00%d]}\\n' $((1 + launch + CUTUNE_STEP))
done >> "$CUTUNE_OUTPUT"
"""


def test_in_the_programs_sequence_the_last_launch_counts(tmp_path: Path) -> None:
    path = tmp_path / "app"
    path.write_text(PROGRAM)
    path.chmod(0o755)
    run = Run((str(path),), {})
    build = GpuBuild([analyzed(Source("app.cu", SOURCE))], {}, [run], "paper", silent)
    (found,) = sweep_on_gpu(build, IN_PROGRAM)
    assert found.own == (32, 1, 1)
    expected = {(32, 1, 1): 2.0, (64, 1, 1): 3.0, (96, 1, 1): 4.0, (128, 1, 1): 5.0}
    assert found.microseconds == expected


def test_candidates_of_a_program() -> None:
    program = analyzed(Source("app.cu", SOURCE))
    lines = candidates_text(program, "paper", {1: (256, 1, 1), 2: (32, 4, 1)}).splitlines()
    flat = [line for line in lines if line.startswith("1 ")]
    rows = [line for line in lines if line.startswith("2 ")]
    assert len(flat) == 32 and "1 256 1 1" in flat
    # y is no global id: its four threads stay.
    assert rows and all(line.split()[2:] == ["4", "1"] for line in rows)
    unknown = candidates_text(program, "paper").splitlines()
    assert not any(line.split()[1:] == [str(n) for n in NO_BLOCK] for line in unknown)


def test_a_copy_with_other_constants_has_its_one_block() -> None:
    program = analyzed(Source("app.cu", SOURCE))
    flat, *others = program.kernels
    source, edit = flat.source, Edit.insert(0, "")
    tile = Tile((64, 1, 1), (256, 1, 1), ("n", "1", "1"), (64, 1, 1), (256, 1, 1))
    copies = (
        KernelVariant("x2", "flat__x2", source, edit, "coarsen"),
        KernelVariant("T_64", "flat__T_64", source, edit, "tiles", tile=tile),
    )
    site = replace(program.launches[0], called=Span(0, 1))
    program = replace(
        program,
        kernels=(replace(flat, variants=copies), *others),
        launches=(site, *program.launches[1:]),
        has_checked_variants=True,
    )
    lines = candidates_text(program, "paper", {1: (256, 1, 1), 2: (32, 4, 1)}).splitlines()
    assert [line for line in lines if line.endswith("@T_64")] == ["1 64 1 1 @T_64"]
    assert sum(line.endswith("@x2") for line in lines) == 32


def test_a_shortlist_names_what_is_timed() -> None:
    program = analyzed(Source("app.cu", SOURCE))
    listed = [SweptConfiguration((64, 1, 1), "x2"), SweptConfiguration((96, 1, 1))]
    text = shortlists_text([program], {"flat": listed})
    assert text == "1 64 1 1 @x2\n1 96 1 1\n"


def test_candidates_of_a_kernel_that_keeps_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    program = analyzed(Source("app.cu", KEEPING))
    launches = tuple(replace(one, verdict=Verdict.TUNABLE) for one in program.launches)
    program = replace(program, launches=launches)
    about = program.source, Edit.insert(0, "")
    tile = Tile((64, 1, 1), (128, 1, 1), ("n", "1", "1"), (64, 1, 1), (128, 1, 1))
    variants = (
        KernelVariant("restrict", "turn__restrict", *about, "restrict"),
        KernelVariant("SIDE_64", "turn__SIDE_64", *about, "tiles", tile=tile),
    )
    monkeypatch.setattr(gpu_sweep, "variants_at", lambda program, site: variants)
    expected = ["1 0 0 0", "1 0 0 0 @restrict", "1 64 1 1 @SIDE_64"]
    assert candidates_text(program, "paper").splitlines() == expected
    own = candidates_text(program, "paper", {1: (128, 1, 1)}).splitlines()
    assert own == ["1 128 1 1", "1 128 1 1 @restrict", "1 64 1 1 @SIDE_64"]
