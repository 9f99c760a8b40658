"""Options and markers of the test suite."""

from __future__ import annotations

import shutil

import pytest

from cutune.core.diagnostics import CutuneError
from cutune.toolchain.nvcc import find_nvcc


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes what is found instead of comparing it; the diff is then read."""
    parser.addoption("--update-golden", action="store_true", help="rewrite expected outputs")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what the machine cannot run."""
    missing = {
        "gpu": None if shutil.which("nvidia-smi") else "no GPU",
        "nvcc": None if _has_nvcc() else "no nvcc",
    }
    for item in items:
        for marker, reason in missing.items():
            if reason is not None and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


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
