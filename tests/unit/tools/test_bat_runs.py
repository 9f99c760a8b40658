"""Runs of the samples of BAT on a machine with a GPU, with a stand-in for nvcc and its programs."""

from __future__ import annotations

import json
import os
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import bat_runs

#: Writes a program that knows its options.
NVCC = """\
#!{python} -S
import sys
output, flags = sys.argv[sys.argv.index("-o") + 1], sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(" ".join(flags) + "\\n")
if "-DBAD" in flags:
    sys.exit("error: it does not compile")
with open(output, "w") as file:
    file.write({program!r})
import os
os.chmod(output, 0o755)
"""
PROGRAM = """\
#!{python} -S
import json, os, sys
if sys.argv[1:] == ["-s", "1"]:
    block = os.environ["CUTUNE_SET"]
    print("PASSED: it is right" if block != "BLOCK=3" else "FAILED: it is wrong")
    sys.exit(block == "BLOCK=3")
assert sys.argv[1:] == ["-s", "1", "20", "0"]
for line in sys.stdin:
    block = int(line.split("=")[1])
    if block == 3:
        sys.exit(1)
    region = json.dumps({{"milliseconds": 20.0 * block}})
    print(f"0\\t20\\t{{region}}", flush=True)
"""


@pytest.fixture(name="folder")
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan of two programs, one of which does not compile."""
    commands = tmp_path / "bin"
    commands.mkdir()
    program = PROGRAM.format(python=sys.executable)
    nvcc = NVCC.format(python=sys.executable, log=str(tmp_path / "log"), program=program)
    (commands / "nvcc").write_text(nvcc)
    (commands / "nvcc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    hosts = [f"BLOCK={block}" for block in (1, 2, 3, 4)]
    programs = [{"flags": [], "hosts": hosts}, {"flags": ["-DBAD"], "hosts": hosts}]
    drawn = [
        {"values": {"BLOCK": host}, "flags": program["flags"], "words": "-s 1", "host": host}
        for program in programs
        for host in hosts
    ]
    table = {"words": "-s 1", "kernel": "", "is_probed": False, "is_alone": False}
    sample = {"check": drawn, "exhaustive": {**table, "programs": programs}}
    plan = {"flags": ["-I."], "samples": {"sums": sample}}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "sums.tunables.cu").write_text("int main() {}\n")
    return tmp_path


def run(folder: Path, kind: str, seconds: float = 60) -> list[dict[str, Any]]:
    output = folder / f"{kind}.jsonl"
    bat_runs.main([kind, str(folder), str(output), str(seconds)])
    return [json.loads(line) for line in output.read_text().splitlines()]


def test_checked_runs_are_counted_and_not_repeated(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = run(folder, "check")
    assert sorted(line["number"] for line in lines if line["passed"]) == [0, 1, 3]
    said = {line["number"]: line["said"] for line in lines if not line["passed"]}
    assert said[2] == "FAILED: it is wrong"
    assert {said[number] for number in (4, 5, 6, 7)} == {"not compiled: error: it does not compile"}
    assert "sums: 3 PASS of 8 run, 8 drawn" in capsys.readouterr().out
    assert run(folder, "check") == lines


def test_the_table_goes_on_where_it_ended(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program that ends at a setting is started again for the next ones."""
    (folder / "exhaustive.jsonl").write_text('{"sample": "sums", "swe')
    assert run(folder, "exhaustive", -1) == []
    lines = run(folder, "exhaustive")
    assert lines[0] == {"sample": "sums", "program": 0, "kernels": lines[0]["kernels"]}
    found = [
        (line["sweep"], line["host"], line["status"], line["milliseconds"]) for line in lines[1:]
    ]
    assert found == [
        (sweep, f"BLOCK={block}", None if block == 3 else 0, None if block == 3 else float(block))
        for sweep in (0, 1)
        for block in (1, 2, 3, 4)
    ]
    said = capsys.readouterr().out
    assert "sums: 2 programs, 1 not built; 8 configurations, 4 of different code" in said
    assert "1.00000 ms: BLOCK=1" in said
    assert run(folder, "exhaustive") == lines
    compiled = (folder / "log").read_text().splitlines()
    assert sum("-Dmain=bat_main" in line for line in compiled if "-DBAD" not in line) == 1


def cubin(kernels: dict[str, tuple[bytes, int]]) -> bytes:
    """An ELF file of CUDA's machine: sections with code, and a number of registers."""
    names, content = b"\0.names\0", b""
    headers = [(0,) * 10]
    for name, (code, registers) in kernels.items():
        at = len(names)
        names += f".text.{name}".encode() + b"\0"
        place = 64 + len(content)
        headers.append((at, 1, 0, 0, place, len(code), 0, registers << 24, 0, 0))
        content += code
    headers.append((1, 3, 0, 0, 64 + len(content), len(names), 0, 0, 0, 0))
    content += names
    table = b"".join(struct.pack("<IIQQQQIIQQ", *header) for header in headers)
    head = bytearray(64)
    head[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<H", head, 18, 190)
    struct.pack_into("<Q", head, 0x28, 64 + len(content))
    struct.pack_into("<HHH", head, 0x3A, 64, len(headers), len(headers) - 1)
    return bytes(head) + content + table


def test_programs_of_the_same_code_and_registers_are_alike(tmp_path: Path) -> None:
    """Of one kernel, where the plan says which."""
    own = tmp_path / "program"
    kernel = "sum_{BLOCK}_"
    codes = {}
    for name, kernels in {
        "first": {"sum_64_": (b"add", 20), "sum_32_": (b"add", 20)},
        "other kernel": {"sum_64_": (b"add", 20), "sum_32_": (b"sub", 20)},
        "other registers": {"sum_64_": (b"add", 24), "sum_32_": (b"add", 20)},
    }.items():
        own.write_bytes(b"\x7fELF\x02\x01" + bytes(100) + cubin(kernels))
        found = bat_runs.kernel_codes(own)
        assert set(found) == set(kernels)
        codes[name] = [bat_runs.code_of(found, "BLOCK=64,GRID=2", k) for k in (kernel, "")]
    assert codes["first"][0] == codes["other kernel"][0] != codes["other registers"][0]
    assert codes["first"][1] != codes["other kernel"][1]
    own.write_bytes(b"\x7fELF\x02\x01" + bytes(100))
    assert bat_runs.kernel_codes(own) == {}
    unlike = [bat_runs.code_of({"": name}, "BLOCK=64", kernel) for name in ("first", "second")]
    assert unlike[0] != unlike[1]
