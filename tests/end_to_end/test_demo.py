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
        assert own[name] == kernels(demo.SAMPLE.parent / f"polybench/{program}.cu")[name]


def test_all_sizes_that_are_shown_were_timed() -> None:
    timed = {(one.program, one.kernel, one.size) for one in read_sweep(demo.RECORDED).launches}
    for name, program in demo.ORIGINS.items():
        assert {(program, name, size) for size in demo.SHOWN_SIZES} <= timed


@pytest.mark.nvcc
def test_one_gains_much_one_a_little_and_one_keeps_its_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert demo.main() == 0
    shown = capsys.readouterr().out
    row = r"^{} .* (\d\.\d\d) +(\d\.\d\d)$"
    lines = "\n".join(map(str.rstrip, shown.splitlines()))
    gains = {
        name: [(float(p), float(m)) for p, m in re.findall(row.format(name), lines, re.MULTILINE)]
        for name in demo.ORIGINS
    }
    assert {len(rows) for rows in gains.values()} == {len(demo.SHOWN_SIZES)}
    assert all(p >= 3 and m >= 3 for p, m in gains["mean_kernel"])
    assert all(1 < p < 1.5 and 1 < m < 1.5 for p, m in gains["reduce_kernel"])
    assert all(p == m == 1 for p, m in gains["fdtd_step3_kernel"])
    assert "\nfdtd_step3_kernel: the program's own block stays: " in shown
    assert shown.endswith("\nopen report.html\n")
    assert demo.RECORDED_ON in (tmp_path / "report.html").read_text(encoding="utf-8")
