"""A plugin of pytest for mutants: finds which functions a test reaches, and tests one mutant each.

Takes what `benchmarks.mutants` says in the environment, gives lines of JSON in a file. Mutants are
told apart by mutmut, in whose code every function asks which one of its versions is to be called.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from mutmut.configuration import config as mutmut_config
from mutmut.mutation import trampoline
from mutmut.state import state

#: A mutant that allocates for ever does not take the machine with it.
MOST_BYTES = 6 << 30
#: Tests of a mutant take at most this many seconds where nothing is mutated.
MOST_SECONDS = 15.0
ORIGINAL = ""


def pytest_configure(config: pytest.Config) -> None:
    """Register what is asked for; workers of xdist look at the same environment."""
    mutmut_config()  # reads the folder that it is in; tests leave it
    if folder := os.environ.get("CUTUNE_REACHED"):
        config.pluginmanager.register(Reached(Path(folder)))
    elif task := os.environ.get("CUTUNE_MUTANTS"):
        config.pluginmanager.register(Mutants(json.loads(Path(task).read_text())))


class Reached:
    """Writes what functions each test calls, how long it takes, and whether it passes."""

    def __init__(self, folder: Path) -> None:
        name = os.environ.get("PYTEST_XDIST_WORKER", "main")
        self.file = (folder / f"{name}.jsonl").open("a")
        self.passed = True
        self.modules = 0
        self.caches: list[functools._lru_cache_wrapper[object]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        # Processes that a test starts are not to note what they call.
        trampoline._mutant_under_test = "stats"
        self.forget()
        state()._stats.clear()
        self.passed = True
        began = _processor_seconds()
        result = yield
        line = {
            "test": item.nodeid,
            "seconds": _processor_seconds() - began,
            "passed": self.passed,
            "reached": sorted(state()._stats),
        }
        print(json.dumps(line), file=self.file, flush=True)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed = self.passed and not report.failed

    def forget(self) -> None:
        """A test reaches what it needs by itself, also where an earlier one has had the result."""
        if len(sys.modules) != self.modules:
            self.modules = len(sys.modules)
            self.caches = [
                found
                for found in gc.get_objects()
                if isinstance(found, functools._lru_cache_wrapper)
                and found.__module__.partition(".")[0] in ("cutune", "tests", "benchmarks")
            ]
        for cache in self.caches:
            cache.cache_clear()


def _processor_seconds() -> float:
    """Those of this process and of what it has started: others may keep the machine busy."""
    return sum(os.times()[:4])


def module_of(mutant: str) -> str:
    """The module that it is in."""
    return mutant.partition(".x")[0]


@dataclass(frozen=True)
class Running:
    """A process that tests a mutant."""

    mutant: str
    tests: tuple[str, ...]
    began: float
    until: float
    folder: Path


class Mutants:
    """Tests mutants in processes of this one, which has imported everything."""

    def __init__(self, task: Mapping[str, object]) -> None:
        self.tests: dict[str, list[str]] = dict(task["tests"])  # type: ignore[call-overload]
        self.seconds: dict[str, float] = dict(task["seconds"])  # type: ignore[call-overload]
        self.workers = int(str(task["workers"]))
        self.until = time.time() + float(str(task["limit"]))
        self.results = os.open(str(task["results"]), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.folder = Path(tempfile.mkdtemp(prefix="mutants-"))
        self.running: dict[int, Running] = {}
        #: Which tests have killed mutants: of a module, and of all.
        self.kills: dict[str, Counter[str]] = defaultdict(Counter)
        self.looked = time.time()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Test all mutants in their order, then whether the tests that killed some pass alone."""
        items = {item.nodeid: item for item in session.items}
        gc.collect()
        gc.freeze()
        for mutant, tests in self.tests.items():
            if time.time() > self.until:
                break
            self.wait_for(self.workers - 1)
            known = [test for test in tests if test in items]
            self.start(session, mutant, [items[test] for test in self.chosen(mutant, known)])
        self.wait_for(0)
        for test in sorted(self.kills[ORIGINAL]):
            self.wait_for(self.workers - 1)
            self.start(session, ORIGINAL, [items[test]])
        self.wait_for(0)
        shutil.rmtree(self.folder, ignore_errors=True)
        return True

    def chosen(self, mutant: str, tests: Sequence[str]) -> Iterator[str]:
        """Those first that have killed mutants of its module, then the quickest, while there is
        time."""
        kills = self.kills[module_of(mutant)]
        left = MOST_SECONDS
        for test in sorted(tests, key=lambda test: (-kills[test], self.seconds[test])):
            left -= self.seconds[test]
            if left > 0:
                yield test

    def start(self, session: pytest.Session, mutant: str, items: Sequence[pytest.Item]) -> None:
        if not items:
            self.write(mutant, "no tests", 0.0)
            return
        expected = sum(self.seconds[item.nodeid] for item in items)
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        began = time.time()
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if not process:
            # Of the processor: other processes may keep it busy.
            seconds = int(10 + 3 * expected)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            self.test(session, mutant, items, folder)
        tests = tuple(item.nodeid for item in items)
        until = began + 60 + 10 * expected
        self.running[process] = Running(mutant, tests, began, until, folder)

    def wait_for(self, most: int) -> None:
        """Until at most so many processes are left."""
        while len(self.running) > most:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process in self.running:
                self.ended(self.running.pop(process), os.waitstatus_to_exitcode(status))
                continue
            self.end_endless()
            time.sleep(0.005)

    def end_endless(self) -> None:
        """Processes that take too long, or too much."""
        if time.time() < self.looked + 0.5:
            return
        self.looked = time.time()
        for process, running in self.running.items():
            pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
            if time.time() > running.until or pages * resource.getpagesize() > MOST_BYTES:
                with suppress(ProcessLookupError):
                    os.killpg(process, signal.SIGKILL)

    def ended(self, running: Running, code: int) -> None:
        """A process leaves in its folder the name of a test that failed."""
        shutil.rmtree(running.folder / "basetemp", ignore_errors=True)
        killer = None
        failed = running.folder / "failed"
        if failed.exists():
            status, killer = "killed", failed.read_text()
        elif code == 0:
            status = "survived"
        elif code in (-signal.SIGKILL, -signal.SIGXCPU):
            status = "timeout"
        else:
            status = f"killed by status {code}"
        if killer is not None and running.mutant != ORIGINAL:
            self.kills[module_of(running.mutant)][killer] += 1
            self.kills[ORIGINAL][killer] += 1
        self.write(
            running.mutant, status, time.time() - running.began, len(running.tests), killer,
            running.tests[0] if running.mutant == ORIGINAL else None,
        )  # fmt: skip

    def write(
        self,
        mutant: str,
        status: str,
        seconds: float,
        tests: int = 0,
        killer: str | None = None,
        control: str | None = None,
    ) -> None:
        line = {
            "mutant": mutant,
            "status": status,
            "seconds": round(seconds, 3),
            "tests": tests,
            "killer": killer,
            "control": control,
        }
        os.write(self.results, (json.dumps(line) + "\n").encode())

    def test(
        self, session: pytest.Session, mutant: str, items: Sequence[pytest.Item], folder: Path
    ) -> None:
        """In the process: run tests until one fails."""
        try:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nothing, descriptor)
            trampoline.set_mutant_under_test(mutant)
            session.config._tmp_path_factory._given_basetemp = folder / "basetemp"  # type: ignore[attr-defined]
            already = session.testsfailed  # by files that could not be read
            for item, following in zip(items, [*items[1:], None], strict=True):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.testsfailed > already:
                    (folder / "failed").write_text(item.nodeid)
                    break
        except BaseException:
            os._exit(9)
        os._exit(0)
