"""Variants of kernels: chosen by their models, launched where memory allows it only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cutune.emulator.launch_log import read_launches
from tests.support.aliasing_programs import KINDS, PROGRAM, with_variant
from tests.support.cutune_runs import QUICK_FLAGS, SAMPLES, Tuned, compiled, cutune, run, select
from tests.support.short_headers import STANDARD

pytestmark = pytest.mark.nvcc

RECORDED = Path(__file__).parents[1] / "recorded"


@pytest.fixture(scope="module")
def binaries(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The program as it is, and one that prefers the variant."""
    folder = tmp_path_factory.mktemp("aliasing")
    source = with_variant(PROGRAM, folder, QUICK_FLAGS)
    original = compiled(PROGRAM, PROGRAM, folder / "original")
    return original, compiled(source, PROGRAM, folder / "tuned")


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_variant_runs_only_where_no_other_pointer_leads_to_what_is_written(
    kind: str, binaries: tuple[Path, Path], tmp_path: Path
) -> None:
    original, tuned = binaries
    expected = run(original, kind, CUTUNE_DEVICES="2")
    found = run(tuned, kind, CUTUNE_LAUNCH_LOG=str(tmp_path / "log"), CUTUNE_DEVICES="2")
    assert (found.returncode, found.stdout) == (expected.returncode, expected.stdout)
    assert expected.returncode == 0
    assert ("a variant may run" in found.stderr) == (KINDS[kind][0] > 0)
    assert expected.stdout.count("\n") == (3 if kind == "pending" else 2)
    launched = [launch.kernel for launch in read_launches(tmp_path / "log")]
    assert (sum("restrict" in name for name in launched), len(launched)) == KINDS[kind]


def test_no_variant_runs_where_cutune_is_off(binaries: tuple[Path, Path], tmp_path: Path) -> None:
    run(binaries[1], "apart", CUTUNE="off", CUTUNE_LAUNCH_LOG=str(tmp_path / "log"))
    assert not any("restrict" in launch.kernel for launch in read_launches(tmp_path / "log"))


@pytest.mark.long
def test_variants_are_judged_where_they_were_swept(tuned: Tuned, tmp_path: Path) -> None:
    """A sweep over blocks alone is judged by the block that the kernel itself would have."""
    found, folder = {}, tuned("gemm").parent
    for sweep in ("polybench_h200.json", "variants/polybench_h200.json"):
        table = tmp_path / "table.json"
        words = ("--workspace", folder, "--from", RECORDED / sweep, "--json", table)
        done = cutune("evaluate", SAMPLES / "gemm.cu", *words)
        assert done.returncode == 0, done.stderr
        document = json.loads(table.read_text())
        (score,) = (one for one in document["scores"] if one["strategy"] == "mechanistic")
        assert score["answered"] == score["cases"] == len(document["launches"])
        found[sweep] = ({one["chosen"].split()[-1] for one in document["launches"]}, score)
    (plain, of_blocks), (varied, of_both) = found.values()
    assert varied >= {"restrict"} and "restrict" not in plain
    assert of_blocks["gain"] < 1.2 and of_both["gain"] > 3


@pytest.mark.long
def test_a_variant_is_chosen_by_its_model(tuned: Tuned, tmp_path: Path) -> None:
    source, rewritten = SAMPLES / "gemm.cu", tuned("gemm")
    answer = select("gemm_kernel", rewritten.parent, "--all-sizes", "1000")
    names = {one["variant"]["name"] for one in answer["ranked"]}
    assert names == {"plain", "restrict"}
    assert answer["choice"]["variant"]["restrict"] is True
    times = {
        name: min(o["predicted_ms"] for o in answer["ranked"] if o["variant"]["name"] == name)
        for name in names
    }
    # Sums stay in a register: the loop loads twice where it loaded three times, and stored.
    assert times["plain"] > 2 * times["restrict"]
    expected = run(compiled(source, source, tmp_path / "original"), "100")
    binary = compiled(rewritten, source, tmp_path / "tuned")
    log = tmp_path / "log"
    found = run(binary, "100", CUTUNE="verbose", CUTUNE_LAUNCH_LOG=str(log))
    assert found.stdout == expected.stdout
    assert "gemm_kernel: variant restrict" in found.stderr
    assert "gemm_kernel__restrict" in next(iter(read_launches(log))).kernel
    # The compiler wrapper makes the same of the same models.
    options = (f"--cutune-workspace={rewritten.parent}", "--cutune-mode=tuned,emulated", STANDARD)
    done = cutune("nvcc", source, *options, "-o", tmp_path / "wrapped")
    assert (done.returncode, done.stderr) == (0, "")
    wrapped = run(tmp_path / "wrapped", "100", CUTUNE="verbose")
    assert (wrapped.stdout, wrapped.stderr) == (found.stdout, found.stderr)
