"""Workers: a process each, one job in flight; what becomes of jobs when a worker is lost."""

from __future__ import annotations

import os
import signal
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from functools import cached_property, partial
from pathlib import Path
from threading import Event
from typing import ClassVar, NoReturn, TypeVar

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.processes import ProgramResult
from cutune.search.tunables.verb_options import WORKER_OPTION_NAMES
from cutune.search.workers import local
from cutune.search.workers import local as gpus
from cutune.search.workers.choose_workers import workers_of
from cutune.search.workers.crew import (
    MOST_LOST,
    Crew,
    NoWorkerError,
    StoppedError,
    Task,
    TaskOutcome,
    perform,
)
from cutune.search.workers.local import LocalWorker, LocalWorkers
from tests.support.shell_programs import script


def task(path: Path, *words: str, seconds: float = 60.0, **environment: str) -> Task:
    return Task((f"./{path.name}", *words), environment, seconds, str(path.parent))


def test_a_task_and_its_outcome_travel_as_lines() -> None:
    asked = Task(("./a b", "é\n"), {"A": "1"}, 2.5, "/tmp")
    assert Task.from_json(asked.to_json()) == asked and "\n" not in asked.to_json()
    every = bytes(range(256))
    outcome = TaskOutcome(ProgramResult(3, every, every[::-1]), '{"a":1}\n', 0.25)
    assert TaskOutcome.from_json(outcome.to_json()) == outcome and "\n" not in outcome.to_json()
    missing = TaskOutcome(ProgramResult(None, not_started="no such file"), "", 0.0)
    assert TaskOutcome.from_json(missing.to_json()) == missing


def test_a_worker_runs_what_this_process_would(tmp_path: Path) -> None:
    """Bytes, errors, status, the file for regions, the folder; one after the other."""
    path = script(
        tmp_path / "program",
        'printf "\\377 %s %s" "$1" "$A"; pwd >&2; echo "{}" > "$CUTUNE_OUTPUT"; exit 3',
    )
    worker = LocalWorker("here", {})
    try:
        for word in ("one", "two"):
            asked = task(path, word, A="x")
            there, here = worker.run(asked), perform(asked)
            assert there.ended == here.ended and there.log == here.log == "{}\n"
            assert there.ended.output == b"\xff %s x" % word.encode()
        late = worker.run(task(script(tmp_path / "late", "sleep 60"), seconds=0.2))
        assert late.ended.timed_out
        gone = Task(("./program",), {}, 1.0, str(tmp_path / "missing"))
        assert "No such file" in worker.run(gone).ended.not_started
        assert worker.run(task(tmp_path / "none")).ended.not_started
    finally:
        worker.close()
    assert not worker.is_alive
    with pytest.raises(StoppedError):
        worker.run(task(path))


def test_with_a_worker_ends_what_it_runs(tmp_path: Path) -> None:
    path = script(tmp_path / "program", "echo $$ > pid; exec sleep 600")
    with crew(LocalWorkers()) as (own, said):
        running = own.submit(lambda: own.perform(task(path)), lambda: "lost")
        for _ in range(2):
            program = int(wait_for(lambda: text_of(tmp_path / "pid")))
            (tmp_path / "pid").unlink()
            os.kill(worker_of(own).process.pid, signal.SIGKILL)
            wait_for(partial(has_ended, program))
        assert running.result(60) == "lost"
        assert [one.code for one in said] == [Code.WORKER_LOST] * 2


def test_with_whoever_gives_tasks_all_ends(tmp_path: Path) -> None:
    """Its input ends, however that came about."""
    path = script(tmp_path / "program", "echo $$ > pid; exec sleep 600")
    worker = LocalWorker("here", {})
    assert worker.process.stdin is not None
    worker.process.stdin.write(task(path).to_json().encode() + b"\n")
    worker.process.stdin.flush()
    program = int(wait_for(lambda: text_of(tmp_path / "pid")))
    worker.process.stdin.close()
    assert worker.process.wait(60) == -signal.SIGKILL
    wait_for(partial(has_ended, program))
    worker.close()


