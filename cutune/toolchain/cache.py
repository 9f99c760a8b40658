"""The user's cache, where what compilers made is kept. Takes nothing, gives a folder."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.temporary import run_folder


def cache_folder() -> Path:
    """Where built libraries are kept; a temporary folder where it cannot be written."""
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
    said = Diagnostic.at(Code.CACHE_ELSEWHERE, None, path=wanted, reason=reason, other=other)
    print(said.render(), file=sys.stderr)
    return other


def _unusable_reason(folder: Path) -> str:
    """Why a folder cannot be ours; empty where it is."""
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
