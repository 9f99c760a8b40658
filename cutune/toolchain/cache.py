"""The user's cache of compiled code. Gives its folder, and texts by keys."""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic, tell
from cutune.core.temporary import run_folder
from cutune.core.workspace import make_folder, replace_file, replacing

#: The oldest texts of a folder go where all of them are larger.
MOST_BYTES = 128 << 20
#: Whether they are is asked for one key in sixteen: there are thousands of them.
_ASKING = "0"


def cache_folder() -> Path:
    """The folder for built libraries; a temporary one where the user's cannot be written."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return _usable_cache(Path(root) / "cutune")


@cache
def _usable_cache(wanted: Path) -> Path:
    other = Path(tempfile.gettempdir()) / f"cutune-cache-{os.getuid()}"
    reason = _unusable_reason(wanted)
    if not reason:
        return wanted
    # A library that others can write would be theirs to run.
    if _unusable_reason(other):
        other = run_folder() / "cache"
        other.mkdir()
    said = Diagnostic.at(Code.CACHE_ELSEWHERE, path=wanted, reason=reason, other=other)
    tell(said)
    return other


def _unusable_reason(folder: Path) -> str:
    """Why cutune may not use a folder; empty where it may."""
    if not folder.is_absolute():
        return "there is no home folder"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = folder.stat()
    except OSError as error:
        return error.strerror or str(error)
    if about.st_uid != os.getuid():
        return "it is another user's"
    if about.st_mode & 0o002:
        return "anybody may write it"
    return "" if os.access(folder, os.W_OK | os.X_OK) else "it is not writable"


def key_of(*parts: str) -> str:
    """Hash texts, with their lengths: parts that are split in another way give another key."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogateescape")
        digest.update(b"%d\0" % len(data) + data)
    return digest.hexdigest()[:40]


def state_of(path: Path) -> str:
    """A text that changes whenever the file is written or replaced."""
    about = os.stat(path)
    return f"{path} {about.st_dev} {about.st_ino} {about.st_size} {about.st_mtime_ns}"


def kept_text(path: Path) -> str | None:
    """The text that is kept there, if any; reading renews it, as the oldest are removed first."""
    with suppress(OSError):
        text = path.read_bytes().decode("latin-1")
        os.utime(path)
        return text
    return None


def keep_text(path: Path, text: str, most_bytes: int | None = None) -> None:
    """Keep a text and remove the oldest beyond `MOST_BYTES`, where the cache can be written."""
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_bytes(text.encode("latin-1"))
        left = MOST_BYTES if most_bytes is None else most_bytes
        for one, size in _newest_first(path.parent) if path.name.startswith(_ASKING) else ():
            left -= size
            if left < 0:
                os.unlink(one)


def kept_whole(path: Path) -> str | None:
    """The text that `keep_whole` has kept there; None where there is none, or it is damaged."""
    check, _, text = (kept_text(path) or "").partition("\n")
    return text if check == key_of(text) else None


def keep_whole(path: Path, text: str) -> None:
    """Keep a text with a digest of it, so that a part of it is none."""
    keep_text(path, f"{key_of(text)}\n{text}")


def kept_file(name: str, text: str) -> Path:
    """A file of this content in the cache, at a path that is a function of the content."""
    path = cache_folder() / "generated" / hashlib.sha256(text.encode()).hexdigest()[:24] / name
    if not path.exists():
        make_folder(path.parent)
        replace_file(path, text.encode())
    return path


def _newest_first(folder: Path) -> list[tuple[str, int]]:
    files = []
    for entry in os.scandir(folder):
        with suppress(OSError):
            about = entry.stat()
            files.append((about.st_mtime_ns, entry.path, about.st_size))
    return [(path, size) for _, path, size in sorted(files, reverse=True)]