def test_each_worker_sees_its_own_gpu_and_has_one_job(tmp_path: Path) -> None:
    """Where two are at once on one GPU, the second finds the folder of the first."""
    path = script(
        tmp_path / "program",
        'own="gpu-$CUDA_VISIBLE_DEVICES"; mkdir "$own" || exit 1; sleep 0.1; rmdir "$own"; '
        'echo "$CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER"',
    )
    with crew(LocalWorkers(("0", "3"))) as (own, _):
        jobs = [own.submit(lambda: own.perform(task(path)), lost) for _ in range(8)]
        found = [one.result(60).ended for one in jobs]
    assert {one.status for one in found} == {0}
    assert {one.output for one in found} == {b"0 PCI_BUS_ID\n", b"3 PCI_BUS_ID\n"}


def test_a_worker_that_dies_while_idle_costs_nothing(tmp_path: Path) -> None:
    path = script(tmp_path / "program", "echo fine")
    with crew(LocalWorkers()) as (own, said):
        for _ in range(3):
            done = own.submit(lambda: own.perform(task(path)), lost).result(60)
            assert done.ended.output == b"fine\n"
            os.kill(worker_of(own).process.pid, signal.SIGKILL)
            wait_for(lambda: not worker_of(own).is_alive)
        assert said == []


