"""Text of a program in another place. Takes C++ text, gives its tokens or its lines alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cutune.frontend.syntax.tokens import TRIVIA, Token, lex

_COMMENTS = frozenset({"LINE_COMMENT", "BLOCK_COMMENT"})
_CONTINUATION = re.compile(r"\\\r?\n")
#: A blank ends with the first byte of CR LF.
_LINE_END = re.compile(r"\\\r?\n|\n|\r\Z")
_RAW_STRING = re.compile(
    r"(?P<prefix>\w*)R\"(?P<delimiter>[^(]*)\((?P<text>.*)\)(?P=delimiter)\"", re.DOTALL
)


def _pieces(text: str) -> Iterator[Token]:
    """Tokens of a text within a line, in which no directive begins."""
    pieces = lex(f";{text}")
    next(pieces)
    return pieces


def one_line(text: str) -> str:
    """Write the tokens of a text on one line, without comments."""
    parts: list[str] = []
    for token in _pieces(text):
        if token.kind not in TRIVIA:
            parts.append(_literal(token) if "\n" in token.text else token.text)
        elif token.kind in _COMMENTS or _CONTINUATION.sub("", token.text):
            # A continuation alone stands in the middle of a token, perhaps.
            parts += [" "] if parts and parts[-1] != " " else []
    return "".join(parts).strip()


def _literal(token: Token) -> str:
    """Write a token of several lines on one; the lines of a raw string are characters of it."""
    raw = _RAW_STRING.fullmatch(token.text) if token.kind == "RAW_STRING" else None
    if raw is None:
        return _CONTINUATION.sub("", token.text)
    plain = re.sub(r'[\\"?]', r"\\\g<0>", raw["text"].replace("\r\n", "\n")).replace("\n", r"\n")
    return f'{raw["prefix"]}"{plain}"'


def line_structure(text: str) -> str:
    """Return the comments, continuations and line ends of a text, which stay when its tokens go."""
    parts: list[str] = []
    for token in _pieces(text):
        if token.kind == "RAW_STRING":
            parts.append("\n" * token.text.count("\n"))
        elif token.kind in _COMMENTS:
            parts.append(f" {token.text}")
        else:
            parts += (f" {end}" if end[0] == "\\" else end for end in _LINE_END.findall(token.text))
    return "".join(parts)
