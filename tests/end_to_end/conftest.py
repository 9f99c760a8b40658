"""Tuned samples, which several tests look at."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from cutune.core.workspace import locked
from tests.end_to_end.tuning import STANDARD, Tuned, as_users_do, tune_sample


@pytest.fixture(scope="module", autouse=True)
def short_headers() -> Iterator[None]:
    """The standard of C++ unless another one is asked for.

    Most of what nvcc compiles are headers. Those of the standard that it has by itself are twice as
    long.
    """
    with patch.dict(os.environ, NVCC_PREPEND_FLAGS=STANDARD):
        yield


@pytest.fixture
def own_standard() -> Iterator[None]:
    """That of nvcc itself."""
    with as_users_do():
        yield


@pytest.fixture(scope="session")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    """The tuned source of a sample, made once for all workers; its folder is the workspace.

    Tests only read there.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def get(name: str) -> Path:
        folder = shared / f"tuned-{name}"
        folder.mkdir(exist_ok=True)
        source = folder / f"{name}.tuned.cu"
        with locked(folder / "lock"):
            if not source.exists():
                tune_sample(name, folder)
        return source

    return get
