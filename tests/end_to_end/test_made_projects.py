"""Parameters of a project that its own Makefile builds: two sources, a header, host code in one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cutune.cli.main import main
from cutune.emulator.link import searched_libraries
from cutune.emulator.run import program_environment
from cutune.search import builds as made
from cutune.search import measure_parameters, regions, trial_runs
from cutune.search.regions import FailedRun, MeasuredRun
from cutune.toolchain.nvcc import find_nvcc

pytestmark = pytest.mark.nvcc

HEADER = """\
#pragma once
#pragma cutune tune(WPT: 1, 2, 3)
#define WPT 1
"""
SOURCE = """\
#include <cstdio>
#include <cstdlib>
#include "params.h"

void twice(int n, float *a, int block);

int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    float *a;
    cudaMallocManaged(&a, n * sizeof(float));
    a[n - 1] = 21;
#pragma cutune tune(block: 32, 64) data(n)
    int block = 64;
#pragma cutune region begin
    twice(n, a, block);
    cudaDeviceSynchronize();
#pragma cutune region end
    printf("%g\\n", a[n - 1]);
}
"""
KERNEL = """\
#include "params.h"
#if WPT == 3
#error no program is made of three
#endif

__global__ void scale(int n, float *a) {
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * WPT;
    for (int i = first; i < first + WPT && i < n; i++) a[i] *= 2;
}

void twice(int n, float *a, int block) {
    scale<<<(n + block * WPT - 1) / (block * WPT), block>>>(n, a);
}
"""
MAKEFILE = """\
app: app.o kernel.o
\tnvcc $(FLAGS) $^ -o $@
%.o: src/%.cu
\tnvcc -std=c++14 -arch=compute_80 $(FLAGS) -c $< -o $@
"""
MAKE = ("--make", "make FLAGS='-D{R}'", "--tune", "R=none,UNUSED")
RUN = ("--run", "./app {n}", "--vary", "n=100", "--variants=none", "-q", "--jobs", "2")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder; an object of an earlier build is in the way."""
    folder = tmp_path / "pro ject"
    (folder / "src").mkdir(parents=True)
    files = {"src/params.h": HEADER, "src/app.cu": SOURCE, "src/kernel.cu": KERNEL}
    for name, text in {**files, "Makefile": MAKEFILE, "kernel.o": "no object"}.items():
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulated device as a GPU with times that follow from the values."""
    measure_run = regions.measure_run

    def timed(*asked: Any, **how: Any) -> MeasuredRun | FailedRun:
        found = measure_run(*asked, **how)
        if not isinstance(found, MeasuredRun):
            return found
        # What is known of compiled values stands in the name of the folder.
        copy = str(how["folder"])
        slow = ("WPT-1" in copy) * 4.0 + ("UNUSED" in copy) * 1.0
        return replace(
            found,
            measured=tuple(
                replace(one, device="a GPU", milliseconds=1 + slow + int(one.values["block"]) / 64)
                for one in found.measured
            ),
        )

    monkeypatch.setattr(trial_runs, "measure_run", timed)
    monkeypatch.setattr(measure_parameters, "_require_gpu", lambda: None)
    monkeypatch.setattr(measure_parameters, "gpu_target", lambda architecture: None)


def trial_lines(folder: Path) -> list[dict[str, Any]]:
    path = folder / "src" / ".cutune" / "trials.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.long
def test_each_value_set_is_built_in_a_copy(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The object that is in the way is no object: a build that took it would fail."""
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    asked = [*MAKE[:-1], "R=UNUSED", *RUN, "--tune", "block=64"]
    assert main(["collect", "src/app.cu", "--tunables", *asked]) == 0
    said = capsys.readouterr()
    assert "2 configurations run on the emulated device, which has no time" in said.out
    assert "1 runs failed and are left out (1 compile), the first with " in said.err
    assert "no program is made of three" in said.err and "[CT104]" not in said.err
    assert {path: path.read_bytes() for path in before} == before
    builds = project / "src" / ".cutune" / "builds"
    assert len(list(builds.iterdir())) == 3
    assert (
        (builds / "WPT-2+R-UNUSED" / project.name / "src/params.h")
        .read_text()
        .endswith("#define WPT 2\n")
    )
    log = (builds / "WPT-2+R-UNUSED" / "build.log").read_text()
    assert "-DUNUSED -c src/kernel.cu" in log


