"""Reads sources. Takes a path, gives a `Source`."""

from __future__ import annotations

from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.source import Source


def read_source(path: str | Path) -> Source:
    """Read a file byte for byte.

    Raises:
        CutuneError: CT001 when the file cannot be read.
    """
    try:
        return Source(str(path), Path(path).read_bytes().decode("latin-1"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise CutuneError(
            Diagnostic.at(Code.UNREADABLE_FILE, None, path=path, reason=reason)
        ) from error
