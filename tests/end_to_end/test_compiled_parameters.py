"""Macros, options of nvcc and words of the command line from source to tuned program."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cutune.cli.main import main
from cutune.emulator.run import program_environment
from cutune.search import measure_parameters, predicted_start
from cutune.search.builds import Builds, Built
from cutune.search.regions import measure_run
from cutune.space.annotation import Value
from cutune.space.space import Space
from cutune.space.t1 import read_t1
from cutune.toolchain.nvcc import find_nvcc
from tests.support.cutune_runs import QUICK, build_flags
from tests.support.short_headers import STANDARD

pytestmark = pytest.mark.nvcc

PROGRAM = """\
#include <cstdio>
#include <cstdlib>

#pragma cutune tune(WPT: 1, 2, 3) data(n) where(WPT == 1 || S == none)
#ifndef WPT
#define WPT 1
#endif
#ifndef SHIFT
#define SHIFT 0
#endif
#if WPT == 3
#error no program is made of three
#endif

__global__ void add(int n, int *x) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * WPT;
    for (int k = 0; k < WPT; ++k)
        if (i + k < n) x[i + k] += SHIFT + 1;
}

int main(int argc, char **argv) {
    int n = atoi(argv[1]), devices = atoi(argv[2]), *x;
#pragma cutune tune(block: 32, 64) data(n) where(block * WPT < 128)
    int block = 64;
    if (devices > 1) return 3;
    cudaMallocManaged(&x, n * sizeof(int));
#pragma cutune region begin
    add<<<(n + block * WPT - 1) / (block * WPT), block>>>(n, x);
#pragma cutune region end
    cudaDeviceSynchronize();
    printf("WPT %d SHIFT %d block %d: %d\\n", WPT, SHIFT, block, x[n - 1]);
    return cudaGetLastError() != cudaSuccess;
}
"""
ASKED = ["--nvcc-flag=-DSHIFT={S}", "--tune", "S=none,5", "-q", *QUICK]
RUN = ["--run", "{program} {n} {G}", "--tune", "G=1,2", "--vary", "n=100"]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.cu"
    path.write_text(PROGRAM)
    return path


def test_every_value_set_is_a_program(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of 3 * 2 * 2 * 2 configurations 12 are allowed; those with G = 2 fail, or WPT = 3.

    S = 5 changes what is computed; that other parameters are printed is none of the result.
    """
    assert main(["collect", str(program), "--tunables", *RUN, *ASKED, "--jobs", "2"]) == 0
    said = capsys.readouterr()
    assert "3 configurations run on the emulated device" in said.out
    assert "7 runs failed and are left out (5 runtime, 2 compile), the first with " in said.err
    assert "2 runs wrote something else than the program does in its own configuration" in said.err
    assert "S = 5, G = 1: line 1: 'WPT 1 SHIFT 0 block 64: 1' became 'WPT 1 SHIFT 5 " in said.err
    folders = {path.name for path in (program.parent / ".cutune" / "builds").iterdir()}
    assert folders == {"WPT=1+S=none", "WPT=1+S=5", "WPT=2+S=none", "WPT=3+S=none"}
    binary = program.parent / ".cutune" / "builds" / "WPT=1+S=5" / "program.tunables"
    environment = {**program_environment(binary), "CUTUNE_SET": "block=32"}
    done = subprocess.run([binary, "9", "1"], env=environment, capture_output=True, check=True)
    assert done.stdout == b"WPT 1 SHIFT 5 block 32: 6\n"


#: Stands for an instrumented program on a GPU.
TIMED = """\
#!{python} -S
import os, sys
values, n = {values}, int(sys.argv[1])
block = int(os.environ["CUTUNE_SET"].partition("=")[2] or 64)
if values["S"] == 5 and n == 100:
    print("too many registers", file=sys.stderr)
    sys.exit(1)
time = (8 if values["WPT"] == 1 else 5) + (values["S"] == 5) + (n > 500) * (64 - block) / 32
tunable = {{"value": block, "original": 64, "ambiguous": False, "data": {{"n": n}}}}
line = {{"device": "a GPU", "milliseconds": time, "tunables": {{"block": tunable}}}}
with open(os.environ["CUTUNE_OUTPUT"], "a") as output:
    print(str(line).replace("'", '"').replace("False", "false"), file=output)
"""


