"""Tuned samples, which several tests look at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cutune.core.workspace import locked
from tests.support.cutune_runs import Tuned, tune_sample


@pytest.fixture(scope="module", autouse=True)
def quick_to_compile(short_headers: None) -> None:
    """Most of what nvcc compiles in a small program are headers."""


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
