"""Temporary folders, the cache and full devices: what cannot be written is said, nothing stays."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cutune.core import temporary
from cutune.core.diagnostics import CutuneError
from cutune.core.temporary import named_folder
from cutune.toolchain.cache import cache_folder

HOLDS = """
from cutune.core.temporary import run_folder, temporary_folder
with temporary_folder() as folder:
    print(run_folder(), flush=True)
    input()
"""


def started(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that holds its folder until it is told to end."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS],
        env={**os.environ, "TMPDIR": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def ended(process: subprocess.Popen[str]) -> None:
    process.communicate("\n")


def test_folders_of_killed_processes_are_swept_and_others_stay(tmp_path: Path) -> None:
    killed, left = started(tmp_path)
    killed.kill()
    ended(killed)
    strange = tmp_path / "cutune-process-strange"
    strange.mkdir()
    alive, own = started(tmp_path)
    assert own.is_dir() and not left.exists() and strange.is_dir(), "it may be in the making"
    another, _ = started(tmp_path)
    assert own.is_dir()
    ended(another)
    ended(alive)
    assert list(tmp_path.iterdir()) == [strange]
    os.utime(strange, (0, 0))  # whoever made it was killed before it was marked
    ended(started(tmp_path)[0])
    assert list(tmp_path.iterdir()) == []


def test_no_folder_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    temporary._process_folder.cache_clear()
    monkeypatch.setattr(tempfile, "gettempdir", refuse)
    with pytest.raises(CutuneError) as caught:
        temporary.temporary_folder()
    assert caught.value.diagnostic.code.number == "CT020"


def test_a_cache_that_cannot_be_used_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "file").touch()
    (tmp_path / "open" / "cutune").mkdir(parents=True)
    (tmp_path / "open" / "cutune").chmod(0o777)
    for place in ("file", "open", "file/below"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / place))
        assert cache_folder().parent == tmp_path and os.access(cache_folder(), os.W_OK)
        assert "[CT021]" in capsys.readouterr().err
        cache_folder()
        assert not capsys.readouterr().err, "once is enough"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    assert cache_folder().parent == tmp_path
    monkeypatch.setenv("HOME", str(tmp_path / "new"))
    assert cache_folder() == tmp_path / "new" / ".cache" / "cutune"


@pytest.mark.long
@pytest.mark.parametrize("words", [["device", "h200"], ["inspect", "--json", "FILE"]])
def test_a_full_device(words: list[str], tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text("__global__ void k(int n) {}\n")
    words = [str(source) if word == "FILE" else word for word in words]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "cutune", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1 and "standard output" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


def test_a_named_folder_is_at_one_place_unless_it_is_in_use() -> None:
    with named_folder("copies") as first:
        (Path(first) / "app.cu").write_text("")
        with named_folder("copies") as other:
            assert other != first
            assert os.listdir(other) == []
        assert os.listdir(first) == ["app.cu"]
    with named_folder("copies") as again:
        assert again == first
        assert os.listdir(again) == []
    assert not os.path.exists(first)