def test_a_place_without_a_worker_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the last one all ends: what waits is told."""
    monkeypatch.setattr(local, "_COMMAND", ("/bin/sh", "-c", "exit 1"))
    with crew(LocalWorkers(("0", "1"))) as (own, said):
        waiting = [own.submit(lambda: None, lost) for _ in range(3)]
        for one in waiting:
            with pytest.raises(CutuneError, match="no worker is left"):
                one.result(60)
        with pytest.raises(CutuneError, match="no worker is left"):
            own.submit(lambda: None, lost).result(60)
        codes = Counter(one.code for one in said)
        assert codes == {Code.WORKER_LOST: 2 * (MOST_LOST - 1), Code.FEWER_WORKERS: 1}


class Late(LocalWorkers):
    """The second worker does not come, as a job that waits for Slurm."""

    reason: ClassVar[Exception] = StoppedError()

    @cached_property
    def ended(self) -> Event:
        """The end of all workers."""
        return Event()

    def start(self, place: int) -> LocalWorker:
        if place == 0:
            return super().start(0)
        self.ended.wait()
        raise self.reason

    def close(self) -> None:
        self.ended.set()


def test_nothing_waits_for_a_worker_that_does_not_come(tmp_path: Path) -> None:
    path = script(tmp_path / "program", "echo fine")
    with crew(Late(("0", "1"))) as (own, said):
        for _ in range(3):
            jobs = [own.submit(lambda: own.perform(task(path)), lost) for _ in range(3)]
            assert {one.result(60).ended.output for one in jobs} == {b"fine\n"}
    assert said == []


class Never(Late):
    """None comes to the second place, which is said at once."""

    reason: ClassVar[Exception] = NoWorkerError("none came")

    def start(self, place: int) -> LocalWorker:
        self.ended.set()
        return super().start(place)


def test_the_others_go_on_where_none_comes() -> None:
    with crew(Never(("0", "1"))) as (own, said):
        wait_for(lambda: [own.submit(lambda: 1, lost).result(60) for _ in range(3)] and said)
    assert [one.code for one in said] == [Code.FEWER_WORKERS] and "1 are left" in said[0].message


def test_an_error_in_a_job_ends_all(tmp_path: Path) -> None:
    with crew(LocalWorkers()) as (own, _):
        begun = Event()

        def fails() -> None:
            begun.wait(60)
            raise KeyboardInterrupt

        first, second = own.submit(fails, lost), own.submit(lambda: 1, lost)
        begun.set()
        for one in (first, second):
            with pytest.raises(KeyboardInterrupt):
                one.result(60)


def test_what_is_no_longer_wanted_is_not_begun(tmp_path: Path) -> None:
    path = script(tmp_path / "program", "sleep 0.3; echo fine")
    with crew(LocalWorkers()) as (own, _):
        jobs: list[Future[TaskOutcome]] = [
            own.submit(lambda: own.perform(task(path)), lost) for _ in range(3)
        ]
        wait_for(jobs[0].running)
        own.forget()
        assert jobs[0].result(60).ended.output == b"fine\n"
        for one in jobs[1:]:
            with pytest.raises(StoppedError):
                one.result(60)
        assert own.submit(lambda: 2, lost).result(60) == 2


def test_workers_of_different_gpus_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smi(tmp_path, monkeypatch, "NVIDIA H100", "NVIDIA H200", "NVIDIA H100")
    with crew(LocalWorkers(("0", "2"))) as (own, _):
        wait_for(lambda: [own.submit(lambda: own.gpus, lost).result(60) for _ in range(4)])
        assert own.gpus == ["NVIDIA H100"]
    with (
        crew(LocalWorkers(("0", "1"))) as (own, _),
        pytest.raises(CutuneError, match=r"H100.*H200"),
    ):
        for _ in range(50):
            own.submit(lambda: time.sleep(0.1), lost).result(60)


@pytest.mark.parametrize(
    ("visible", "names"),
    [("", "ABA"), ("1", "B"), ("2,1", "AB"), ("GPU-1", "B"), ("7", "ABA"), ("MIG-0/1", "ABA")],
)
def test_visible_gpus(
    visible: str, names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smi(tmp_path, monkeypatch, *"ABA")
    assert gpus.visible_gpus({"CUDA_VISIBLE_DEVICES": visible}) == list(names)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gpus": "0,0"}, "each once"),
        ({"gpus": "0,00"}, "each once"),
        ({"gpus": "x"}, "not 'x'"),
        ({"gpus": ""}, "--gpus takes numbers"),
        ({"gpus": "-1"}, "--gpus takes numbers"),
        ({"executor": "slurm"}, "needs --workers COUNT"),
        ({"executor": "slurm", "workers": 0}, "at least 1"),
        ({"executor": "slurm", "workers": 2, "gpus": "0"}, "no --gpus"),
        ({"workers": 2}, "for --executor slurm"),
        ({"sbatch": ["-p x"]}, "for --executor slurm"),
        ({"executor": "dask"}, "needs --scheduler ADDRESS"),
        ({"executor": "local", "scheduler": "tcp://a:1"}, "for --executor dask"),
        ({"scheduler": "tcp://a:1", "gpus": "0"}, "no --gpus"),
    ],
)
def test_wrong_usage_is_said(options: dict[str, object], said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        asked(True, **options)


def test_gpus_have_to_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CutuneError, match=r"GPU"):
        asked(gpus="0")
    smi(tmp_path, monkeypatch, "A", "B")
    assert asked(gpus="0, 1") == LocalWorkers(("0", "1"))
    with pytest.raises(CutuneError) as caught:
        asked(gpus="1,2")
    assert caught.value.diagnostic.code is Code.NO_SUCH_GPU
    assert "GPU 2" in str(caught.value) and "0 (A), 1 (B)" in str(caught.value)
    assert asked(is_on_gpu=False, gpus="5") == LocalWorkers(("5",)), "the emulated device"
    assert asked() == LocalWorkers()


# ---- helpers


def asked(is_on_gpu: bool = True, **options: object) -> object:
    def refuse(message: str) -> NoReturn:
        raise SystemExit(message)

    usual: dict[str, object] = {**dict.fromkeys(WORKER_OPTION_NAMES), "sbatch": []}
    return workers_of(Namespace(**{**usual, **options}), is_on_gpu, Path("logs"), refuse)


class crew:
    """A crew, and what it warns of."""

    def __init__(self, workers: LocalWorkers) -> None:
        self.said: list[Diagnostic] = []
        self.crew = Crew(workers, self.said.append).start()

    def __enter__(self) -> tuple[Crew, list[Diagnostic]]:
        return self.crew, self.said

    def __exit__(self, *error: object) -> None:
        self.crew.close()


def lost() -> NoReturn:
    raise AssertionError("no worker was to be lost")


def worker_of(own: Crew) -> LocalWorker:
    (found,) = own._at_work.values()
    assert isinstance(found, LocalWorker)
    return found


def smi(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """A driver that lists these GPUs."""
    listed = (f"echo 'GPU {n}: {name} (UUID: GPU-{n}23)'" for n, name in enumerate(names))
    script(folder / "nvidia-smi", "\n".join(listed))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def text_of(path: Path) -> str:
    text = path.read_text() if path.exists() else ""
    return text if text.endswith("\n") else ""


def has_ended(pid: int) -> bool:
    """It may stay in the table until someone asks for its status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


T = TypeVar("T")


def wait_for(asked: Callable[[], T]) -> T:
    last = time.monotonic() + 60
    while not (found := asked()):
        assert time.monotonic() < last
        time.sleep(0.02)
    return found
