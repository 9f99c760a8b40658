"""Temporary folders. Gives folders that do not outlive their process for long.

All of a process lie in one folder, which it holds locked: whoever comes next removes those of dead
processes. What nvcc leaves behind when it is killed lies there, too.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError

_LOCK = Lock()
_PREFIX, _MARKER = "cutune-process-", "alive"
#: Seconds after which nobody will mark a folder any more.
_UNMARKED = 3600.0


@dataclass(frozen=True)
class _ProcessFolder:
    path: Path
    marker: int
    pid: int

    def remove(self) -> None:
        # Not where it is that of the process which this one was forked from.
        if self.pid == os.getpid():
            shutil.rmtree(self.path, ignore_errors=True)


def run_folder() -> Path:
    """Return the folder of this process for all that is temporary. Raises CT020."""
    with _LOCK:
        if not _process_folder().path.is_dir():  # It was discarded, or swept before it was locked.
            _process_folder.cache_clear()
        return _process_folder().path


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a new folder that is removed behind the `with`. Raises CT020."""
    try:
        return tempfile.TemporaryDirectory(prefix="cutune-", dir=run_folder())
    except OSError as error:
        raise _no_folder(error) from error


@contextmanager
def named_folder(name: str) -> Iterator[str]:
    """Give a folder for a `with`, at one path for each name. Raises CT020.

    What is written there says the same of where it lies (`__FILE__`), so that it is known again.
    Where the folder is in use it is another one.
    """
    path = run_folder() / name
    try:
        path.mkdir()
    except FileExistsError:
        with temporary_folder() as other:
            yield other
        return
    except OSError as error:
        raise _no_folder(error) from error
    try:
        yield str(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def discard() -> None:
    """Remove the folder of this process, which is about to become another program."""
    if _process_folder.cache_info().currsize:
        _process_folder().remove()


@cache
def _process_folder() -> _ProcessFolder:
    try:
        parent = Path(tempfile.gettempdir())
        _sweep(parent)
        path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent)).absolute()
        # It stays open to the end of the process, which closes it.
        marker = os.open(path / _MARKER, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        fcntl.flock(marker, fcntl.LOCK_EX)
    except OSError as error:
        raise _no_folder(error) from error
    folder = _ProcessFolder(path, marker, os.getpid())
    atexit.register(folder.remove)
    return folder


def _sweep(parent: Path) -> None:
    """Remove what dead processes of this user left."""
    for path in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if path.is_symlink() or path.stat().st_uid != os.getuid():
                continue
            # Without a marker it is being made, or being removed; or whoever did that was killed.
            if not (path / _MARKER).exists() and time.time() - path.stat().st_mtime < _UNMARKED:
                continue
            with (path / _MARKER).open("a") as marker:
                fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)


def _no_folder(error: OSError) -> CutuneError:
    return CutuneError.at(Code.NO_TEMPORARY_FOLDER, reason=error.strerror or str(error))
