"""Blocks that were measured: the program that chooses by them, on the emulated device."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from cutune.core.reading import read_source
from cutune.core.workspace import append_lines
from cutune.model.measurement.measurement import Origin
from cutune.model.measurement.sweep import SweptLaunch, swept_line
from tests.support.cutune_runs import H200, QUICK, SAMPLES, compiled, cutune

pytestmark = pytest.mark.nvcc

KERNEL, OWN, OTHER = "Convolution2D_kernel", (32, 8, 1), (64, 2, 1)


def swept(n: int) -> SweptLaunch:
    """64x2 is faster up to 100."""
    times = {OWN: 10.0, OTHER: 8.0 if n <= 100 else 12.0}
    sizes = {"NI": n, "NJ": n}
    return SweptLaunch("2dconv", KERNEL, n, sizes, (n - 1, n - 1, 1), OWN, times)


def test_the_program_launches_what_was_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, tuned = SAMPLES / "2dconv.cu", tmp_path / "tuned.cu"
    workspace = tmp_path / "times"
    workspace.mkdir()
    about = {"device": H200.name, "origin": asdict(Origin.of(read_source(source)))}
    lines = ({**swept_line(swept(n)), **about} for n in (64, 100, 200))
    append_lines(workspace / "measurements.jsonl", lines)
    for verb in (("fit",), ("emit", "-o", tuned)):
        place = ("--model", "neighbours", "--workspace", workspace)
        result = cutune(verb[0], source, *verb[1:], *place, "-q", *QUICK)
        assert result.returncode == 0, result.stderr

    binary = compiled(tuned, source, tmp_path / "tuned")
    monkeypatch.setenv("CUTUNE", "verbose")

    def decision(n: int, device: str) -> str:
        ran = cutune("run", "-q", "--device", device, binary, n)
        assert ran.returncode == 0 and "PASS" in ran.stdout, ran.stderr
        return next((line for line in ran.stderr.splitlines() if " -> " in line), "")

    assert decision(70, "h200").endswith("69 x 69 x 1 threads: block 32x8x1 -> 64x2x1")
    assert decision(199, "h200").endswith("block 32x8x1 -> 32x8x1")
    assert decision(201, "h200") == "", "larger than anything measured"
    assert decision(70, "a100") == "", "another device"
