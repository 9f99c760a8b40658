"""Reads sources. Takes a path, gives a `Source`."""

from __future__ import annotations

import re
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.source import Source

#: Ends a line, and a comment with it, to the preprocessors of g++ and clang. Editors that take
#: `\r\n` for the end of a line write `\r\r\n`.
_LONE_RETURN = re.compile(r"\r(?!\n)")


def read_source(path: str | Path) -> Source:
    """Read a file, byte for byte but for carriage returns that end a line alone: `\n` stands there.

    Raises:
        CutuneError: CT001 when the file cannot be read.
    """
    try:
        text = Path(path).read_bytes().decode("latin-1")
    except OSError as error:
        reason = error.strerror or str(error)
        raise CutuneError(
            Diagnostic.at(Code.UNREADABLE_FILE, None, path=path, reason=reason)
        ) from error
    return Source(str(path), _LONE_RETURN.sub("\n", text))
