"""Searches on several GPUs, and what becomes of them when something is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from cutune.cli.main import main
from tests.support.cutune_runs import QUICK
from tests.support.fake_slurm import stand_in
from tests.support.killed_searches import Searches, check, is_running, outcome, repeated

pytestmark = pytest.mark.nvcc

#: A few configurations at each of two sizes.
BUDGET, PAUSE = 8, 0.05


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Searches:
    """A search by this machine's one worker."""
    return searched(tmp_path_factory.mktemp("alone"), ())


def searched(folder: Path, options: Sequence[str]) -> Searches:
    searches = Searches(folder, BUDGET, PAUSE, options)
    searches.prepare()
    assert end_of(searches.start("own")) == f"{searches_timed(searches)} configurations timed\n"
    return searches


def end_of(running: subprocess.Popen[str]) -> str:
    output, errors = running.communicate(timeout=300)
    assert running.returncode == 0, errors
    return output


def searches_timed(searches: Searches) -> int:
    return [one[0] for one in outcome(searches.trials("own")).values()].count("ok")


@pytest.mark.long
def test_workers_of_two_gpus_find_what_one_does(alone: Searches, tmp_path: Path) -> None:
    """The same configurations with the same times, and each GPU has run some."""
    two = searched(tmp_path, ("--gpus", "0,1"))
    assert outcomes(two) == outcomes(alone)
    assert {*gpus_of(two)} == {"0", "1"} and repeated(two.trials("own")) == []
    # What is known is not run again, whoever has run it.
    before = two.log.read_text()
    assert end_of(two.start("own")).startswith("16 ") or two.log.read_text() != before
    assert repeated(two.trials("own")) == []


def outcomes(searches: Searches) -> list[tuple[object, ...]]:
    """Without the names of trials, which depend on where the source is."""
    return sorted(outcome(searches.trials("own")).values(), key=repr)


def gpus_of(searches: Searches) -> Counter[str]:
    """How many runs came to their end on each."""
    return Counter(line.split()[-1] for line in searches.log.read_text().splitlines())


@pytest.mark.long
def test_killed_again_and_again_it_finds_the_same(tmp_path: Path) -> None:
    """cutune, a worker, or a program, six times; `tests.support.killed_searches` does it fifty."""
    found = check(Searches(tmp_path, 14, PAUSE), 6, 3)
    assert sum(found["kills"].values()) == 6


@pytest.mark.long
def test_two_lost_workers_are_quarantine(tmp_path: Path) -> None:
    """The trial that ends its worker: it is tried twice, and never again; the others are not."""
    searches = Searches(tmp_path, 8, PAUSE)
    searches.prepare()
    text = (tmp_path / "timed").read_text()
    killed = ("os.kill(os.getppid(), 9)", "time.sleep(60)")
    deadly = "\n        ".join(["if mode == 1 and block == 64:", *killed]) + "\n    "
    (tmp_path / "timed").write_text(text.replace("own = {", f"{deadly}own = {{", 1))
    every = ("--gpus", "0,1", "--tune", "step=0", "--tune", "mode=0,1")
    killing = Searches(tmp_path, 8, PAUSE, every, "101")
    for lost in (2, 0):
        running = killing.start("own")
        output, errors = running.communicate(timeout=300)
        assert running.returncode == 0 and output.startswith("7 configurations timed"), errors
        assert "(1 quarantine), the first with mode = 1, step = 0, block = 64" in errors
        # Both are told, in one message where the same worker was lost twice.
        assert bool(lost) <= errors.count("[CT841]") <= lost
    begun = Counter(one["trial"] for one in killing.trials("own") if one["event"] == "begin")
    assert sorted(begun.values()) == [1] * 7 + [2]


