"""A project that was moved after it was tuned: its models are found where it is now."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cutune.core.workspace import Workspace
from cutune.tuning.nvcc.command import Command, names_of, read_settings, unit_key
from cutune.tuning.nvcc.driver import has_models
from cutune.tuning.nvcc.units import CompiledSource, known_unit, note_place

WORDS = ("-DN=4", "-c", "src/app.cu")


def tuned_at(project: Path) -> str:
    """Stands in for `cutune tune --make` there; gives the key of its source."""
    (project / "src").mkdir(parents=True)
    (project / "src" / "app.cu").touch()
    workspace = Workspace(project / ".cutune").create()
    note_place(workspace)
    note_place(workspace)
    command = Command.parse(WORDS)
    (source,) = command.sources
    key = unit_key(command, source, str(project / "src" / "app.cu"))
    own = workspace.folder / "units" / key
    own.mkdir(parents=True)
    (own / "models.json").touch()
    return key


def test_a_moved_project_keeps_its_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "first", tmp_path / "here" / "second"
    key = tuned_at(first)
    second.parent.mkdir()
    first.rename(second)
    monkeypatch.chdir(second)
    command = Command.parse(WORDS)
    (source,) = command.sources
    assert has_models(command, source, None)
    unit, workspace = known_unit(command, source, read_settings([])[0])
    assert (unit.key, workspace.folder.resolve()) == (key, second / ".cutune")
    known = [str(second / "src/app.cu"), str(first / "src/app.cu")]
    assert names_of("src/app.cu", ".cutune") == known
    # Another source, or the same with other macros, is not meant.
    for words in (("-DN=4", "-c", "app.cu"), ("-DN=5", "-c", "src/app.cu")):
        other = Command.parse(words)
        assert not has_models(other, other.sources[0], None)
    # What lies elsewhere was not moved with it.
    assert names_of(str(tmp_path / "app.cu"), ".cutune") == [str(tmp_path / "app.cu")]


def test_where_it_is_tuned_again_is_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned_at(tmp_path / "first")
    (tmp_path / "first").rename(tmp_path / "second")
    monkeypatch.chdir(tmp_path / "second")
    command = Command.parse(WORDS)
    (source,) = command.sources
    own = Workspace(Path(".cutune/units") / unit_key(command, source)).create()
    own.models.touch()
    unit, _ = known_unit(command, source, read_settings([])[0])
    assert unit.key == unit_key(command, source)


def test_sources_that_lend_kernels_are_moved_with_it(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / ".cutune").create()
    (workspace.folder / "places").write_text("/old/project\n")
    flags = ("-I/old/project/inc", "-I/usr/include")
    unit = CompiledSource("/old/project/a.cu", "/old/project/build", flags, "key")
    moved = unit.moved_to(workspace)
    assert moved.source == str(tmp_path / "a.cu")
    assert moved.folder == os.path.join(tmp_path, "build")
    assert moved.flags == (f"-I{tmp_path}/inc", "-I/usr/include")
    other = CompiledSource("a.cu", "/old/project2", ("-I/old/project",), "key")
    assert other.moved_to(workspace) == other
