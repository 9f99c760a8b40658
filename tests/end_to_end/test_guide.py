"""The user guide does what it says: every command of its pages, on the emulated device.

The pages share what the quick start has tuned: each one gets a copy of it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cutune.core.workspace import locked
from tests.support import guide_commands
from tests.support.short_headers import as_users_do

pytestmark = pytest.mark.nvcc


@pytest.fixture(scope="session")
def quick_start(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder behind the quick start: made once for all workers."""
    shared = tmp_path_factory.getbasetemp()
    folder = (shared if worker_id == "master" else shared.parent) / "quick start"
    folder.mkdir(exist_ok=True)
    with locked(folder / "lock"):
        if not (folder / "done").exists():
            with as_users_do():
                guide_commands.run_page(guide_commands.QUICK_START, folder)
            (folder / "done").touch()
    return folder


@pytest.mark.long
def test_quick_start(quick_start: Path) -> None:
    assert "cutune_select_row_sums" in (quick_start / "app.tuned.cu").read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize("page", guide_commands.OTHERS, ids=lambda page: page.stem)
def test_page(page: Path, quick_start: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(quick_start, folder)
    # Models are those of a source at a place.
    for file in (folder / ".cutune").glob("*.json*"):
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(str(quick_start), str(folder)), encoding="utf-8")
    guide_commands.run_page(page, folder)