@pytest.mark.long
def test_an_interrupted_search_leaves_nothing_behind(tmp_path: Path) -> None:
    """Ctrl-C, a closed terminal: what was in flight is stopped, no fault of its own."""
    searches = Searches(tmp_path, BUDGET, 0.3)
    searches.prepare()
    for told in (signal.SIGINT, signal.SIGHUP):
        before = ends(searches)
        running = searches.start("own")
        wait_for_ends(searches, before + 1)
        running.send_signal(told)
        errors = running.communicate(timeout=60)[1]
        assert running.returncode == 130 and "Traceback" not in errors, errors
        events = Counter(one["event"] for one in searches.trials("own"))
        assert events["begin"] == events["end"] + events["stop"]
    assert end_of(searches.start("own"))
    assert repeated(searches.trials("own")) == []


def ends(searches: Searches) -> int:
    return sum(one["event"] == "end" for one in searches.trials("own"))


def wait_for_ends(searches: Searches, count: int) -> None:
    last = time.monotonic() + 300
    while ends(searches) < count:
        assert time.monotonic() < last
        time.sleep(0.02)


with_dask = pytest.mark.skipif(
    find_spec("distributed") is None or find_spec("dask_jobqueue") is None,
    reason="the extra cluster is not installed",
)


@with_dask
def test_dask_finds_what_one_worker_does(alone: Searches, tmp_path: Path) -> None:
    two = searched(tmp_path, ("--executor", "dask", "--gpus", "0,1"))
    assert outcomes(two) == outcomes(alone) and {*gpus_of(two)} == {"0", "1"}


