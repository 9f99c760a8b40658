"""Options and markers of the test suite."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from itertools import chain, groupby, islice
from pathlib import Path

import pytest

# Threads of linear algebra would wait for each other. Set before numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# What is expected is that of one GPU, whatever the machine has.
os.environ["CUTUNE_DEVICE"] = "h200"

from cutune.core.diagnostics import CutuneError
from cutune.start import collect_seldom
from cutune.toolchain.nvcc import find_nvcc
from tests.support.short_headers import (
    as_users_do,
    shared_folder,
    with_all_headers,
    with_short_headers,
)

# As the command does, whose verbs run in this process.
collect_seldom()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes what is found instead of comparing it; the diff is then read."""
    parser.addoption("--update-golden", action="store_true", help="rewrite expected outputs")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: a tenth of the time tests wait for what is to end."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_configure() -> None:
    """Workers find what one of them has made."""
    shared_folder()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Where all tests are collected, each worker loads a share of them first.

    The others then find these modules compiled, with what pytest writes into their assertions.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args != session.config.getini("testpaths"):
        return
    folder = Path(__file__).parent
    files = sorted(folder.rglob("test_*.py"))[int(worker["workerid"][2:]) :: worker["workercount"]]
    for path in files:
        # To collect it says what is wrong with it.
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(path.relative_to(folder.parent).with_suffix("").parts))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what the machine cannot run; several workers begin with what takes long."""
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        items[:] = _dealt(items, workers)
    missing = {
        "gpu": None if shutil.which("nvidia-smi") else "no GPU",
        "nvcc": None if _has_nvcc() else "no nvcc",
    }
    for item in items:
        for marker, reason in missing.items():
            if reason is not None and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    """What was collected stays: pytest would look for cycles in it at the end, several times."""
    gc.freeze()


def _dealt(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """The tests in another order: workers get equal parts of it, and take from others at the end.

    Each part begins with files whose tests compile, and ends with quick tests, so that all workers
    end together. What is taken from others is at the end of their parts: files whose tests share
    something come first of all, so that no two workers make it.
    """
    slow = [item for item in items if item.get_closest_marker("nvcc")]
    quick = (item for item in items if not item.get_closest_marker("nvcc"))
    parts: list[list[pytest.Item]] = [[] for _ in range(workers)]
    files = [[*file] for _, file in groupby(slow, lambda item: item.path)]
    for number, file in enumerate(sorted(files, key=_is_of_its_own)):
        parts[number % workers] += file
    left = len(items)
    for number, part in enumerate(parts):
        share = left // (workers - number)
        part.extend(islice(quick, max(0, share - len(part))))
        left -= len(part)
    return [*chain.from_iterable(parts), *quick]


def _is_of_its_own(file: list[pytest.Item]) -> bool:
    """Does each test of a file make all that it needs? Others have fixtures, or cached results."""
    tests = [item for item in file if isinstance(item, pytest.Function)]
    fixtures = {name for test in tests for name in test.fixturenames}
    defined = vars(tests[0].module) if tests else {}
    return fixtures.isdisjoint(defined) and not any(
        hasattr(one, "cache_info") and one.__module__ == defined["__name__"]
        for one in defined.values()
    )


def _has_nvcc() -> bool:
    try:
        find_nvcc()
    except CutuneError:
        return False
    return True


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Shall expected outputs be rewritten?"""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="module")
def short_headers() -> Iterator[None]:
    """Programs are compiled with the headers that they need."""
    with with_short_headers():
        yield


@pytest.fixture(scope="module")
def all_headers() -> Iterator[None]:
    """What few programs use is there: mathematics that is not included, textures, …"""
    with with_all_headers():
        yield


@pytest.fixture
def own_standard() -> Iterator[None]:
    """The standard of C++ that nvcc has by itself, and all headers."""
    with as_users_do():
        yield
