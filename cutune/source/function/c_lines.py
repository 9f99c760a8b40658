"""pycparser's tokens from text that has one token per line. Takes text, gives its tokens.

pycparser's own scanner reads every line anew. Most lines here occur many times, so the tokens of
a line are remembered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from pycparser import CParser, c_ast
from pycparser.c_lexer import CLexer, Token
from pycparser.c_parser import ParseError

_PLACE = re.compile(r"[^:]*:\d+:")
_REMEMBERED = 50_000


def parse_lines(text: str) -> c_ast.FileAST:
    """The tree of C text in which no token and no comment goes over the end of a line.

    Raises:
        ParseError: what is not C; begins with `file:line:`.
    """
    parser = CParser(lexer=_LineLexer)
    try:
        return parser.parse(text)
    except ParseError as error:
        if _PLACE.match(str(error)):
            raise
        # Where the parser names no place, it has just read the token.
        raise ParseError(f":{parser.clex.last_line}:1{error}") from error


class _LineLexer(CLexer):  # type: ignore[misc]
    last_line = 0

    def input(self, text: str, filename: str = "") -> None:
        super().input(text, filename)
        self._tokens = self._read(text)

    def token(self) -> Token | None:
        return next(self._tokens, None)

    def _read(self, text: str) -> Iterator[Token]:
        for number, line in enumerate(text.split("\n"), 1):
            try:
                found = _line(line)
            except _NotC as error:
                message, column = error.args
                self.error_func(message, number, column)
                continue
            for kind, value, column in found:
                self.last_line = number
                # The parser changes what it is given.
                yield Token(kind, value, number, column, self.filename)


class _NotC(Exception):
    pass


@lru_cache(maxsize=_REMEMBERED)
def _line(text: str) -> tuple[tuple[str, str, int], ...]:
    lexer = CLexer(error_func=_refuse)
    lexer.input(text)
    return tuple((t.type, t.value, t.column) for t in iter(lexer.token, None))


def _refuse(message: str, line: int, column: int) -> None:
    raise _NotC(message, column)
