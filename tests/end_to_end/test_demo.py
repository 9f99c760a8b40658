"""`make demo`: what it shows as measured was measured for these very kernels."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cutune.model.measurement.sweep import read_sweep
from samples import demo


def kernels(path: Path) -> dict[str, str]:
    found = re.findall(r"^(__global__ void (\w+)\(.*?^\})", path.read_text(), re.M | re.S)
    return {name: text for text, name in found}


def test_its_kernels_are_those_of_the_samples() -> None:
    own = kernels(demo.SAMPLE)
    assert own.keys() == demo.ORIGINS.keys()
    for name, program in demo.ORIGINS.items():
        assert own[name] == kernels(demo.ROOT / program)[name]


def test_all_sizes_that_are_shown_were_timed() -> None:
    """Of the product none is: an H200 has not been asked yet."""
    sweeps = [read_sweep(demo.ROOT / "tests/recorded" / name) for name in demo.RECORDED]
    timed = {(one.program, one.kernel, one.size) for sweep in sweeps for one in sweep.launches}
    for name, program in demo.ORIGINS.items():
        sizes = demo.ROWS.get(name, demo.SHOWN_SIZES)
        shown = {(Path(program).stem, name, size) for size in sizes}
        assert shown <= timed or name == "matmul"


@pytest.mark.long
@pytest.mark.nvcc
def test_gains_are_much_a_little_and_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # A script that PyCUDA compiles is tuned by test_tuned_scripts.
    monkeypatch.setattr(demo, "find_spec", lambda _: None)
    assert demo.main() == 0
    shown = capsys.readouterr().out
    lines = "\n".join(map(str.rstrip, shown.splitlines()))
    gains = {
        name: [
            [*map(float, re.findall(r" (\d\.\d\d)\b", line))]
            for line in re.findall(rf"^{name} +\d+ .*$", lines, re.MULTILINE)
        ]
        for name in demo.ORIGINS
    }
    assert {len(rows) for rows in gains.values()} == {len(demo.SHOWN_SIZES)}
    assert all(p >= 3 and m >= 3 for p, m in gains["mean_kernel"])
    assert all(1 < p < 1.5 and 1 < m < 1.5 for p, m in gains["reduce_kernel"])
    assert all(p == m == 1 for p, m in gains["fdtd_step3_kernel"])
    assert all(1 < p < 1.5 and 1 <= m < 1.5 for p, m in gains["layernorm_forward"])
    assert all(p > 1.1 for (p,) in gains["matmul"])
    assert "32x32 TILE_32" in lines
    assert "\nfdtd_step3_kernel: the program's own block stays: " in shown
    assert shown.endswith("\nopen report.html\n")
    assert demo.RECORDED_ON in (tmp_path / "report.html").read_text(encoding="utf-8")
