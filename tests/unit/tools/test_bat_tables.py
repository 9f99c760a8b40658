"""Tables of the suite BAT from results: each configuration has the time of its code."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import bat_tables
from benchmarks.bat_runs import code_of

HOSTS = [f"BLOCK={block}" for block in (1, 2)]


def results() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Four programs; what FLAG says never matters, WORK does. Programs of one code ran once."""
    programs: list[dict[str, Any]] = [
        {"flags": [], "values": {"WORK": work, "FLAG": flag}, "hosts": HOSTS}
        for work in "12"
        for flag in "01"
    ]
    plan = {"words": "-s 1", "kernel": "sum", "programs": programs}
    lines: list[dict[str, Any]] = [{"sample": "other", "program": 0, "kernels": {"sum": "x"}}]
    for number, program in enumerate(programs):
        kernels = {"sum": program["values"]["WORK"], "not called": str(number)}
        lines.append({"sample": "sums", "program": number, "kernels": kernels})
    for sweep, times in enumerate(([4.0, 1.0, 3.0, 2.0], [4.0, 1.5, 3.0, 1.2])):
        for work, host, time in zip("1122", HOSTS * 2, times, strict=True):
            code = code_of({"sum": work}, host, "sum")
            line = {"code": code, "host": host, "gpu": "0", "status": 0, "milliseconds": time}
            lines.append({"sample": "sums", "sweep": sweep, **line})
    return plan, lines


def test_programs_of_one_code_share_their_time() -> None:
    plan, lines = results()
    found = {tuple(row.values.values()): row.times for row in bat_tables.rows("sums", plan, lines)}
    assert len(found) == 8
    assert found["1", "0", "2"] == found["1", "1", "2"] == [1.0, 1.5]
    assert found["2", "0", "1"] == found["2", "1", "1"] == [3.0, 3.0]


def test_what_a_table_says() -> None:
    said = "\n".join(bat_tables.told("sums", *results()))
    assert "sums: 8 of 8 configurations, 4 codes with host values" in said
    assert "without effect on the code: FLAG\n" in said
    assert "sweep 0: 1.00000 ms, 25.00% within 5 %, slowest 4 times" in said
    assert "WORK = 1, FLAG = 0, BLOCK = 2; 25.00% slower than the best in sweep 1" in said
    assert "WORK = 2, FLAG = 0, BLOCK = 2; 100.00% slower than the best in sweep 0" in said


def test_tables_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A configuration that failed has no time."""
    plan, lines = results()
    lines[-1]["milliseconds"] = None
    sample = {"check": [], "exhaustive": plan}
    (tmp_path / "plan.json").write_text(json.dumps({"samples": {"sums": sample}}))
    output = tmp_path / "table.jsonl"
    output.write_text("".join(json.dumps(line) + "\n" for line in lines))
    bat_tables.main([str(tmp_path), str(output), str(tmp_path)])
    assert "sums: 8 of 8" in capsys.readouterr().out
    with (tmp_path / "sums.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert list(table[0]) == ["WORK", "FLAG", "BLOCK", "code", "ms_0", "ms_1"]
    assert [row["ms_1"] for row in table if row["WORK"] == "2"] == ["3.0", "", "3.0", ""]