@contextmanager
def scheduler(folder: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler of dask, as users start it, and workers that have a GPU each."""
    cli = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
    said = folder / "scheduler.json"
    usual = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    running: list[subprocess.Popen[bytes]] = []

    def start(words: list[str], **environment: str) -> subprocess.Popen[bytes]:
        null = subprocess.DEVNULL
        running.append(
            subprocess.Popen(words, env={**usual, **environment}, stdout=null, stderr=null)
        )
        return running[-1]

    own = start([*cli, "--port", "0", "--scheduler-file", str(said)])
    try:
        while not said.exists() or not said.read_text():
            assert own.poll() is None
            time.sleep(0.05)
        address = json.loads(said.read_text())["address"]
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "2"]
        for gpu in range(workers):
            start([*command, "--no-nanny"], CUDA_VISIBLE_DEVICES=str(gpu))
        yield address, running[1:]
    finally:
        for one in running:
            one.kill()
            one.wait()


@with_dask
def test_a_worker_of_someone_elses_scheduler_is_lost(alone: Searches, tmp_path: Path) -> None:
    """The other one goes on; what the lost one ran is tried once more."""
    Searches(tmp_path, BUDGET, PAUSE).prepare()
    with scheduler(tmp_path, 2) as (address, workers):
        searches = Searches(tmp_path, BUDGET, PAUSE, ("--scheduler", address))
        running = searches.start("own")
        wait_for_ends(searches, 3)
        workers[0].kill()
        assert end_of(running)
    assert outcomes(searches) == outcomes(alone) and repeated(searches.trials("own")) == []


@with_dask
def test_what_a_worker_elsewhere_runs_ends_with_the_search(tmp_path: Path) -> None:
    """Ctrl-C in a run that would take minutes; the worker is there for the next search."""
    Searches(tmp_path, BUDGET, 0.0).prepare()
    pids = tmp_path / "pids"
    slow = f"open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n'); time.sleep(mode and 600)"
    timed = tmp_path / "timed"
    timed.write_text(timed.read_text().replace("time.sleep(0.0)", slow))
    with scheduler(tmp_path, 1) as (address, _):
        searches = Searches(tmp_path, BUDGET, 0.0, ("--scheduler", address))
        for count in (1, 2):
            running = searches.start("own")
            last = time.monotonic() + 300
            while sum(one["event"] == "begin" for one in searches.trials("own")) < count:
                assert time.monotonic() < last
                time.sleep(0.05)
            time.sleep(1.0)
            running.send_signal(signal.SIGINT)
            assert running.communicate(timeout=60) and running.returncode == 130
            *_, program = pids.read_text().split()
            while is_running(int(program)):
                assert time.monotonic() < last
                time.sleep(0.05)
    assert Counter(one["event"] for one in searches.trials("own")) == {"begin": 2, "stop": 2}


@with_dask
def test_jobs_of_slurm_are_submitted_again(
    alone: Searches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One job is cancelled in the middle of the search."""
    jobs = stand_in(tmp_path / "slurm")
    monkeypatch.setenv("PATH", f"{tmp_path / 'slurm'}:{os.environ['PATH']}")
    options = ("--executor", "slurm", "--workers", "2", "--sbatch=--partition=gpu")
    searches = Searches(tmp_path, BUDGET, PAUSE, options)
    searches.prepare()
    running = searches.start("own")
    wait_for_ends(searches, 3)
    subprocess.run(["scancel", "17"], check=True)
    assert end_of(running)
    assert outcomes(searches) == outcomes(alone) and repeated(searches.trials("own")) == []
    script = (jobs / "job.17" / "script").read_text()
    assert "#SBATCH --partition=gpu\n#SBATCH --gres=gpu:1\n" in script
    still = subprocess.run(["squeue"], capture_output=True, text=True, check=True)
    assert still.stdout == "", "no job is left behind"


@with_dask
def test_what_slurm_refuses_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    searches = Searches(tmp_path, BUDGET, PAUSE)
    searches.prepare()
    sweep = ["collect", str(tmp_path / "program.cu"), "--tunables", "--on", "gpu", "-q", *QUICK]
    sweep += ["--run", "{program} {n}", "--vary", "n=9", "--executor", "slurm", "--workers", "1"]
    assert main(sweep) == 1
    assert "Slurm takes no job (there is no sbatch)" in capsys.readouterr().err
    stand_in(tmp_path / "slurm")
    monkeypatch.setenv("PATH", f"{tmp_path / 'slurm'}:{os.environ['PATH']}")
    assert main([*sweep, "--sbatch=--partition=none"]) == 1
    said = capsys.readouterr().err
    assert "invalid partition specified: none" in said and "[CT845]" in said


@with_dask
def test_no_scheduler_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    searches = Searches(tmp_path, BUDGET, PAUSE)
    searches.prepare()
    sweep = ["collect", str(tmp_path / "program.cu"), "--tunables", "--on", "gpu", "-q", *QUICK]
    run = ["--run", "{program} {n}", "--vary", "n=9"]
    assert main([*sweep, *run, "--scheduler", "nonsense://x"]) == 1
    said = capsys.readouterr().err
    assert "[CT844]" in said and said.count("error:") == 1


def test_without_the_extra_it_is_said_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = Searches(tmp_path, BUDGET, PAUSE)
    searches.prepare()
    for name in ("distributed", "dask_jobqueue", "dask"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("dask_workers", "slurm_jobs"):
        monkeypatch.delitem(sys.modules, f"cutune.search.workers.{name}", raising=False)
    sweep = ["collect", str(tmp_path / "program.cu"), "--tunables", "--on", "gpu", "-q", *QUICK]
    run = ["--run", "{program} {n}", "--vary", "n=9"]
    for options in (["--scheduler", "tcp://a:1"], ["--executor", "slurm", "--workers", "2"]):
        assert main([*sweep, *run, *options]) == 1
        said = capsys.readouterr().err
        assert "pip install 'cutune[cluster]'" in said and said.count("error:") == 1


def test_the_emulated_device_has_workers_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every configuration is run and compared, by two processes; nothing is kept."""
    searches = Searches(tmp_path, BUDGET, PAUSE)
    searches.prepare()
    sweep = ["collect", str(tmp_path / "program.cu"), "--tunables", "--gpus", "0,1", "-q", *QUICK]
    run = ["--run", "{program} {n}", "--vary", "n=9", "--tune", "mode=0,2", "--tune", "step=0,1"]
    assert main([*sweep, *run]) == 0
    assert "16 configurations run on the emulated device" in capsys.readouterr().out
    assert not (tmp_path / ".cutune" / "trials.jsonl").exists()
