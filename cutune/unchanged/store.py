"""Where results are kept: a document for each question, in the user's cache.

They hold text of programs, so that a workspace, which somebody else may have made, is no place for
them. The oldest go first.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from cutune.core.diagnostics import CutuneError
from cutune.core.workspace import Json, make_folder, read_typed, write_document
from cutune.toolchain.cache import cache_folder

SCHEMA = "cutune-kept-1"
T = TypeVar("T")


def found_in(kind: str, name: str, form: type[T]) -> T | None:
    """Read the document of a name; None without one.

    Raises:
        CutuneError: it cannot be read, or was kept by another version.
    """
    path = _place(kind, name)
    return read_typed(path, SCHEMA, form, "cutune tune") if path.exists() else None


def save_in(kind: str, name: str, document: Json, most: int) -> None:
    """Write a document; only the newest of its kind stay. An unwritable cache is no error."""
    try:
        path = _place(kind, name)
        make_folder(path.parent)
        write_document(path, SCHEMA, document, indent=None)
        found = sorted(path.parent.glob("*.json"), key=lambda one: one.stat().st_mtime_ns)
        for old in found[:-most]:
            old.unlink(missing_ok=True)
    except (CutuneError, OSError):
        return


def _place(kind: str, name: str) -> Path:
    return cache_folder() / kind / f"{name}.json"
