"""Configurations that share a process: the same outcome as alone, with fewer processes."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cutune.cli.main import main
from cutune.search import measure_parameters
from cutune.search.builds import Builds, Built
from tests.support.cutune_runs import QUICK

pytestmark = pytest.mark.nvcc

PROGRAM = """\
#include <cstdio>
#include <cstdlib>

__global__ void add(int n, int *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
}

int main(int argc, char **argv) {
    int n = atoi(argv[1]), *x;
    cudaMallocManaged(&x, n * sizeof(int));
#pragma cutune tune(mode: 0..6) data(n)
    int mode = 0;
#pragma cutune tune(block: 32, 64, 96, 128, 160, 192, 2048) data(n)
    int block = 32;
#pragma cutune region begin repeat
    if (mode == 1) abort();
    cudaMemset(x, 0, n * sizeof(int));
    add<<<(n + block - 1) / block, block>>>(n - (mode == 3), x);
#pragma cutune region end
    cudaDeviceSynchronize();
    printf("last %d\\n", x[n - 1]);
}
"""
#: Stands for that program on a GPU: what is wrong (3) is fastest; 1 ends the program, 2 never does,
#: 4 is a launch that fails, 5 does not do what it is told to do, 6 ends well only beside others.
TIMED = """\
#!{python} -S
import os, sys, time
own = {{"mode": 0, "block": 32}}
turns = [os.environ["CUTUNE_SET"], *os.environ.get("CUTUNE_REPEAT", "").split(";")]
with open({log!r}, "a") as log:
    log.write(f"{{' '.join(dict.fromkeys(filter(None, turns))) or 'own'}}\\n")
n, first = int(sys.argv[1]), None
lines = []
for turn, text in enumerate(turns[: None if turns[1] else 1]):
    given = dict(word.split("=") for word in text.split(",") if word)
    mode, block = (int(given.get(name, own[name])) for name in own)
    first = first or mode
    if mode == 1:
        os.abort()
    if mode == 2 and block == 32:
        time.sleep(600)
    if mode == 6 and len(turns) == 2 and not turns[1]:
        sys.exit("alone")
    values = {{"mode": 0 if mode == 5 and turn else mode, "block": block}}
    tunables = {{
        name: {{"value": value, "original": own[name], "ambiguous": False, "data": {{"n": n}}}}
        for name, value in values.items()
    }}
    # At first everything takes longer.
    late = 0 if turn >= len({{*turns}}) or len({{*turns}}) < 3 else 100
    milliseconds = {{0: 2, 3: 0.1, 5: 3, 6: 1}}.get(mode, 4) + 32 / block + late
    line = {{"region": 1, "turn": turn, "device": "a GPU", "milliseconds": milliseconds}}
    line["tunables"] = tunables
    if mode == 4:
        line["error"] = "invalid configuration argument"
    with open(os.environ["CUTUNE_OUTPUT"], "a") as output:
        print(str(line).replace("'", '"').replace("False", "false"), file=output)
print("last", int(mode != 3))
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path, binary = tmp_path / "program.cu", tmp_path / "timed"
    path.write_text(PROGRAM)
    binary.write_text(TIMED.format(python=sys.executable, log=str(tmp_path / "log")))
    binary.chmod(0o755)
    monkeypatch.setattr(measure_parameters, "_require_gpu", lambda: None)
    monkeypatch.setattr(Builds, "_built", lambda self, values: Built(binary))
    return path


RUN = ["--run", "{program} {n}", "--vary", "n=64", "--repetitions", "2", "-q", *QUICK]


def ended(program: Path) -> dict[tuple[int, int], dict[str, Any]]:
    """How each configuration ended last."""
    path = program.parent / ".cutune" / "trials.jsonl"
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    begun = {one["trial"]: one["configuration"] for one in entries if one["event"] == "begin"}
    return {
        (begun[one["trial"]]["mode"], begun[one["trial"]]["block"]): one
        for one in entries
        if one["event"] == "end"
    }


def processes(program: Path) -> list[list[str]]:
    """The settings of each that was started."""
    return [line.split() for line in (program.parent / "log").read_text().splitlines()]


