"""Lossless tokens. Takes text, gives tokens whose joined text is the text again.

`grammars/cuda.lark` is the only description of a token. Lark reads and checks it; its terminals
are then compiled into one regular expression, because Lark's own loop, which also counts lines
and columns, is three times slower.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from lark import Lark

from cutune.core.source import Span

#: Kinds of token that the compiler does not see.
TRIVIA = frozenset({"SPACE", "NEWLINE", "LINE_COMMENT", "BLOCK_COMMENT", "BYTE_ORDER_MARK"})


class Token(NamedTuple):
    """A piece of text. `start` is its offset in the text that the user wrote."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset behind the last byte."""
        return self.start + len(self.text)

    @property
    def span(self) -> Span:
        """The bytes of the token."""
        return Span(self.start, self.end)


def lex(text: str, dropped: frozenset[str] = frozenset()) -> Iterator[Token]:
    """All tokens of the text, but for some kinds; white space, comments and directives included.

    Pieces are matched without asking of which kind they are, which is three times as fast, and
    the kind of each is looked up: most pieces occur again and again.
    """
    pieces, scanner = _pieces(), _scanner()
    kinds: dict[str, str] = {}
    known, create, start = kinds.get, tuple.__new__, 0
    for piece in map(re.Match.group, pieces.finditer(text)):
        kind = known(piece)
        if kind is None:
            match = scanner.match(text, start)
            assert match is not None
            kind = match.lastgroup or ""
            if "#" not in piece and kind != "BYTE_ORDER_MARK":
                # Anywhere else it would be of the same kind.
                kinds[piece] = kind
        if kind not in dropped:
            yield create(Token, (kind, piece, start))
        start += len(piece)


def lex_significant(text: str) -> list[Token]:
    """The tokens that the compiler sees, without directives."""
    return list(lex(text, TRIVIA | {"DIRECTIVE"}))


@cache
def _scanner() -> re.Pattern[str]:
    """Gives the kind of a token by the name of a group."""
    return re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _terminals()))


@cache
def _pieces() -> re.Pattern[str]:
    """Matches the same texts."""
    return re.compile("|".join(pattern for _, pattern in _terminals()))


@cache
def _terminals() -> Sequence[tuple[str, str]]:
    grammar = Lark.open_from_package(
        "cutune", "cuda.lark", ("grammars",), parser="lalr", lexer="basic", keep_all_tokens=True
    )
    terminals = sorted(grammar.terminals, key=lambda terminal: -terminal.priority)
    return [(terminal.name, terminal.pattern.to_regexp()) for terminal in terminals]
