"""Configurations that hang, crash, compute wrongly or ask for too much: each has its status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cutune.cli.main import main
from cutune.search import measure_parameters
from cutune.search.builds import Builds, Built
from tests.support.cutune_runs import QUICK

pytestmark = pytest.mark.nvcc

#: It looks at no errors of CUDA.
PROGRAM = """\
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

__global__ void add(int n, int *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
}

__host__ int doubled(int n) { return 2 * n; }

int main(int argc, char **argv) {
    int n = atoi(argv[1]), *x;
    cudaMallocManaged(&x, n * sizeof(int));
#pragma cutune tune(mode: 0, 1, 2, 3, 4) data(n)
    int mode = 0;
#pragma cutune tune(block: 32, 64, 2048) data(n)
    int block = 32;
    if (mode == 1) abort();
    while (mode == 2) pause();
#pragma cutune region begin
    add<<<(n + block - 1) / block, block>>>(n - (mode == 3), x);
    if (mode == 4) add<<<1, doubled(1000)>>>(0, x);
#pragma cutune region end
    cudaDeviceSynchronize();
    printf("mode %d, last %d, took 1.5 ms\\n", mode, x[n - 1]);
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.cu"
    path.write_text(PROGRAM)
    return path


@pytest.mark.long
def test_every_failure_is_found_on_the_emulated_device(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = ["collect", str(program), "--tunables", "--run", "{program} {n}", "--vary", "n=64"]
    assert main([*sweep, "--timeout", "5", "-q", *QUICK]) == 0
    said = capsys.readouterr()
    assert "2 configurations run on the emulated device" in said.out
    assert "2 runs wrote something else" in said.err and "'mode 0, last 1, took" in said.err
    (failed,) = [line for line in said.err.splitlines() if "[CT426]" in line]
    counts = failed.partition("(")[2].partition(")")[0].split(", ")
    assert sorted(counts) == ["2 timeout", "4 runtime", "5 limits"]


#: Stands for the same program on a GPU: what is wrong is fastest.
TIMED = """\
#!{python} -S
import os, sys, time
text = os.environ["CUTUNE_SET"] or "mode=0,block=32"
values = {{name: int(value) for name, value in (word.split("=") for word in text.split(","))}}
mode, block, n = values["mode"], values["block"], int(sys.argv[1])
with open({log!r}, "a") as log:
    log.write(text + "\\n")
if mode == 1:
    os.abort()
if mode == 2:
    time.sleep(600)
time.sleep({pause})
milliseconds = {{0: 2.0, 3: 0.1, 4: 0.01}}[mode] + 1 / block
own = {{"mode": 0, "block": 32}}
tunables = {{
    name: {{"value": value, "original": own[name], "ambiguous": False, "data": {{"n": n}}}}
    for name, value in values.items()
}}
line = {{"device": "a GPU", "milliseconds": milliseconds, "tunables": tunables}}
if mode == 4:
    line["error"] = "invalid configuration argument"
with open(os.environ["CUTUNE_OUTPUT"], "a") as output:
    print(str(line).replace("'", '"').replace("False", "false"), file=output)
print(f"mode {{mode}}, last {{int(mode != 3)}}, took {{milliseconds}} ms")
"""


def timed(program: Path, pause: float = 0.0) -> Path:
    path, log = program.parent / "timed", program.parent / "log"
    path.write_text(TIMED.format(python=sys.executable, log=str(log), pause=pause))
    path.chmod(0o755)
    return path


@pytest.fixture
def on_gpu(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary = timed(program)
    monkeypatch.setattr(measure_parameters, "_require_gpu", lambda: None)
    monkeypatch.setattr(Builds, "_built", lambda self, values: Built(binary))


def ended(program: Path) -> list[dict[str, Any]]:
    lines = (program.parent / ".cutune" / "trials.jsonl").read_text().splitlines()
    return [entry for entry in map(json.loads, lines) if entry["event"] == "end"]


RUN = ["--run", "{program} {n}", "--vary", "n=64", "--repetitions", "1", "-q", *QUICK]


@pytest.mark.long
@pytest.mark.usefixtures("on_gpu")
def test_a_search_ends_and_the_best_is_right(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--search", "100%", "--timeout", "5"]
    assert main(["tune", str(program), "--tunables", *asked, *RUN]) == 0
    said = capsys.readouterr()
    statuses = Counter(one["status"] for one in ended(program) if not one["final"])
    assert statuses == {"ok": 2, "wrong": 2, "runtime": 2, "timeout": 2, "limits": 7}
    assert "above: block = 64" in said.out and "mode" not in said.out, "one mode is right"
    assert "tuned program: " in said.out and "compile it with: nvcc" in said.err
    assert program.with_name("program.tuned.cu").exists()
    # All of it is known, and nothing runs again.
    log = program.with_name("log").read_text()
    assert main(["collect", str(program), "--tunables", "--on", "gpu", "--timeout", "5", *RUN]) == 0
    assert program.with_name("log").read_text() == log


@pytest.mark.long
@pytest.mark.usefixtures("on_gpu")
def test_techniques_are_compared_on_what_was_tried(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["collect", str(program), "--tunables", *RUN]
    assert main([*asked, "--compare"]) == 1
    assert "[CT009]" in capsys.readouterr().err
    sweep = [*asked, "--on", "gpu", "--timeout", "5"]
    assert main([*sweep, "--search", "3", "--technique", "random"]) == 0
    assert main([*asked, "--compare"]) == 1
    errors = capsys.readouterr().err
    assert "(most at n = 64: " in errors and " of 15); run: cutune collect" in errors
    assert main(sweep) == 0
    log = program.with_name("log").read_text()
    capsys.readouterr()
    assert main([*asked, "--compare", "local,Nelder-Mead,random"]) == 0
    said = capsys.readouterr().out
    assert "at n = 64: 15 configurations; random search: 5.3 on the average" in said
    rows = [line.split()[0] for line in said.splitlines()[2:]]
    assert sorted(rows) == ["local", "nelder_mead", "random"]
    assert main([*asked, "--compare", "genetc"]) == 1
    assert "did you mean 'genetic'?" in capsys.readouterr().err
    assert program.with_name("log").read_text() == log, "nothing was run"


@pytest.mark.usefixtures("on_gpu")
def test_tuners_are_compared_on_what_is_measured_first(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["bat", "-b", "program", "-a", "cutune", "--folder", str(program.parent), "-s", "7"]
    tune = ["--tune", "mode=0,3", "--run", "{program} {size}", "-q", *QUICK]
    assert main([*asked, "-t", "random", *tune]) == 0
    said = capsys.readouterr().out
    assert "program, at size = 7: 6 configurations" in said
    rows = [" ".join(line.split()[:2]) for line in said.splitlines()[2:]]
    assert sorted(rows) == ["cutune local", "cutune random"]
    log = program.with_name("log").read_text()
    assert main([*asked, *tune]) == 0
    assert program.with_name("log").read_text() == log, "nothing was run again"


@pytest.mark.usefixtures("on_gpu")
def test_what_was_wrong_is_tried_again_by_other_rules(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = ["collect", str(program), "--tunables", "--on", "gpu", "--tune", "mode=0,3"]
    asked = [*sweep, "--tune", "block=32", *RUN]
    assert main(asked) == 0
    said = capsys.readouterr()
    assert "1 runs wrote something else" in said.err and "--ignore REGEX" in said.err
    assert "1 configurations timed" in said.out
    assert main([*asked, "--ignore", "^mode"]) == 0
    said = capsys.readouterr()
    assert "CT818" not in said.err and "2 configurations timed" in said.out
    assert main(["fit", str(program), "--model", "neighbours", "-q", *QUICK]) == 0
    assert "mode = 3" in capsys.readouterr().out


@pytest.mark.usefixtures("on_gpu")
def test_where_the_program_itself_fails_nothing_is_compared(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    binary = program.with_name("timed")
    text = binary.read_text().replace("if mode == 1:", "if mode == 1 or not log:")
    binary.write_text(text.replace('"mode=0,block=32"', '"mode=1,block=32"'))
    sweep = ["collect", str(program), "--tunables", "--on", "gpu", "--tune", "mode=0,3"]
    assert main([*sweep, *RUN]) == 0
    said = capsys.readouterr()
    assert "results are compared with nothing" in said.err and "CT819" in said.err
    assert "4 configurations timed" in said.out


DRIVER = """\
import sys
from pathlib import Path
from cutune.cli.main import main
from cutune.search import measure_parameters
from cutune.search.builds import Builds, Built
measure_parameters._require_gpu = lambda: None
Builds._built = lambda self, values: Built(Path(sys.argv[1]))
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.long
def test_killed_again_and_again_nothing_is_lost_and_nothing_is_done_twice(program: Path) -> None:
    """Every 0.3 s a configuration ends; the driver is killed in the middle of one."""
    binary = timed(program, 0.3)
    driver = program.with_name("driver.py")
    driver.write_text(DRIVER)
    sweep = ["collect", str(program), "--tunables", "--on", "gpu", "--tune", "mode=0,3"]
    asked = [*sweep, "--search", "100%", "--tune", "block=32,64", *RUN]
    command = [sys.executable, str(driver), str(binary), *asked]
    trials = program.parent / ".cutune" / "trials.jsonl"
    for count in (1, 2, 3):
        killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda count=count: trials.exists() and lines(trials, "end") >= count)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
    subprocess.run(command, check=True)
    first = [one for one in ended(program) if not one["final"]]
    assert len({one["trial"] for one in first}) == len(first) == 4
    assert Counter(one["status"] for one in first) == {"ok": 2, "wrong": 2}


def lines(path: Path, event: str) -> int:
    return path.read_text().count(f'"event": "{event}"') + path.read_text().count(
        f'"event":"{event}"'
    )


def wait_for(holds: Any) -> None:
    last = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < last
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--search", "0"], "'0' is no budget"),
        (["--search", "101%"], "'101%' is no budget"),
        (["--search", "many"], "'many' is no budget"),
        (["--search", "5", "--technique", "genetc"], "did you mean 'genetic'?"),
        (["--search", "5", "--technique", "pso"], "the nearest is 'differential_evolution'"),
        (["--search", "5", "--start", "blok=32"], "did you mean 'block'?"),
        (["--search", "5", "--start", "block=7"], "'block' has the values 32, 64, 2048, not 7"),
        (["--search", "5", "--start", "block"], "[CT801]"),
        (["--search", "5", "--start", ""], "[CT801]"),
        (["--search", "5", "--start", "block=32,block=64"], "[CT802]"),
        (["--search", "5", "--start", "block=32..64"], "one value, as in --start block=1"),
    ],
)
@pytest.mark.usefixtures("on_gpu")
def test_what_cannot_be_searched_is_one_diagnostic(
    program: Path, capsys: pytest.CaptureFixture[str], options: Sequence[str], said: str
) -> None:
    sweep = ["collect", str(program), "--tunables", "--on", "gpu", *RUN]
    assert main([*sweep, *options]) == 1
    errors = capsys.readouterr().err
    assert said in errors and errors.count("error:") == 1


@pytest.mark.parametrize(
    "options",
    [
        ["--technique", "random"],
        ["--start", "block=32"],
        ["--timeout", "0"],
        ["--timeout", "nan"],
        ["--tolerance", "-1"],
        ["--tolerance", "nan"],
        ["--ignore", "("],
        ["--jobs", "0"],
    ],
)
@pytest.mark.usefixtures("on_gpu")
def test_wrong_usage(program: Path, options: Sequence[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["collect", str(program), "--tunables", "--on", "gpu", *RUN, *options])
    assert end.value.code == 2


@pytest.mark.parametrize("verb", ["collect", "tune"])
@pytest.mark.parametrize(
    "option", ["--search=5", "--technique=tpe", "--tolerance=1", "--start=a=1"]
)
def test_options_of_parameters_are_not_left_unread(
    program: Path, verb: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([verb, str(program), option])
    assert "is for parameters: add --tunables" in capsys.readouterr().err


def test_tuning_parameters_takes_a_gpu_and_one_source(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cutune.search.measure_parameters.shutil.which", lambda name, **_: None)
    assert main(["tune", str(program), "--tunables", *RUN]) == 1
    assert "[CT421]" in capsys.readouterr().err
    for words in ([str(program), str(program)], [], [str(program), "--make", "make"]):
        with pytest.raises(SystemExit):
            main(["tune", *words, "--tunables", *RUN])


def test_what_the_device_refuses_is_not_compiled(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The block is a macro here: a program for each."""
    pragma = "#pragma cutune tune(block: 32, 2048)\n"
    old = PROGRAM.partition("#pragma cutune tune(block")[2].partition("32;\n")[0]
    text = PROGRAM.replace(f"#pragma cutune tune(block{old}32;\n", "").replace(
        "mode: 0, 1, 2, 3, 4", "mode: 0"
    )
    program.write_text(f"{pragma}#define block 32\n{text}")
    sweep = ["collect", str(program), "--tunables", "--run", "{program} {n}", "--vary", "n=64"]
    assert main([*sweep, "-q", *QUICK]) == 0
    said = capsys.readouterr()
    assert "1 configurations run" in said.out
    assert "(1 limits), the first with mode = 0, block = 2048: kernel 'add' with 2048" in said.err
    builds = program.parent / ".cutune" / "builds"
    assert [path.name for path in builds.iterdir()] == ["block=32"]