@pytest.fixture
def on_gpu(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def built(self: Builds, values: Mapping[str, Value]) -> Built:
        if values["WPT"] == 3:
            return Built(program, "error: no program is made of three")
        path = program.with_name(f"timed-{values['WPT']}-{values['S']}")
        path.write_text(TIMED.format(python=sys.executable, values=dict(values)))
        path.chmod(0o755)
        return Built(path)

    monkeypatch.setattr(measure_parameters, "_require_gpu", lambda: None)
    monkeypatch.setattr(Builds, "_built", built)


@pytest.mark.usefixtures("on_gpu")
def test_some_values_of_a_host_integer_stay_apart(program: Path) -> None:
    """`--tune` narrows it; what is measured has the value that was set, not the first one."""
    asked = ["--tune", "block=64,32", "--tune", "WPT=1", "--repetitions", "1", *ASKED]
    run = ["--on", "gpu", "--run", "{program} {n}", "--vary", "n=1000"]
    assert main(["collect", str(program), "--tunables", *run, *asked]) == 0
    trials = program.parent / ".cutune" / "trials.jsonl"
    entries = [json.loads(line) for line in trials.read_text().splitlines()]
    set_to = {one["trial"]: one["configuration"] for one in entries if one["event"] == "begin"}
    ended = [one for one in entries if one["event"] == "end"]
    found = {
        (one["values"]["block"], trial["trial"]) for trial in ended for one in trial["measured"]
    }
    assert found == {(values["block"], trial) for trial, values in set_to.items()}
    assert {block for block, _ in found} == {32, 64}


@pytest.mark.long
@pytest.mark.usefixtures("on_gpu")
def test_the_best_values_for_all_sizes_are_compiled_in(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = ["collect", str(program), "--tunables", "--on", "gpu", "--repetitions", "2", *ASKED]
    run = ["--run", "{program} {n}", "--vary", "n=100,1000,10000"]
    assert main([*sweep, *run]) == 0
    said = capsys.readouterr()
    assert "5 runs failed" in said.err and "13 configurations timed" in said.out
    trials = program.parent / ".cutune" / "trials.jsonl"
    entries = [json.loads(line) for line in trials.read_text().splitlines()]
    ended: list[dict[str, Any]] = [entry for entry in entries if entry["event"] == "end"]
    first = [entry for entry in ended if not entry["final"]]
    assert len(first) == 18 == len(entries) - len(ended)
    finals = [entry for entry in ended if entry["final"]]
    assert len(finals) == 13 and {len(entry["times"]) for entry in finals} == {2}
    statuses = Counter(entry["status"] for entry in first)
    assert statuses == {"ok": 13, "compile": 3, "runtime": 2}

    assert main(["fit", str(program), "--model", "neighbours", *ASKED]) == 0
    said = capsys.readouterr()
    assert "S = none, WPT = 2 at all sizes: time lost mean 0.00%" in said.out
    assert "the program's own S = none, WPT = 1: time lost mean " in said.out
    assert main(["emit", str(program), *ASKED]) == 0
    assert "launches keep their thread blocks: they were proven with WPT = 1, not 2 [CT812]" in (
        capsys.readouterr().err
    )
    tuned, binary = program.with_name("program.tuned.cu"), program.with_name("tuned")
    find_nvcc().check([str(tuned), STANDARD, *build_flags(), "-o", str(binary)])
    environment = program_environment(binary)
    for n, block in ((200, 32), (20_000, 32)):
        done = subprocess.run(
            [binary, str(n), "1"], env=environment, capture_output=True, check=True, text=True
        )
        assert done.stdout == f"WPT 2 SHIFT 0 block {block}: 1\n"

    assert main(["emit", str(program), "--as", "header", *ASKED]) == 0
    assert "'block' is chosen by sizes at run time" in capsys.readouterr().err
    assert "#define WPT 2\n" in program.with_name("program.tuned.h").read_text()
    assert main(["emit", str(program), "--as", "flags", *ASKED]) == 0
    flags = program.with_name("program.tuned.flags")
    assert flags.read_text() == "-DWPT=2\n"
    text = find_nvcc().preprocess(str(program), [STANDARD, "--options-file", str(flags)])
    assert "threadIdx.x) * 2;" in text


@pytest.mark.usefixtures("on_gpu")
@pytest.mark.parametrize("start", ["WPT=2,block=32", "model"])
def test_a_search_compares_the_best_at_all_sizes(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    """What is predicted here is what is timed: then what the model says comes first."""
    monkeypatch.setattr(
        predicted_start, "_predicted", lambda _, __, *asked, **how: measure_run(*asked, **how)
    )
    sweep = ["collect", str(program), "--tunables", "--on", "gpu", "--repetitions", "1", *ASKED]
    run = ["--run", "{program} {n}", "--vary", "n=100,1000", "--search", "3"]
    assert main([*sweep, *run, "--start", start]) == 0
    lines = (program.parent / ".cutune" / "trials.jsonl").read_text().splitlines()
    first = json.loads(lines[0])["configuration"]
    assert (first["WPT"], first["block"]) == (2, 32) or (start == "model" and first["WPT"] == 2)
    assert main(["fit", str(program), "--model", "neighbours", *ASKED]) == 0
    assert "WPT = 2" in capsys.readouterr().out


@pytest.mark.usefixtures("on_gpu")
def test_programs_of_the_same_code_run_once(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler makes the same of WPT = 1 and 2: what one took, the other takes."""
    built = Builds._built
    monkeypatch.setattr(Builds, "_built", lambda *asked: replace(built(*asked), code="same"))
    asked = ["--tune", "S=none", "--nvcc-flag=-DSHIFT={S}", "--tune", "WPT=1,2", "-q", *QUICK]
    run = ["--on", "gpu", "--run", "{program} {n}", "--vary", "n=9", "--tune", "block=32"]
    assert main(["collect", str(program), "--tunables", *run, *asked]) == 0
    assert "2 programs, 1 different; without effect: WPT" in capsys.readouterr().out
    lines = (program.parent / ".cutune" / "trials.jsonl").read_text().splitlines()
    ended = [entry for entry in map(json.loads, lines) if entry["event"] == "end"]
    assert [entry["measured"][0]["values"]["WPT"] for entry in ended] == [1, 2]
    assert {entry["measured"][0]["milliseconds"] for entry in ended} == {8}
    assert main(["fit", str(program), "--model", "neighbours", *asked]) == 0
    assert "WPT = 1 at all sizes" in capsys.readouterr().out, "of equal ones the first"


def test_inspect_shows_and_writes_the_space(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = program.with_name("space.json")
    run = ["--run", "{program} {n} {G}", "--tune", "G=1,2"]
    asked = ["--nvcc-flag=-DSHIFT={S}", "--tune", "S=none,5", STANDARD]
    assert main(["inspect", str(program), *run, *asked, "--space", str(path)]) == 0
    said = capsys.readouterr().out
    assert "constant WPT (line 6): 1, 2, 3; is 1; by n" in said
    assert "option of nvcc {S}: none, 5" in said and "command line {G}: 1, 2" in said
    assert "space: 12 of 24 configurations, 4 programs to build" in said
    read = read_t1(path)
    assert Space.of(read.parameters, read.conditions).size == 12
    # What someone may have changed by hand is not written over.
    path.write_text("{}")
    words = ["inspect", str(program), *run, *asked, "--space", str(path)]
    assert main(words) == 1 and path.read_text() == "{}"
    assert "--force [CT825]" in capsys.readouterr().err
    assert main([*words, "--force"]) == 0 and read_t1(path) == read


@pytest.mark.long
@pytest.mark.usefixtures("on_gpu")
def test_a_file_narrows_the_space(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Values of a file take the place of those of the pragmas, and its conditions count, too."""
    path = program.with_name("space.json")
    entries = [{"Name": "block", "Values": [64]}, {"Name": "S", "Values": ["none", 5]}]
    space = {"TuningParameters": entries, "Conditions": [{"Expression": "S != 5 or WPT == 2"}]}
    path.write_text(json.dumps({"ConfigurationSpace": space}))
    asked = ["--space", str(path), "--nvcc-flag=-DSHIFT={S}", "-q", *QUICK]
    run = ["--on", "gpu", "--run", "{program} {n}", "--vary", "n=9"]
    assert main(["collect", str(program), "--tunables", *run, *asked]) == 0
    assert "1 configurations timed" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.usefixtures("on_gpu")
def test_a_value_that_a_size_may_forbid_is_not_compiled_in(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program.write_text(PROGRAM.replace("where(WPT == 1 ||", "where(WPT <= n && WPT <= 2 ||"))
    run = ["--run", "{program} {n}", "--vary", "n=1,100", "--repetitions", "1"]
    assert main(["collect", str(program), "--tunables", "--on", "gpu", *run, *ASKED]) == 0
    assert main(["fit", str(program), "--model", "neighbours", *ASKED]) == 0
    said = capsys.readouterr()
    assert "'WPT' keeps its own value" in said.err and "WPT = 1 at all sizes" in said.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tune", "S=none", "--tune", "T=1,2"], "parameter 'T' stands nowhere"),
        (["--tune", "S=none", "--tune", "WPT=1,4"], "4 is none of those of its pragma [CT800]"),
        (["--tune", "S=1,1"], "1 occurs twice [CT800]"),
        (["--tune", "S"], "[CT801]"),
        (["--tune", "S=none,5", "--tune", "S=5"], "parameter 'S' is given twice"),
        (
            ["--tune", "S=none", "--tune", "WPT=1,2", "--nvcc-flag=-DX={WPT}"],
            "parameter 'WPT' stands in several places",
        ),
        (["--tune", "S=7", "--tune", "WPT=2,3"], "no configuration satisfies"),
        (["--space", "missing.json"], "[CT001]"),
    ],
)
def test_bad_parameters_are_one_diagnostic(
    program: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    sweep = ["collect", str(program), "--tunables", "--run", "{program} {n} 1", "--vary", "n=9"]
    assert main([*sweep, "--nvcc-flag=-DSHIFT={S}", *options, "-q", *QUICK]) == 1
    errors = capsys.readouterr().err
    assert said in errors and errors.count("error:") == 1


def test_a_condition_on_something_unknown_is_said(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without {S} nothing is known of it; neither is a size that --vary does not name."""
    sweep = ["collect", str(program), "--tunables", "--run", "{program} {m} 1", "--vary", "m=9"]
    assert main([*sweep, "-q", *QUICK]) == 1
    assert "holds 'S', which is no parameter" in capsys.readouterr().err
    program.write_text(PROGRAM.replace("WPT == 1 || S == none", "WPT <= n"))
    assert main([*sweep, "-q", *QUICK]) == 1
    assert "holds 'n', which is no parameter and no size; known: " in capsys.readouterr().err


def test_when_every_build_fails_it_is_said(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = ["collect", str(program), "--tunables", "--run", "{program} {n} 1", "--vary", "n=9"]
    assert main([*sweep, "--tune", "WPT=3", "--tune", "block=32", *ASKED]) == 1
    assert "no program is made of three [CT422]" in capsys.readouterr().err


@pytest.mark.long
def test_constants_of_a_header_are_set_in_a_copy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two values at once: nvcc would take a comma in the name of their folder for its end."""
    header, source = tmp_path / "include" / "kind.h", tmp_path / "program.cu"
    header.parent.mkdir()
    pragma = "#pragma cutune tune(KIND: float, double, WPT: 1, 2)\n"
    header.write_text(f"{pragma}#define KIND float\n#define WPT 1\n")
    lines = ['#include "kind.h"', "#include <cstdio>", "int main() {"]
    lines += ["#pragma cutune region begin", "    cudaDeviceSynchronize();"]
    lines += ["#pragma cutune region end", '    printf("%d %d\\n", (int)sizeof(KIND), WPT);', "}"]
    source.write_text("\n".join(lines) + "\n")
    asked = ["--tune", "KIND=double", "--tune", "WPT=2", "-I", str(header.parent), "-q", *QUICK]
    sweep = ["collect", str(source), "--tunables", "--run", "{program}"]
    assert main([*sweep, *asked]) == 1
    assert "line 1: '4 1' became '8 2' [CT422]" in capsys.readouterr().err
    assert main([*sweep, "--ignore", "^[48] ", *asked]) == 0
    built = tmp_path / ".cutune" / "builds" / "KIND=double+WPT=2" / "program.tunables"
    binary = next(path for path in built.rglob("program") if path.is_file())
    done = subprocess.run(
        [binary], env=program_environment(binary), capture_output=True, text=True, check=True
    )
    assert done.stdout == "8 2\n"
