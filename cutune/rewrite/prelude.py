"""Text before line 1 of a rewritten file. Takes a source, gives the edit that leaves its lines."""

from __future__ import annotations

import os
import re

from cutune.core.edits import Edit
from cutune.core.source import Source, Span

_BYTE_ORDER_MARK = "\xef\xbb\xbf"


def c_string(text: str) -> str:
    """A C string literal of the bytes of a text, which are those of latin-1 or, if need be, UTF-8.

    Of question marks no trigraph is made.
    """
    kept = text if all(c <= "\xff" for c in text) else text.encode().decode("latin-1")
    escaped = "".join(
        f"\\{c}" if c in '\\"?' else c if " " <= c <= "~" else f"\\{ord(c):03o}" for c in kept
    )
    return f'"{escaped}"'


def c_comment(text: str) -> str:
    """Text for people as part of a comment of C, which it neither ends nor continues."""
    return re.sub(r"[^ -~]|[\\?*]", "_", text)


def c_path(path: str) -> str:
    """A C string literal of a path; the bytes are those by which the file is found."""
    return c_string(os.fsencode(path).decode("latin-1"))


def prelude_edit(source: Source, text: str) -> Edit:
    """Put `text` before line 1 of the file, whose line numbers stay as they are for nvcc."""
    start = len(_BYTE_ORDER_MARK) if source.text.startswith(_BYTE_ORDER_MARK) else 0
    end = "\r\n" if "\r\n" in source.text else "\n"
    lines = [*text.splitlines(), f"#line 1 {c_path(source.path)}"]
    return Edit(Span(start, start), "".join(line + end for line in lines))
