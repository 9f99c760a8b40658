"""C++ of cutune's own in little space. Takes readable text, gives tokens, and tokens as text.

What `cutune/include` holds is copied into every tuned program: without comments, without
declarations that nothing needs, with short names for variables, and with fewer tokens. Lines are
filled up to `WIDTH` columns; a preprocessor line stays a line of its own.

Variables are renamed that are linked nowhere: parameters, local variables and members with data.
Functions, types and what is static keep their names, so that several sources of one program share
them. Declarations are left out that have a name of cutune's: functions that are inline or static,
structures, and aliases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

WIDTH = 160

#: Literals first: what looks like a comment in them is none, and the other way round.
_RAW = r'\b(?:u8|[uUL])?R"(?P<delimiter>[^\s()\\]{0,16})\((?:.|\n)*?\)(?P=delimiter)"'
_STRING = r'"(?:\\(?:.|\n)|[^"\\\n])*"'
_CHARACTER = r"'(?:\\(?:.|\n)|[^'\\\n])*'"
_NUMBER = r"\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*"
_SPLICE = r"\\[ \t]*\n"
_COMMENT = r"//(?:\\[ \t]*\n|.)*|/\*(?:.|\n)*?\*/"
_UNJOINED = re.compile(
    rf"(?P<raw>{_RAW})|(?P<literal>{_STRING}|\b{_NUMBER}|{_CHARACTER})|(?P<comment>{_COMMENT})"
    rf"|{_SPLICE}"
)
_WORD = re.compile(r"[A-Za-z_0-9$\x80-\U0010ffff]")
_PUNCTUATOR = (
    r"%:%:|\.\.\.|<<=|>>=|->\*|<=>|::|\.\*|->|\+\+|--|<<|>>|[-+*/%&|^=!<>]=|&&|\|\||##"
    r"|<:|:>|<%|%>|%:|."
)
_TOKEN = re.compile(
    rf"(?P<blank>[ \t\f\v\r]+)|(?P<line>\n)|{_RAW}|(?:\b(?:u8|[uUL]))?(?:{_STRING}|{_CHARACTER})"
    rf"|{_NUMBER}|[A-Za-z_$\x80-\U0010ffff][\w$]*|{_PUNCTUATOR}"
)


class CppToken(NamedTuple):
    """A token of C++, or a preprocessor line as a whole."""

    text: str
    is_directive: bool = False


def packed_text(tokens: Iterable[CppToken]) -> str:
    """Write tokens as text, in filled lines, that is read as these tokens again."""
    return "".join(f"{line}\n" for line in _lines(tokens))


def cpp_tokens(text: str) -> list[CppToken]:
    """Return the tokens of C++ text, without its comments."""
    return list(_tokens(_without_comments(text)))


def _without_comments(text: str) -> str:
    """Comments are blanks, and spliced lines one line."""

    def replacement(found: re.Match[str]) -> str:
        if found["raw"] is not None:
            return found[0]
        if found["literal"] is not None:
            return re.sub(_SPLICE, "", found[0])
        return " " if found["comment"] is not None else ""

    return _UNJOINED.sub(replacement, text)


def _tokens(text: str) -> Iterator[CppToken]:
    line_begins, place = True, 0
    while found := _TOKEN.match(text, place):
        place = found.end()
        if found["line"] is not None:
            line_begins = True
        elif found["blank"] is None:
            if line_begins and found[0] in ("#", "%:"):
                directive, place = _directive(text, found.start())
                yield CppToken(directive, is_directive=True)
                continue
            line_begins = False
            yield CppToken(found[0])


def _directive(text: str, start: int) -> tuple[str, int]:
    """A preprocessor line, blanks outside of literals reduced to one, and where it ends."""
    parts: list[str] = []
    place = start
    while (found := _TOKEN.match(text, place)) and found["line"] is None:
        parts.append(" " if found["blank"] is not None else found[0])
        place = found.end()
    return "".join(parts).strip(), place


def _lines(tokens: Iterable[CppToken]) -> Iterator[str]:
    line, last = "", ""
    for token, is_directive in tokens:
        if is_directive:
            yield from filter(None, (line, token))
            line, last = "", ""
            continue
        blank = " " if last and _needs_blank(last, token) else ""
        if line and len(line) + len(blank) + len(token) > WIDTH:
            yield line
            line, blank = "", ""
        line, last = line + blank + token, token
    if line:
        yield line


def _needs_blank(left: str, right: str) -> bool:
    """Would two tokens be read as others if nothing stood between them?"""
    if left[-1] in "\"'" or right[0] in "\"'":
        # A word is a prefix or a suffix of the literal that it touches.
        return any(_WORD.match(character) for character in (left[-1], right[0]))
    # `[[` begins an attribute, `??=` is another character, and there are no comments left.
    if left[-1] + right[0] in ("[[", "??", "//", "/*"):
        return True
    found = _TOKEN.match(left + right)
    return found is None or found[0] != left
