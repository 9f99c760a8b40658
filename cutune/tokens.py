"""Lossless tokens. Takes text, gives tokens whose joined text is the text again.

`grammars/cuda.lark` is the only description of a token. Lark reads and checks it; its terminals
are then compiled into one regular expression, because Lark's own loop, which also counts lines
and columns, is three times slower.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from lark import Lark

from cutune.source import Span

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


def lex(text: str) -> Iterator[Token]:
    """All tokens of the text, white space, comments and directives included."""
    for match in _scanner().finditer(text):
        yield Token(match.lastgroup or "", match.group(), match.start())


def lex_significant(text: str) -> list[Token]:
    """The tokens that the compiler sees, without directives."""
    return [token for token in lex(text) if token.kind not in TRIVIA and token.kind != "DIRECTIVE"]


@cache
def _scanner() -> re.Pattern[str]:
    grammar = Lark.open_from_package(
        "cutune", "cuda.lark", ("grammars",), parser="lalr", lexer="basic", keep_all_tokens=True
    )
    terminals = sorted(grammar.terminals, key=lambda terminal: -terminal.priority)
    return re.compile("|".join(f"(?P<{t.name}>{t.pattern.to_regexp()})" for t in terminals))
