"""Reading of sources. Takes a path, gives a `Source`."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, meant
from cutune.core.source import Source, Span

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
_SPLICE = r"\\\r?\n"
_LETTER = r"[A-Za-z_$\x80-\xff]"
#: A letter that is written by its number.
_NUMBERED = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_WORD = rf"(?:{_LETTER}|{_NUMBERED})(?:{_LETTER}|\d|{_NUMBERED}|{_SPLICE}(?=\w))*"
#: Perhaps a word goes on behind the end of a line, a bracket is two signs, or a letter a number.
_OTHER_SPELLING = re.compile(rf"<[%:]|%[:>]|:>|\w{_SPLICE}\w|\\[uU][0-9A-Fa-f]{{4}}")
_SIGNS = {"<%": "{", "%>": "}", "<:": "[", ":>": "]", "%:": "#", "%:%:": "##"}
_SPELLINGS = re.compile(
    rf"""
      (?<!\w)(?:u8|u|U|L)?R"(?P<delimiter>[^()\\\s]{{0,16}})\([\s\S]*?(?:\)(?P=delimiter)"|\Z)
      | "(?:\\[\s\S]|[^"\\\n])*"?
      | (?P<word>{_WORD}|\d+(?:{_SPLICE}\w+)+)(?!["'])
      | \.?\d(?:'(?=\w)|[\w.])*
      | '(?:\\[\s\S]|[^'\\\n])*'?
      | /(?:{_SPLICE})?/(?:\\(?:\r?\n)?|[^\n\\])*
      | /(?:{_SPLICE})?\*[^*]*(?:\*(?!/)[^*]*)*
      | <<[<=]?
      | (?P<sign><::(?![:>])|::|<[%:]|%:(?:%:)?|%>|:>)""",
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
    if isinstance(error, FileNotFoundError) and path.is_symlink():
        return f"; it is a link to '{os.readlink(path)}'"
    if not isinstance(error, FileNotFoundError) or not path.parent.is_dir():
        return ""
    return meant(path.name, os.listdir(path.parent))


def read_source(path: str | Path) -> Source:
    r"""Read a source in which each line ends as the preprocessor sees it. Raises CT001.

    A lone carriage return becomes `\n`; blanks between a backslash and the end of a line go.
    Other spellings of brackets and letters are plain, and no word goes on in the next line.
    """
    if stat.S_ISFIFO(_mode(path)) or stat.S_ISCHR(_mode(path)):
        # The compiler reads it, too, and would find nothing left.
        reason = "it is no regular file; write its text to one, as app.cu"
        raise CutuneError.at(Code.UNREADABLE_FILE, path=path, reason=reason)
    source = read_file(path)
    written = _joined(_LONE_RETURN.sub("\n", source.text))
    text, respelled = spelled_plainly(written)
    return Source(source.path, text, written, respelled) if respelled else Source(source.path, text)


def _mode(path: str | Path) -> int:
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0  # reading it says why


def spelled_plainly(text: str) -> tuple[str, tuple[Span, ...]]:
    r"""The text with `{` for `<%`, letters for `\u00e4`, and words whole before the end of a line.

    It is as long as before. Also the places where it is another one.
    """
    if _OTHER_SPELLING.search(text) is None:
        return text, ()
    pieces, places, at = list[str](), list[Span](), 0
    for match in _SPELLINGS.finditer(text):
        word = match["word"] or match["sign"] or ""
        if match["word"] and "\\" in word:
            splices = "".join(re.findall(_SPLICE, word))
            plain = f"{re.sub(_NUMBERED, _letter, re.sub(_SPLICE, '', word))}{splices}"
        elif word in _SIGNS:
            plain = _SIGNS[word]
        else:
            continue
        pieces += [text[at : match.start()], plain.ljust(len(word))]
        at = match.end()
        places.append(Span(match.start(), at))
    return "".join([*pieces, text[at:]]), tuple(places)


def _letter(number: re.Match[str]) -> str:
    """The bytes of a letter, as they would be written."""
    code = int(number[0][2:], 16)
    return chr(code).encode("utf-8", "replace").decode("latin-1") if code < 0x110000 else number[0]


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
