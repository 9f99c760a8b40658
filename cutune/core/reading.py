"""Reading of sources. Takes a path, gives a `Source`."""

from __future__ import annotations

import os
import re
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, meant
from cutune.core.source import Source

#: Ends a line, and a comment with it, to the preprocessors of g++ and clang. Editors that take
#: `\r\n` for the end of a line write `\r\r\n`.
_LONE_RETURN = re.compile(r"\r(?!\n)")
#: A backslash continues its line for them also where blanks stand behind it.
_LOOSE = re.compile(r"\\[ \t\f\v\0]+(\r?\n)")
#: What may hold a `"` that begins nothing, and raw strings, in which such blanks are characters.
_WITH_LOOSE = re.compile(
    r"""
      (?P<raw>(?<!\w)(?:u8|u|U|L)?R"(?P<delimiter>[^()\\\s]{0,16})\([\s\S]*?(?:\)(?P=delimiter)"|\Z))
      | "(?:\\(?:[ \t\f\v\0]*\r?\n|[\s\S])|[^"\\\n])*"?
      | '\\?"'
      | //(?:\\(?:[ \t\f\v\0]*\r?\n)?|[^\n\\])*
      | /\*[^*]*(?:\*(?!/)[^*]*)*
      | \\[ \t\f\v\0]+\r?\n""",
    re.VERBOSE,
)


def read_file(path: str | Path) -> Source:
    """Read a file byte for byte. Raises CT001 when the file cannot be read."""
    try:
        return Source(str(path), Path(path).read_bytes().decode("latin-1"))
    except OSError as error:
        reason = f"{error.strerror or error}{_meant_file(error, Path(path))}"
        raise CutuneError.at(Code.UNREADABLE_FILE, path=path, reason=reason) from error


def _meant_file(error: OSError, path: Path) -> str:
    """What may be meant by a path that is no file."""
    if isinstance(error, IsADirectoryError):
        return "; name a file in it"
    if not isinstance(error, FileNotFoundError) or not path.parent.is_dir():
        return ""
    return meant(path.name, os.listdir(path.parent))


def read_source(path: str | Path) -> Source:
    r"""Read a source in which each line ends as the preprocessor sees it. Raises CT001.

    A lone carriage return becomes `\n`; blanks between a backslash and the end of a line go.
    """
    source = read_file(path)
    return Source(source.path, _joined(_LONE_RETURN.sub("\n", source.text)))


def readable_source(path: str | Path) -> Source | None:
    """Read a source as `read_source` does; None where it cannot be read."""
    try:
        return read_source(path)
    except CutuneError:
        return None


def _joined(text: str) -> str:
    if _LOOSE.search(text) is None:
        return text
    return _WITH_LOOSE.sub(lambda m: m[0] if m["raw"] else _LOOSE.sub(r"\\\1", m[0]), text)
