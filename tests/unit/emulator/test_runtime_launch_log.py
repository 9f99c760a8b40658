"""The launch log and what `cutune run` makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cutune.emulator.findings import read_findings
from cutune.emulator.launch_log import (
    LaunchRecord,
    LoggedBlock,
    LoggedMember,
    Pointer,
    read_launches,
)
from cutune.emulator.run import RunResult, summarize

SITE = {
    "site": 3,
    "executions": 64,
    "lanes": 2048,
    "busiest": 0,
    "traced": 32,
    "sectors": 128,
    "full_sectors": 100,
    "lines": 32,
    "wavefronts": 32,
    "load_cost_x20": 640,
    "store_cost_x20": 0,
    "rewritten_sectors": 0,
    "new_sectors": 128,
    "missing": 8,
    "lowest": 4096,
    "highest": 8192,
}


def line(kernel: str = "k", **changes: object) -> str:
    entry = {
        "schema": "cutune-launch-1",
        "sequence": 0,
        "site": None,
        "kernel": kernel,
        "module": "/cache/a.ptx",
        "grid": [4, 1, 1],
        "block": [32, 8, 1],
        "shared": 0,
        "parameters": "0a0000000000000000100000000000ff",
        "pointers": [{"offset": 8, "base": 4096, "size": 100, "delta": 4}],
        "members": [[2, 0, 4, 4, True]],
        "warp_instructions": 1000,
        "thread_instructions": 16000,
        "counters": {
            "executed_blocks": 4,
            "working_threads": 1000,
            "blocks": [[7, 32, 1000]],
            "sites": [SITE],
        },
        **changes,
    }
    return json.dumps(entry) + "\n"


def read(folder: Path, text: str) -> list[LaunchRecord]:
    path = folder / "launches.jsonl"
    path.write_text(text, encoding="utf-8")
    return list(read_launches(path))


def test_a_line_becomes_a_record(tmp_path: Path) -> None:
    (launch,) = read(tmp_path, line(site=5))
    assert (launch.site, launch.kernel, launch.grid, launch.block) == (
        5,
        "k",
        (4, 1, 1),
        (32, 8, 1),
    )
    assert launch.parameters[:4] == b"\x0a\0\0\0" and len(launch.parameters) == 16
    assert launch.pointers == (Pointer(offset=8, base=4096, size=100, delta=4),)
    assert launch.members == (LoggedMember(2, 0, 4, 4, is_signed=True),)
    assert launch.executed_blocks == 4 and launch.sites[0]["sectors"] == 128
    assert launch.working_threads == 1000 and launch.blocks == (LoggedBlock(7, 32, 1000),)


def test_without_counters_there_are_no_sites(tmp_path: Path) -> None:
    (launch,) = read(tmp_path, line(counters=None))
    assert launch.executed_blocks is None and launch.sites == ()


def test_torn_and_foreign_lines_are_left_out(tmp_path: Path) -> None:
    text = line() + '{"schema": "other"}\n[]\n' + line()[:50]
    assert len(read(tmp_path, text)) == 1
    assert list(read_launches(tmp_path / "missing")) == []


def test_launches_of_a_kernel_are_summed_up(tmp_path: Path) -> None:
    text = line("_Z1ai") + line("_Z1bi") + line("_Z1ai") + line("_Z1ai", grid=[1, 1, 1])
    first, second = summarize(read(tmp_path, text))
    assert (first.launches, first.configurations, first.grid) == (3, 2, (4, 1, 1))
    assert first.warp_instructions == 3000 and first.simd_efficiency == 0.5
    assert second.launches == 1 and second.sectors_per_request == 4.0
    assert "3 launches, grid 4x1x1, block 32x8x1 and 1 other, 3,000 warp" in first.render()
    assert second.render().endswith("SIMD efficiency 50.0 %, 4.00 sectors per request")


def test_the_result_as_json(tmp_path: Path) -> None:
    result = RunResult(0, summarize(read(tmp_path, line(counters=None))))
    data = json.loads(json.dumps(result.to_json()))
    assert data["schema"] == "cutune-run-1" and data["status"] == 0
    assert data["kernels"][0]["launches"] == 1
    assert data["kernels"][0]["sectors_per_request"] is None


@pytest.mark.parametrize(
    "changes",
    [
        {"sequence": "0"},
        {"site": [1]},
        {"kernel": 5},
        {"kernel": "a\nb"},
        {"kernel": "\ud800"},
        {"module": "a\x00b"},
        {"grid": [1, 1]},
        {"block": [-1, 1, 1]},
        {"parameters": "0x"},
        {"pointers": [{"offset": 8}]},
        {"members": [[1]]},
        {"signature": 1 << 64},
        {"warp_instructions": float("inf")},
        {"counters": {"sites": [{"site": 1}]}},
        {"counters": {"sites": [{**SITE, "sectors": -1}]}},
        {"counters": {"blocks": [[1]]}},
    ],
    ids=str,
)
def test_what_the_device_does_not_write_is_left_out(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    damaged = json.dumps({**json.loads(line()), **changes}) + "\n"
    assert len(read(tmp_path, line() + damaged + "[" * 100_000 + "\n" + line())) == 2


FOUND = {
    "hazard": "global_race",
    "text": "4 bytes",
    "count": 2,
    "line": 7,
    "block": [0, 0, 0],
    "thread": [1, 0, 0],
    "access": "store",
}


def test_findings_are_read_and_damaged_ones_left_out(tmp_path: Path) -> None:
    path = tmp_path / "findings.jsonl"
    head = {"schema": "cutune-findings-1", "kernel": "k", "module": "/none/a.ptx"}
    damaged: tuple[dict[str, object], ...] = (
        *({**FOUND, "hazard": "none"}, {**FOUND, "line": "7"}, {**FOUND, "block": [0]}),
        *({**FOUND, "other_line": 8, "other_block": 5}, {}),
    )
    lines = [json.dumps({**head, "findings": [one]}) for one in (FOUND, *damaged, FOUND)]
    path.write_text("\n".join([*lines, "5", "[", json.dumps({**head, "kernel": 5})]) + "\n")
    (found,) = read_findings(path)
    assert (found.kernel, found.count, found.first.place.line) == ("k", 4, 7)