@pytest.mark.long
@pytest.mark.usefixtures("on_gpu")
def test_the_best_values_make_a_tuned_project(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["tune", "src/app.cu", "--tunables", *MAKE, *RUN, "--repetitions", "1"]
    assert main(command) == 0
    said = capsys.readouterr()
    assert "8 configurations timed" in said.out
    assert "R = none, WPT = 2 at all sizes: time lost mean 0.00%" in said.out
    assert "above: block = 32" in said.out
    assert "tuned program: src/app.tuned/app.cu\nbuild it with: make FLAGS=''\n" in said.out
    assert "built with it: src/.cutune/builds/tuned/pro ject\n" in said.out
    assert "compile it with: nvcc" not in said.err
    assert (project / "src/app.tuned/params.h").read_text().endswith("#define WPT 2\n")
    statuses = Counter(one["status"] for one in trial_lines(project) if not one.get("final", True))
    assert statuses == {"ok": 8, "compile": 4}

    # Once more: what is known is not run, and what was emitted is no part of the project.
    begun = [one for one in trial_lines(project) if one["event"] == "begin"]
    assert main(command) == 0
    assert [one for one in trial_lines(project) if one["event"] == "begin"] == begun
    assert "8 configurations timed" in capsys.readouterr().out
    assert main(["emit", "src/app.cu", *MAKE, "--variants=none", "-q"]) == 0
    again = capsys.readouterr()
    assert "build it with: make FLAGS=''" in again.out and "compile it with" not in again.err

    # Of another state of the other source nothing is known.
    (project / "src/kernel.cu").write_text(KERNEL.replace("*= 2", "*= 4"))
    fit = ["fit", "src/app.cu", "--model", "neighbours", "--variants=none", "-q"]
    assert main(fit) == 1
    assert "[CT423]" in capsys.readouterr().err
    narrow = ["--make", "make", "--tune", "WPT=1", "--tune", "block=64"]
    sweep = ["collect", "src/app.cu", "--tunables", "--on", "gpu", *narrow, *RUN]
    assert main([*sweep, "--repetitions", "1"]) == 0
    capsys.readouterr()
    assert main(fit) == 0
    assert "WPT = 1 at all sizes" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.usefixtures("on_gpu")
def test_a_tuned_project_that_does_not_build_is_told_of(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that fails is the last; what was emitted stays."""
    build = made._build

    def last_fails(*asked: Any) -> str:
        return "error: of the test" if asked[3].parent.name == "tuned" else build(*asked)

    monkeypatch.setattr(made, "_build", last_fails)
    narrow = ["--make", "make", "--tune", "WPT=1", *RUN, "--repetitions", "1"]
    assert main(["tune", "src/app.cu", "--tunables", *narrow]) == 0
    said = capsys.readouterr()
    assert "built with it" not in said.out
    assert "error: of the test" in said.err and "[CT851]" in said.err
    assert (project / "src/app.tuned/app.cu").exists()


@pytest.mark.long
def test_host_integers_of_a_shared_header_are_set_in_all_sources(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each source that includes it gets the hooks; both integers are told."""
    (project / "src/params.h").write_text(f"""{HEADER}
inline int unroll(int n) {{
#pragma cutune tune(u: 1, 2) data(n)
    int u = 1;
    return u;
}}
""")
    source = project / "src/app.cu"
    source.write_text(SOURCE.replace("    a[n - 1] = 21;", "    a[n - 1] = 20 + unroll(n);"))
    asked = ["--make", "make", "--tune", "WPT=1", "--tune", "block=64", *RUN, "--ignore", "."]
    assert main(["collect", "src/app.cu", "--tunables", *asked]) == 0
    assert "2 configurations run" in capsys.readouterr().out
    copy = project / "src/.cutune/builds/WPT-1" / project.name
    libraries = searched_libraries(find_nvcc())
    environment: Mapping[str, str] = {**program_environment(copy / "app"), **libraries}
    done = subprocess.run(
        [copy / "app", "9"],
        env={**environment, "CUTUNE_SET": "u=2"},
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"44\n"


@pytest.mark.parametrize(
    ("make", "run", "said"),
    [
        ("make nothing", "./app {n}", "No rule to make target 'nothing'"),
        ("cmake --build build", "./app {n}", "cmake -S . -B build && cmake --build build' [CT849]"),
        ("true", "./app {n}", "'true' makes no program of 'src/app.cu' in the copy"),
        ("make", "./ap {n}", "'make' makes no './ap', which --run starts, in the copy"),
        ("make", "'{here}/app' {n}", "not a copy; write './app' [CT410]"),
    ],
)
def test_a_build_that_is_of_no_use_is_one_diagnostic(
    project: Path, capsys: pytest.CaptureFixture[str], make: str, run: str, said: str
) -> None:
    place = ["--run", run.replace("{here}", str(project)), "--vary", "n=9", "--tune", "WPT=1"]
    options = ["--make", make, "--variants=none", "-q", "--tune", "block=64"]
    assert main(["collect", "src/app.cu", "--tunables", *options, *place]) == 1
    errors = capsys.readouterr().err
    assert said in errors and errors.count("error:") == 1


@pytest.mark.long
@pytest.mark.parametrize("source", ["../src/app.cu", "{here}/src/app.cu"])
def test_a_source_outside_of_what_is_copied_is_refused(
    project: Path, capsys: pytest.CaptureFixture[str], source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "elsewhere").mkdir()
    monkeypatch.chdir(project / "elsewhere")
    path = source.replace("{here}", str(project))
    assert main(["collect", path, "--tunables", "--make", "make", *RUN]) == 1
    errors = capsys.readouterr().err
    assert "call cutune in a folder above both: --make 'make -C DIR' [CT848]" in errors
    assert errors.count("error:") == 1
    # As it says.
    monkeypatch.chdir(project.parent)
    words = ["--make", "make -C 'pro ject'", "--run", "'pro ject/app' {n}", "--vary", "n=9"]
    quick = ["--variants=none", "-q", "--tune", "WPT=1", "--tune", "block=64"]
    assert main(["collect", "pro ject/src/app.cu", "--tunables", *words, *quick]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--make", "make", "--run", "./{program} {n}"], "--run names the program: --run './app"),
        (["--make", " ", "--run", "./app"], "--make names no command"),
        (
            ["--make", "make", "--run", "./app", "--nvcc-flag=-DX={R}", "--tune", "R=1,2"],
            "--nvcc-flag does not reach --make; write {R} there",
        ),
    ],
)
def test_wrong_usage_is_said(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["collect", "src/app.cu", "--tunables", *words, "-q"])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_make_is_for_parameters(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["collect", "src/app.cu", "--make", "make"], "--make is for parameters: add --tunables"),
        (["tune", "--tunables", "--make", "make"], "--tunables takes one FILE, also with --make"),
    ):
        with pytest.raises(SystemExit):
            main(words)
        assert said in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_a_build_ends_with_cutune(project: Path, told: signal.Signals) -> None:
    """A build of hours; what was told to end does not wait for it, and leaves nothing."""
    pids = project / "pids"
    make = f"echo $$ >> '{pids}'; sleep 9999; make"
    words = ["collect", "src/app.cu", "--tunables", "--make", make, *RUN]
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from cutune.cli.main import main; sys.exit(main())"
    running = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not pids.exists() or len(pids.read_text().split()) < 2:
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(told)
    errors = running.communicate(timeout=600)[1]
    assert running.returncode == 130 and "Traceback" not in errors, errors
    for pid in map(int, pids.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
