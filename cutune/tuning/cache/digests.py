"""Content as short texts. Takes files, folders and values, gives digests that tell them apart."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

#: Said of a file that cannot be read; no digest is like it.
MISSING = "missing"


def digest(*parts: str | bytes) -> str:
    """One for all parts, in their order."""
    found = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogateescape")
        found.update(b"%d\0" % len(data))
        found.update(data)
    return found.hexdigest()


def file_digest(path: str | Path) -> str:
    """The content of a file."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return MISSING


def text_of(path: str | Path) -> str:
    """All bytes of a file, as `write_text` writes them.

    Raises:
        OSError: it cannot be read.
    """
    return Path(path).read_bytes().decode("latin-1")


def files_digest(paths: Iterable[str | Path]) -> str:
    """The names and contents of some files."""
    parts = [part for path in paths for part in (os.fspath(path), file_digest(path))]
    return digest(*parts)


def tree_files(folder: Path, suffixes: tuple[str, ...] = ()) -> list[str]:
    """All files below a folder, or those with such endings, in one order everywhere."""
    found = [
        os.path.join(place, name)
        for place, folders, names in os.walk(folder, followlinks=True)
        for name in names
        if not suffixes or name.endswith(suffixes)
        if os.path.basename(place) != "__pycache__"
    ]
    return sorted(found)


def state(path: str | Path) -> str:
    """Device, inode, size and times of a file: they change whenever it is written or replaced."""
    try:
        about = os.stat(path)
    except OSError:
        return MISSING
    return f"{about.st_dev} {about.st_ino} {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}"


def states_digest(paths: Iterable[str | Path]) -> str:
    """The names and states of some files: for large ones, such as a compiler's."""
    return digest(*(part for path in paths for part in (os.fspath(path), state(path))))


def is_untouched_since(paths: Iterable[str | Path], nanoseconds: int) -> bool:
    """Was none of the files written or replaced since then? One that is missing may have been."""
    try:
        return all(os.stat(path).st_ctime_ns < nanoseconds for path in paths)
    except OSError:
        return False
