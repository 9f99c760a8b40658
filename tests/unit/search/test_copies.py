"""Copies of a project: what is in them, and what a build takes for up to date."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.source import Source
from cutune.search import builds as copies
from cutune.search.builds import ProjectFolder

OLD = 1_000_000_000


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    """A source, a header, an object of an earlier build, and what does not belong to it."""
    root = tmp_path / "pro ject"
    for name in ("src/app.cu", "src/app.h", "app.o", "data.txt", "src/app.tuned.cu"):
        put(root / name, name)
    for name in (
        ".git/config",
        ".cutune/trials.jsonl",
        "src/app.tuned/app.h",
        "build/CMakeCache.txt",
    ):
        put(root / name, name)
    put(tmp_path / "outside.h", "outside")
    monkeypatch.chdir(root)
    return ProjectFolder.here(Path(".cutune"))


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (OLD, OLD))


def files_of(folder: Path) -> set[str]:
    found = (path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
    return {str(path.relative_to(folder)) for path in found}


def test_a_copy_holds_what_a_build_of_the_project_finds(
    project: ProjectFolder, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    project.copy(copy, {Path("src/app.h"): Source("src/app.h", "written")})
    assert files_of(copy) == {"src/app.cu", "src/app.h", "app.o", "data.txt"}
    assert (copy / "src/app.h").read_text() == "written"
    assert Path("src/app.h").read_text() == "src/app.h"


def test_sources_of_a_copy_are_newer_than_what_was_made_of_them(
    project: ProjectFolder, tmp_path: Path
) -> None:
    project.copy(tmp_path / "copy", {})
    times = {name: (tmp_path / "copy" / name).stat().st_mtime for name in ("src/app.cu", "app.o")}
    assert times["app.o"] == OLD < times["src/app.cu"]


def test_what_an_earlier_copy_held_is_gone(project: ProjectFolder, tmp_path: Path) -> None:
    put(tmp_path / "copy" / "left.o", "left")
    project.copy(tmp_path / "copy", {})
    assert "left.o" not in files_of(tmp_path / "copy")


def test_links_lead_into_the_copy_or_stay_what_they_were(
    project: ProjectFolder, tmp_path: Path
) -> None:
    """A build that compiled the original through a link would run without hooks."""
    Path("near.cu").symlink_to("src/app.cu")
    Path("far.cu").symlink_to(project.root / "src" / "app.cu")
    Path("src/outside.h").symlink_to("../../outside.h")
    Path("folder").symlink_to("src")
    Path("nothing").symlink_to("missing")
    copy = tmp_path / "copy"
    project.copy(copy, {Path("src/app.cu"): Source("src/app.cu", "written")})
    for name in ("near.cu", "far.cu", "folder/app.cu"):
        assert (copy / name).read_text() == "written"
    assert (copy / "src/outside.h").read_text() == "outside"
    assert (copy / "nothing").is_symlink() and not (copy / "nothing").exists()


def test_a_script_that_is_written_again_stays_one(project: ProjectFolder, tmp_path: Path) -> None:
    Path("src/app.cu").chmod(0o755)
    project.copy(tmp_path / "copy", {Path("src/app.cu"): Source("src/app.cu", "written")})
    assert (tmp_path / "copy" / "src/app.cu").stat().st_mode & 0o777 == 0o755


def test_its_state_is_that_of_its_sources(project: ProjectFolder) -> None:
    before = project.state
    put(Path("app.o"), "another object")
    put(Path("src/app.tuned.cu"), "tuned again")
    assert project.state == before
    put(Path("src/app.h"), "another header")
    changed = project.state
    assert changed != before
    Path("Makefile").write_text("app:")
    assert project.state not in (before, changed)


def test_places_are_those_of_copied_files(project: ProjectFolder) -> None:
    assert project.place("src/app.cu") == Path("src/app.cu")
    assert project.place(str(project.root / "src" / ".." / "app.o")) == Path("app.o")
    assert project.place("../outside.h") is None
    assert project.place(".cutune/trials.jsonl") is None


@pytest.mark.parametrize("workspace", [".", "..", "/nowhere/else"])
def test_a_workspace_may_hold_the_project(
    project: ProjectFolder, workspace: str, tmp_path: Path
) -> None:
    put(project.root / "builds" / "own" / "app.cu", "a build")
    found = ProjectFolder.here(Path(workspace))
    found.copy(tmp_path / "copy", {})
    held = files_of(tmp_path / "copy")
    assert "src/app.cu" in held
    assert ("builds/own/app.cu" in held) == (workspace != ".")


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [("MOST_FILES", 2, "more than 2 files"), ("MOST_BYTES", 8, "more than 1 GiB")],
)
def test_a_folder_above_many_projects_is_not_copied(
    project: ProjectFolder, limit: str, value: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, limit, value)
    with pytest.raises(CutuneError) as caught:
        ProjectFolder.here(Path(".cutune"))
    assert caught.value.diagnostic.code is Code.LARGE_PROJECT
    assert said in caught.value.diagnostic.message and str(project.root) in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_read_is_named(project: ProjectFolder, tmp_path: Path) -> None:
    Path("data.txt").chmod(0)
    with pytest.raises(CutuneError) as caught:
        project.copy(tmp_path / "copy", {})
    assert caught.value.diagnostic.code is Code.UNREADABLE_FILE
    assert str(project.root / "data.txt") in caught.value.diagnostic.message
