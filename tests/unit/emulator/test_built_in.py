"""Libraries that came with the package: used where they fit, and nowhere else."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from pathlib import Path

import pytest

from cutune.emulator import build as built_in
from cutune.emulator.build import MACHINE, machine_library


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the package that holds a library of these sources for this processor."""
    monkeypatch.setattr(built_in, "FOLDER", tmp_path)
    built_in._about.cache_clear()
    (tmp_path / f"lib{MACHINE}.so").write_bytes(b"")
    note(tmp_path)
    yield tmp_path
    built_in._about.cache_clear()


def note(folder: Path, **changes: str) -> None:
    about = {
        "processor": platform.machine(),
        "toolkit": "13.0",
        "sources": built_in.digest_of_sources(),
    }
    (folder / built_in.ABOUT).write_text(json.dumps(about | changes), encoding="utf-8")


def test_it_takes_the_place_of_what_would_be_built(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built_in, "_has", lambda features: True)
    monkeypatch.setenv("PATH", "")  # no compiler
    assert machine_library() == folder / f"lib{MACHINE}.so"
    assert built_in.built_in_library(MACHINE, "13.0.88") == folder / f"lib{MACHINE}.so"


@pytest.mark.parametrize("change", [{"processor": "pdp11"}, {"sources": "others"}])
def test_not_for_another_processor_or_other_sources(folder: Path, change: dict[str, str]) -> None:
    note(folder, **change)
    assert built_in.built_in_library(MACHINE) is None


def test_not_where_the_processor_lacks_something(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(built_in.NEEDED, platform.machine(), ("a feature of tomorrow",))
    assert built_in.built_in_library(MACHINE) is None


@pytest.mark.usefixtures("folder")
def test_not_for_another_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(built_in, "_has", lambda features: True)
    assert built_in.built_in_library(MACHINE, "12.9.1") is None
    assert built_in.built_in_library("another", "13.0.1") is None