@pytest.mark.long
def test_all_that_fails_is_found_and_the_best_is_right(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tune = ["tune", str(program), "--tunables", "--search", "100%", "--timeout", "4"]
    few = ["--tune", "mode=0,1,2,3,4,5", "--tune", "block=32,64,2048"]
    assert main([*tune, *few, *RUN]) == 0
    said = capsys.readouterr()
    found = ended(program)
    statuses = Counter(one["status"] for one in found.values())
    assert statuses == {"ok": 5, "wrong": 2, "runtime": 2, "timeout": 1, "limits": 8}
    assert "above: block = 64" in said.out and "above: mode = 0" in said.out
    # What ran with others is as it is alone.
    assert found[0, 64]["times"] == [2.5] * 2 and found[0, 64]["compared"]
    assert found[5, 64]["times"] == [3.5] * 2
    assert any(len(settings) > 2 for settings in processes(program))
    # All is known, and nothing runs again.
    before = processes(program)
    assert main(["collect", str(program), "--tunables", "--on", "gpu", *few, *RUN]) == 0
    assert processes(program) == before


def test_the_fastest_are_compared_until_enough_are_right(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Six are wrong, six fail alone, and are faster than any that is right."""
    sweep = ["collect", str(program), "--tunables", "--on", "gpu", "--tune", "mode=0,3,6"]
    few = ["--tune", "block=32,64,96,128,160,192"]
    assert main([*sweep, *few, *RUN]) == 0
    said, found = capsys.readouterr(), ended(program)
    statuses = {
        mode: [one["status"] for (m, _), one in found.items() if m == mode] for mode in (0, 3, 6)
    }
    assert statuses == {0: ["ok"] * 6, 3: ["wrong"] * 6, 6: ["runtime"] * 6}
    compared = {block for (mode, block), one in found.items() if mode == 0 and one["compared"]}
    assert compared >= {64, 96, 128, 160, 192}, "five of them"
    assert [len(settings) for settings in processes(program)].count(1) < 6 + 6 + 2 * 5 + 10
    assert "6 runs wrote something else" in said.err and "(6 runtime)" in said.err
    others = 6 - len(compared)
    assert f"{len(compared)} configurations timed\n" in said.out
    assert ("1 more, none of the fastest, shared processes" in said.out) == (others == 1)
    assert main(["fit", str(program), "--model", "neighbours", "-q", *QUICK]) == 0
    assert "block = 192" in capsys.readouterr().out


def test_a_search_starts_few_processes(program: Path) -> None:
    """64 of 512, of which the longest is fastest: after nine, sixteen times four."""
    sweep = ["collect", str(program), "--tunables", "--on", "gpu", "--tune", "mode=0"]
    program.write_text(PROGRAM.replace("32, 64, 96, 128, 160, 192, 2048", "1..512"))
    assert main([*sweep, "--search", "64", *RUN]) == 0
    found = ended(program)
    assert 64 <= len(found) <= 66 and max(block for _, block in found) > 400
    # The own one twice, five finalists, and what is compared of them.
    assert sum(len(settings) > 2 for settings in processes(program)) <= 16
    assert len(processes(program)) <= 40


def test_the_fastest_of_each_size_are_timed_at_all(program: Path) -> None:
    """Where one size has found them, the others know their times, too: a quarter more."""
    program.write_text(PROGRAM.replace("32, 64, 96, 128, 160, 192, 2048", "1..512"))
    binary = program.with_name("timed")
    text = binary.read_text()
    binary.write_text(text.replace("32 / block", "(32 / block if n == 64 else block / 32)"))
    sweep = ["collect", str(program), "--tunables", "--on", "gpu", "--tune", "mode=0"]
    run = [word.replace("n=64", "n=64,4096") for word in RUN]
    assert main([*sweep, "--technique", "random", "--search", "24", *run]) == 0
    path = program.parent / ".cutune" / "trials.jsonl"
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    begun = {one["trial"]: one for one in entries if one["event"] == "begin"}
    at: dict[int, set[str]] = {}
    for one in entries:
        if one["event"] == "end" and one["final"]:
            trial = begun[one["trial"]]
            at.setdefault(trial["configuration"]["block"], set()).add(trial["sizes"]["n"])
    assert len(at) == 10, "others at each size"
    known = {(one["configuration"]["block"], one["sizes"]["n"]) for one in begun.values()}
    assert known >= {(block, n) for block in at for n in ("64", "4096")}


def with_killed_workers(program: Path, condition: str) -> None:
    """The program kills its worker where a condition holds."""
    binary = program.with_name("timed")
    text = binary.read_text()
    kill = f"    if {condition}:\n        os.kill(os.getppid(), 9); time.sleep(600)\n"
    binary.write_text(text.replace("    if mode == 1:\n", f"{kill}    if mode == 1:\n", 1))
    program.write_text(PROGRAM.replace("32, 64, 96, 128, 160, 192, 2048", "1..101"))


def test_what_was_with_a_lost_worker_shares_processes_again(program: Path) -> None:
    once = program.with_name("once")
    begins = f"os.open({str(once)!r}, os.O_CREAT | os.O_EXCL)"
    with_killed_workers(program, f"block == 77 and not os.path.exists({str(once)!r}) and {begins}")
    sweep = ["collect", str(program), "--tunables", "--on", "gpu", "--tune", "mode=0"]
    assert main([*sweep, *RUN]) == 0
    assert once.exists() and {one["status"] for one in ended(program).values()} == {"ok"}
    # All at once, then eleven times about nine; finalists are compared alone, and timed at once.
    assert sum(len(settings) > 2 for settings in processes(program)) <= 1 + 11 + 1
    assert sum(len(settings) <= 2 for settings in processes(program)) == 1 + 5


def test_one_that_takes_its_worker_with_it_is_found_among_many(program: Path) -> None:
    with_killed_workers(program, "block == 77")
    sweep = ["collect", str(program), "--tunables", "--on", "gpu", "--tune", "mode=0"]
    assert main([*sweep, *RUN]) == 0
    found = ended(program)
    assert (0, 77) not in found and {one["status"] for one in found.values()} == {"ok"}
    assert len(found) == 100
    alone = [settings for settings in processes(program) if len(settings) == 1]
    assert alone.count(["mode=0,block=77"]) == 2
    assert len(alone) <= 1 + 2 + 2 * 2 + 5


def test_without_repeat_nothing_is_shared(program: Path) -> None:
    program.write_text(PROGRAM.replace(" repeat", ""))
    sweep = ["collect", str(program), "--tunables", "--on", "gpu", "--tune", "mode=0,3"]
    assert main([*sweep, "--tune", "block=32,64", *RUN]) == 0
    assert {len(settings) for settings in processes(program)} == {1}
    assert all(one["compared"] for one in ended(program).values())


def test_what_cannot_be_told_apart_runs_alone(program: Path) -> None:
    """The region writes something, so that no output is that of one configuration."""
    binary = program.with_name("timed")
    text = binary.read_text()
    binary.write_text(text.replace("    values = {", '    print("turn")\n    values = {', 1))
    sweep = ["collect", str(program), "--tunables", "--on", "gpu", "--tune", "mode=0"]
    assert main([*sweep, "--tune", "block=32,64,96,128", *RUN]) == 0
    assert all(one["compared"] and one["status"] == "ok" for one in ended(program).values())
    assert [len(settings) for settings in processes(program)].count(1) > 4 * 2


def test_values_that_were_fixed_before_the_region_run_alone(program: Path) -> None:
    """As those of a function that is called before it."""
    binary = program.with_name("timed")
    text = binary.read_text()
    binary.write_text(
        text.replace(
            "    values = {", "    block = own['block'] if turn else block\n    values = {", 1
        )
    )
    sweep = ["collect", str(program), "--tunables", "--on", "gpu", "--tune", "mode=0"]
    assert main([*sweep, "--tune", "block=64,96,128", *RUN]) == 0
    found = ended(program)
    assert all(one["compared"] and one["status"] == "ok" for one in found.values())
    assert found[0, 128]["times"] == [2.25] * 2
    assert [len(settings) for settings in processes(program)].count(3) == 1
