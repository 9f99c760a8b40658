"""Lossless tokens. Takes text, gives tokens whose joined text is the text again.

`grammars/cuda.lark` is the only description of a token. Lark reads and checks it; its terminals
are then compiled into one regular expression, because Lark's own loop, which also counts lines
and columns, is three times slower.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from functools import cache, partial
from itertools import accumulate, compress
from typing import NamedTuple

from lark import Lark

from cutune.core.source import Span

#: Kinds of token that the compiler does not see.
TRIVIA = frozenset({"SPACE", "NEWLINE", "LINE_COMMENT", "BLOCK_COMMENT", "BYTE_ORDER_MARK"})

BYTE_ORDER_MARK = "\xef\xbb\xbf"
#: Names that are no prefix of a literal and no byte order mark; brackets and such; blanks that no
#: directive begins with.
_QUICK = (
    r"(?!\A\xef)[A-Za-z_$\x80-\xff][A-Za-z0-9_$\x80-\xff]*+(?![\"'])",
    r"[(){}\[\];,~?]",
    r"[ \t]++(?![ \t\r\f\v\\#%/])",
)
#: One line break at most: many before a directive would be looked at again from each of them.
_QUICK_WITHOUT_BLANKS = (*_QUICK, r"\n[ \t]*+(?![\r\f\v\\#%/])")


class Token(NamedTuple):
    """A piece of text. `start` is its offset in the text that the user wrote."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


def lex(text: str, dropped: frozenset[str] = frozenset()) -> Iterator[Token]:
    """All tokens of the text, but for some kinds; white space, comments and directives included.

    The text is cut into pieces without asking of which kind they are, and the kind of each
    different piece is looked up once: most occur again and again.
    """
    has_raw = 'R"' in text
    pattern = _pieces(dropped >= {"SPACE", "NEWLINE"}, has_raw)
    # Without a group, which raw strings need, no match becomes an object of its own.
    groups = map(re.Match.group, pattern.finditer(text)) if has_raw else pattern.findall(text)
    pieces = list(groups)
    starts = list(accumulate(map(len, pieces), initial=0))
    kinds = {piece: _kind_at(piece, 0) for piece in {*pieces}}
    found = list(map(kinds.__getitem__, pieces))
    # Pieces whose kind is another one in another place.
    unclear = {one for one in kinds if one in ("#", "##") or one.startswith(BYTE_ORDER_MARK)}
    for number, piece in enumerate(pieces if unclear else ()):
        if piece in unclear:
            found[number] = _kind_at(text, starts[number])
    parts = zip(found, pieces, starts, strict=False)
    return map(partial(tuple.__new__, Token), compress(parts, [k not in dropped for k in found]))


def lex_significant(text: str) -> list[Token]:
    """The tokens that the compiler sees, without directives."""
    return list(lex(text, TRIVIA | {"DIRECTIVE"}))


def _kind_at(text: str, start: int) -> str:
    match = _scanner().match(text, start)
    assert match is not None
    return match.lastgroup or ""


@cache
def _scanner() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _terminals()))


@cache
def _pieces(is_blank_dropped: bool, has_raw: bool) -> re.Pattern[str]:
    """Matches the same texts; what is most frequent is tried first, where it cannot be a part."""
    terminals = [pattern for name, pattern in _terminals() if has_raw or name != "RAW_STRING"]
    quick = _QUICK_WITHOUT_BLANKS if is_blank_dropped else _QUICK
    return re.compile("|".join([*quick, *terminals]))


@cache
def _terminals() -> Sequence[tuple[str, str]]:
    grammar = Lark.open_from_package(
        "cutune", "cuda.lark", ("grammars",), parser="lalr", lexer="basic", keep_all_tokens=True
    )
    terminals = sorted(grammar.terminals, key=lambda terminal: -terminal.priority)
    return [(terminal.name, terminal.pattern.to_regexp()) for terminal in terminals]


def begin_of(tokens: Sequence[Token], index: int, ends: Container[str] = (";", "{", "}")) -> int:
    """The first token of the statement or declaration that holds a token."""
    while index > 0 and tokens[index - 1].text not in ends:
        index -= 1
    return index


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())
