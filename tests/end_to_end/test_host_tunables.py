"""Host tunables from source to tuned program, on the emulated device, which has no time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cutune.cli.main import main
from cutune.core.diagnostics import CutuneError
from cutune.core.reading import read_source
from cutune.emulator.run import program_environment
from cutune.measure.program_runs import Run
from cutune.model.measurement.measurement import Origin
from cutune.search import measure_parameters, trial_runs
from cutune.search.builds import Builds, Built
from cutune.search.regions import FailedRun, HostMeasurement, MeasuredRun, measure_run
from cutune.search.trials import EndedTrial, Status, Trial, Trials
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.nvcc import find_nvcc
from tests.support.cutune_runs import QUICK, build_flags
from tests.support.short_headers import STANDARD

pytestmark = [pytest.mark.nvcc, pytest.mark.long]

PROGRAM = """\
#include <cstdio>
#include <cstdlib>

__global__ void add(int n, int m, int *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += m;
}

int main(int argc, char **argv) {
    int N = atoi(argv[1]);
#pragma cutune tune(R: 0, 1) data(N)
    int R = 0;
#pragma cutune tune(m: 4, 8, 16) data(N, R) where(N % 11 != m)
    int m = 5;
    if (m == 16) return 3;
    int *x;
    cudaMalloc(&x, N * sizeof(int));
    for (int i = 0; i < 2; ++i) {
#pragma cutune region begin
        add<<<(N + 255) / 256, 256>>>(N, m, x);
#pragma cutune region end
    }
    printf("R %d m %d\\n", R, m);
    return cudaDeviceSynchronize();
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.cu"
    path.write_text(PROGRAM)
    return path


def test_configurations_are_tried_and_never_timed_without_a_gpu(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["collect", str(program), "--tunables", "--run", "{program} {n}", "--vary", "n=64"]
    assert main([*arguments, "--on", "emulated", *QUICK]) == 0
    said = capsys.readouterr()
    assert "4 configurations run on the emulated device, which has no time" in said.out
    assert "2 runs failed and are left out" in said.err and "[CT426]" in said.err
    workspace = program.parent / ".cutune"
    assert not (workspace / "trials.jsonl").exists()

    binary = workspace / "builds" / "own" / "program.tunables"
    run, environment = Run((str(binary), "100"), {}), program_environment(binary)
    origin = Origin.of(read_source(program))
    found = measure_run(run, {"m": 8, "R": 1}, origin, environment)
    assert isinstance(found, MeasuredRun)
    (one,) = found.measured
    assert found.own == {"R": 0, "m": 5} and found.output == b"R 1 m 8\n"
    assert one.values == {"R": 1, "m": 8}
    assert one.data == {"R": {"N": 100}, "m": {"N": 100, "R": 1}}
    assert one.milliseconds is None
    found = measure_run(run, {}, origin, environment)
    assert isinstance(found, MeasuredRun) and found.measured[0].values == {"R": 0, "m": 5}
    assert measure_run(run, {"m": 16}, origin, environment) == FailedRun("status 3")


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="there is a GPU")
def test_times_need_a_gpu(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", str(program), "--tunables", "--on", "gpu", "-q", *QUICK]) == 1
    assert "[CT421]" in capsys.readouterr().err


#: Stands for the instrumented program on a GPU. m = 16 is fastest, but not allowed above 100.
TIMED = """\
#!{python} -S
import os, sys
n = int(sys.argv[1])
words = (os.environ["CUTUNE_SET"] or "R=0,m=5").split(",")
values = {{name: int(value) for name, value in (word.split("=") for word in words)}}
r, m = values["R"], values["m"]
data = {{"R": {{"N": n}}, "m": {{"N": n, "R": r}}}}
own = {{"R": 0, "m": 5}}
tunables = {{
    k: {{"value": v, "original": own[k], "ambiguous": False, "data": data[k]}}
    for k, v in values.items()
}}
line = {{"device": "a GPU", "milliseconds": 2.0 - r + 1 / m, "tunables": tunables}}
with open(os.environ["CUTUNE_OUTPUT"], "a") as output:
    print(str(line).replace("'", '"').replace("False", "false"), file=output)
"""


def test_a_search_runs_a_part_and_stays_within_conditions(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program.write_text(PROGRAM.replace("where(N % 11 != m)", "where(m < 16 || N < 100)"))
    timed = program.parent / "timed"
    timed.write_text(TIMED.format(python=sys.executable))
    timed.chmod(0o755)
    monkeypatch.setattr(measure_parameters, "_require_gpu", lambda: None)
    monkeypatch.setattr(measure_parameters, "gpu_target", lambda architecture: [])
    monkeypatch.setattr(Builds, "_built", lambda self, values: Built(timed))
    sweep = ["--tunables", "--on", "gpu", "--repetitions", "1", "--search", "4", "-q", *QUICK]
    run = ["--run", "{program} {n}", "--vary", "n=50,1000"]
    assert main(["collect", str(program), *sweep, *run]) == 0
    assert "8 configurations timed" in capsys.readouterr().out
    ended = trial_lines(program, "end")
    finals = [line for line in ended if line["final"]]
    assert len(finals) == 6, "what is allowed, timed again"
    values = [tuple(line["measured"][0]["values"].values()) for line in ended if not line["final"]]
    assert len(set(values[:4])) == len(set(values[4:])) == 4
    assert (1, 16) in values[:4], "the fastest of them"
    assert values[4] == (1, 16), "the search at the next size begins there"
    # Nothing is measured twice; further configurations are, and what only the other size has found.
    sweep[sweep.index("--search") + 1] = "5"
    assert main(["collect", str(program), *sweep, *run]) == 0
    again = trial_lines(program, "end")
    assert again[: len(ended)] == ended
    assert len({line["trial"] for line in again}) == len(trial_lines(program, "begin")) == 12


#: m = 4 is fast once, by chance; 8 and 16 are alike.
LUCKY = """\
#!{python} -S
import os
m = int(os.environ["CUTUNE_SET"].partition("=")[2] or 5)
if m != 5:
    with open({log!r}, "a") as log:
        log.write(str(m) + "\\n")
with open({log!r}, "a+") as log:
    log.seek(0)
    before = log.read().split().count(str(m))
time = 2.0 + (before - 1) * 3 if m == 4 else 3.0 + (before + m // 8) % 2 / 10
data = {{"m": {{"N": 7, "R": 0}}}}
tunables = {{"m": {{"value": m, "original": 5, "ambiguous": False, "data": data["m"]}}}}
line = {{"device": "a GPU", "milliseconds": time, "tunables": tunables}}
with open(os.environ["CUTUNE_OUTPUT"], "a") as output:
    print(str(line).replace("'", '"').replace("False", "false"), file=output)
"""


def test_the_fastest_are_timed_again_in_turn(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program.write_text(PROGRAM.replace(" where(N % 11 != m)", ""))
    log, timed = program.parent / "log", program.parent / "timed"
    timed.write_text(LUCKY.format(python=sys.executable, log=str(log)))
    timed.chmod(0o755)
    monkeypatch.setattr(measure_parameters, "_require_gpu", lambda: None)
    monkeypatch.setattr(measure_parameters, "gpu_target", lambda architecture: [])
    monkeypatch.setattr(Builds, "_built", lambda self, values: Built(timed))
    sweep = ["collect", str(program), "--tunables", "m", "--on", "gpu", "--repetitions", "1"]
    run = ["--run", "{program} {n}", "--vary", "n=7", "-q", *QUICK]
    assert main([*sweep, *run]) == 0
    assert log.read_text().split() == ["4", "8", "16", "4", "8", "16"]
    finals = {
        line["measured"][0]["values"]["m"]: line["times"][0]
        for line in trial_lines(program, "end")
        if line["final"]
    }
    assert finals[4] == 5.0 and finals[8] != finals[16]
    assert main([*sweep, *run]) == 0
    assert len(log.read_text().split()) == 6, "nothing is measured twice"
    assert main([*sweep, "--run", "{program} {n} 1", *run[2:]]) == 0
    assert len(log.read_text().split()) == 12, "another command line is another trial"
    capsys.readouterr()
    elsewhere = ["--repetitions", "2", "--workspace", str(program.parent / "other")]
    assert main([*sweep, *elsewhere, *run]) == 0
    assert "equally fast for n = 7: m = 8; m = 16\n" in capsys.readouterr().out


def trial_lines(program: Path, event: str) -> list[dict[str, Any]]:
    """The beginnings or ends of trials in a program's workspace."""
    lines = (program.parent / ".cutune" / "trials.jsonl").read_text().splitlines()
    return [entry for entry in map(json.loads, lines) if entry["event"] == event]


def test_a_search_may_find_nothing_at_some_sizes(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search at the next size begins where the one before did, and goes on."""
    timed = program.parent / "timed"
    timed.write_text(
        TIMED.format(python=sys.executable).replace("r, m =", "n > 60 or sys.exit(1)\nr, m =")
    )
    timed.chmod(0o755)
    monkeypatch.setattr(measure_parameters, "_require_gpu", lambda: None)
    monkeypatch.setattr(measure_parameters, "gpu_target", lambda architecture: [])
    monkeypatch.setattr(Builds, "_built", lambda self, values: Built(timed))
    sweep = ["collect", str(program), "--tunables", "--on", "gpu", "--search", "2", "-q", *QUICK]
    assert main([*sweep, "--run", "{program} {n}", "--vary", "n=50,1000"]) == 0
    said = capsys.readouterr()
    assert "2 configurations timed" in said.out and "2 runs failed" in said.err


def test_another_gpu_is_another_trial(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the same architecture: H100 and H200 are compiled for alike."""
    program.write_text(PROGRAM.replace("where(N % 11 != m)", ""))
    timed, smi = program.parent / "timed", program.parent / "nvidia-smi"
    timed.write_text(TIMED.format(python=sys.executable))
    timed.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(Builds, "_built", lambda self, values: Built(timed))
    sweep = ["collect", str(program), "--tunables", "--on", "gpu", "--repetitions", "1", "-q"]
    run = ["--run", "{program} {n}", "--vary", "n=50", "--tune", "R=1", "--tune", "m=4", *QUICK]
    for name in ("NVIDIA H100", "NVIDIA H200", "NVIDIA H200"):
        smi.write_text(f"#!/bin/sh\necho 'GPU 0: {name} (UUID: GPU-{len(name)})'\n")
        smi.chmod(0o755)
        assert main([*sweep, *run]) == 0
    begun = trial_lines(program, "begin")
    assert [line["how"].partition("'")[2].partition("'")[0] for line in begun] == [
        "NVIDIA H100",
        "NVIDIA H200",
    ]


def test_what_was_tried_before_an_interruption_is_kept(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the third run, twice: the others are run once each, and none is left out."""
    program.write_text(PROGRAM.replace("where(N % 11 != m)", "where(m < 16 || N < 100)"))
    timed = program.parent / "timed"
    timed.write_text(TIMED.format(python=sys.executable))
    timed.chmod(0o755)
    monkeypatch.setattr(measure_parameters, "_require_gpu", lambda: None)
    monkeypatch.setattr(measure_parameters, "gpu_target", lambda architecture: [])
    monkeypatch.setattr(Builds, "_built", lambda self, values: Built(timed))
    calls: list[object] = []

    def interrupted(*asked: Any, **how: Any) -> object:
        calls.append(asked)
        if len(calls) in (3, 4):
            raise KeyboardInterrupt
        return measure_run(*asked, **how)

    monkeypatch.setattr(trial_runs, "measure_run", interrupted)
    sweep = ["collect", str(program), "--tunables", "--on", "gpu", "--repetitions", "1", "-q"]
    run = ["--run", "{program} {n}", "--vary", "n=50", *QUICK]
    assert [main([*sweep, *run]) for _ in range(3)] == [130, 130, 0]
    first = [line for line in trial_lines(program, "end") if not line["final"]]
    assert len({line["trial"] for line in first}) == len(first) == 6
    assert {line["status"] for line in first} == {"ok"}


def test_a_search_needs_times(program: Path) -> None:
    with pytest.raises(SystemExit):
        main(["collect", str(program), "--tunables", "--search", "4", "-q", *QUICK])


@pytest.mark.parametrize(
    ("text", "names", "code"),
    [(PROGRAM.replace("cutune tune", "cut"), "m", "CT420"), (PROGRAM, "k", "CT425")],
)
def test_what_cannot_be_swept_is_diagnosed(
    program: Path, capsys: pytest.CaptureFixture[str], text: str, names: str, code: str
) -> None:
    program.write_text(text)
    assert (
        main(["collect", str(program), "--tunables", names, "--on", "emulated", "-q", *QUICK]) == 1
    )
    assert code in capsys.readouterr().err


def fill_workspace(program: Path, device: str = "a GPU", limit: int = 1000) -> None:
    """Times in which R = 1 wins above the limit, and m = 8 wins where R is 1."""
    origin = Origin.of(read_source(program))
    measured = []
    for n in (10, 100, 1000, 10_000, 100_000):
        for steps in (0, 1):
            for m in (4, 8):
                time = 1 + (steps != (n > limit)) + 0.5 * ((m == 8) != (steps == 1))
                values, data = {"R": steps, "m": m}, {"R": {"N": n}, "m": {"N": n, "R": steps}}
                measured.append(HostMeasurement(origin, device, values, data, time))
    keep(program, origin, measured)


def keep(program: Path, origin: Origin, measured: Sequence[HostMeasurement]) -> None:
    """What was measured, as trials of the workspace."""
    (program.parent / ".cutune").mkdir(exist_ok=True)
    trials = Trials(program.parent / ".cutune" / "trials.jsonl", origin, lambda said: None)
    for number, one in enumerate(measured):
        trial = Trial(origin, one.device, {"n": str(number)}, one.values)
        trials.end(trial, EndedTrial(Status.OK, "", (one,)))


def test_measured_times_become_a_program_that_chooses(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill_workspace(program)
    assert main(["fit", str(program), "--model", "neighbours", "-q", *QUICK]) == 0
    said = capsys.readouterr().out
    assert "N <= 2766: R = 0\n  above: R = 1" in said
    assert "given R = 1:\n  above: m = 8" in said
    assert main(["emit", str(program), "-q", *QUICK]) == 0
    tuned, binary = tmp_path / "program.tuned.cu", tmp_path / "tuned"
    find_nvcc().check([str(tuned), STANDARD, *build_flags(), "-o", str(binary)])

    def run(n: int, **settings: str) -> subprocess.CompletedProcess[str]:
        environment = {**program_environment(binary), **settings}
        return subprocess.run(
            [binary, str(n)], env=environment, capture_output=True, text=True, check=True
        )

    assert run(100).stdout == "R 0 m 4\n"
    assert run(50_000).stdout == "R 1 m 8\n"
    assert run(150_000).stdout == "R 0 m 5\n", "larger than anything measured"
    assert run(9).stdout == "R 0 m 5\n", "smaller than anything measured"
    assert run(14).stdout == "R 0 m 4\n"
    assert run(15).stdout == "R 0 m 5\n", "4 does not satisfy the condition"
    assert run(50_000, CUTUNE="off").stdout == "R 0 m 5\n"
    assert "cutune: m = 8 for N = 50000, R = 1\n" in run(50_000, CUTUNE="verbose").stderr

    program.write_text(PROGRAM + "// changed\n")
    assert main(["emit", str(program), "-q", *QUICK]) == 1
    assert "[CT513]" in capsys.readouterr().err
    assert main(["fit", str(program), "--model", "neighbours", "-q", *QUICK]) == 1
    assert "[CT423]" in capsys.readouterr().err


def test_times_of_several_gpus_are_not_mixed(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill_workspace(program)
    fill_workspace(program, DeviceProfile.named("h200").name, 100)
    fit = ["fit", str(program), "--model", "neighbours", "-q", *QUICK]
    assert main(fit) == 0
    assert "N <= 276: R = 0\n  above: R = 1" in capsys.readouterr().out
    assert main([*fit, "--device", "a100"]) == 1
    assert "[CT423]" in capsys.readouterr().err


SOLVER = """#pragma once
inline int sub_system(int N) {
#pragma cutune tune(m: 4, 8) data(N)
    int m = 5;
    return m;
}
inline void solve(int N, int m, int *x) {
#pragma cutune region begin
    cudaMemset(x, m, N * sizeof(int));
#pragma cutune region end
}
"""
CALLER = """#include <cstdio>
#include <cstdlib>
#include "solver.h"
int main(int argc, char **argv) {
    int N = atoi(argv[1]), m = sub_system(N), *x;
    cudaMalloc(&x, N * sizeof(int));
    solve(N, m, x);
    printf("m %d\\n", m);
    return cudaDeviceSynchronize();
}
"""


def test_host_tunables_of_a_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A header is rewritten in a copy of the sources, and its text belongs to the version."""
    header, source = tmp_path / "include" / "solver.h", tmp_path / "src" / "caller.cu"
    for path, text in ((header, SOLVER), (source, CALLER)):
        path.parent.mkdir()
        path.write_text(text)
    found = ["-I", str(header.parent), "-q", *QUICK]
    sweep = ["--tunables", "--on", "emulated", "--run", "{program} {n}", "--vary", "n=64"]
    assert main(["collect", str(source), *sweep, *found]) == 0
    assert "2 configurations run" in capsys.readouterr().out
    assert main(["inspect", str(source), *found]) == 0
    # Long lines are broken where the path is long.
    assert f"tunablem({header}:4):4,8;byN" in "".join(capsys.readouterr().out.split())

    origin = Origin.of(read_source(source), [read_source(header)])
    times = (((10, 4), 1.0), ((10, 8), 2.0), ((1000, 4), 2.0), ((1000, 8), 1.0))
    keep(
        source,
        origin,
        [
            HostMeasurement(origin, "a GPU", {"m": m}, {"m": {"N": n}}, time)
            for (n, m), time in times
        ],
    )
    assert main(["fit", str(source), "--model", "neighbours", *found]) == 0
    assert main(["emit", str(source), *found]) == 0
    tuned, binary = source.with_name("caller.tuned"), tmp_path / "tuned"
    include = f"-I{tuned / 'include'}"
    rewritten = str(tuned / "src" / "caller.cu")
    find_nvcc().check([rewritten, include, STANDARD, *build_flags(), "-o", str(binary)])
    environment = program_environment(binary)
    for n, m in ((20, 4), (900, 8), (2000, 5)):
        done = subprocess.run(
            [binary, str(n)], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout == f"m {m}\n"
    header.write_text(SOLVER + "// changed\n")
    assert main(["emit", str(source), *found]) == 1
    assert "[CT513]" in capsys.readouterr().err


def test_a_region_of_several_sizes_is_refused(tmp_path: Path) -> None:
    line = {
        "schema": "cutune-region-1",
        "region": 1,
        "device": "a GPU",
        "milliseconds": 1.0,
        "tunables": {"m": {"value": 4, "original": 4, "ambiguous": True, "data": {"N": 1}}},
    }
    script = tmp_path / "program"
    script.write_text(f"#!/bin/sh\nprintf '%s\\n' '{json.dumps(line)}' >> $CUTUNE_OUTPUT\n")
    script.chmod(0o755)
    with pytest.raises(CutuneError, match="for several sizes before one region ends"):
        measure_run(Run((str(script),), {}), {}, Origin("a.cu", ""), {})
