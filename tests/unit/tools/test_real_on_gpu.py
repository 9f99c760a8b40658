"""The table of real programs on a GPU, and what its runner makes of a program and its output."""

import json
import stat
from pathlib import Path

import pytest

from benchmarks import real_on_gpu, time_real

_PROGRAM = """#!/bin/sh
echo "repeated $1, took 0.$$ s"
echo "sum {total}"
[ -z "$KERNEL_TIMES" ] || printf '{kernels}' > "$KERNEL_TIMES"
echo {total} > result.txt
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    plan = []
    for name, other in (("same", "12.5"), ("other", "13.5")):
        plan.append(
            {
                "program": name,
                "arguments": ["{r}"],
                "own_repetitions": 200,
                "kernels": ["init"],
                "inputs": [["../data/image.hdr", "tonemapping", 16]],
            }
        )
        rest = r"3 30 64x1x1 _Z3fooIiEvPfi\n"
        _write(tmp_path / "bin" / f"{name}.own", "12.5", r"10 120 256x1x1 _Z4initPfi\n" + rest)
        kernels = r"10 90 512x1x1 _Z17init__restrict_x4Pfi\n" + rest
        _write(tmp_path / "bin" / f"{name}.tuned", other, kernels)
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    return tmp_path


def _write(path: Path, total: str, kernels: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(_PROGRAM.format(total=total, kernels=kernels))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_table_compares_tunable_kernels_and_output(folder: Path) -> None:
    time_real.main(folder, folder / "out", 600, 0, 10)
    lines = list(real_on_gpu.table([folder / "out"]))
    rows = {row.split(" | ")[0]: row.split(" | ") for row in lines if row.startswith("| ")}
    assert rows["| same"][1:3] == ["200", "10"]
    assert rows["| same"][5:7] == ["1.333", "80 %"]
    assert [row[-1] for row in (rows["| same"], rows["| other"])] == ["same |", "OTHER |"]
    assert "2 programs, GPU time 1.333 on the geometric mean" in lines[-1]


def test_numbers_of_timing_lines_are_no_result() -> None:
    assert time_real.kept("kernel time: 3.5 ms\nsum 2") == "kernel time: # ms\nsum 2"


def test_variants_count_to_their_kernel() -> None:
    kernels = {"init", "foo"}
    assert real_on_gpu.base_name("_Z17init__restrict_x4Pfi", kernels) == "init"
    assert real_on_gpu.base_name("_Z3fooIiEvPfi", kernels) == "foo"
    assert real_on_gpu.base_name("_ZN12_GLOBAL__N_13fooEv", kernels) == "foo"
    assert real_on_gpu.base_name("_Z8initiatePfi", kernels) is None


def test_nothing_more_is_run_where_cupti_records_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for way in ("own", "tuned"):
        _write(folder / "bin" / f"same.{way}", "12.5", "")
    time_real.main(folder, folder / "out", 600, 0, 10)
    assert len((folder / "out" / "times.jsonl").read_text().splitlines()) == 1
    assert "CUPTI recorded no kernel, so nothing more is run: repeated" in capsys.readouterr().out
    assert "no tunable kernel was recorded" in "".join(real_on_gpu.table([folder / "out"]))
