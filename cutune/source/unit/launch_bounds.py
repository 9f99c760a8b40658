"""The largest block that a kernel was compiled for. Takes its declarations, gives a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from pycparser import CParser, c_ast
from pycparser.c_parser import ParseError

from cutune.source.syntax.tokens import Token
from cutune.source.unit.integers import literal_value
from cutune.source.unit.macros import Unexpandable
from cutune.source.unit.unit import Unit, split_commas

MAXIMAL_BLOCK = 1024
#: Where a limit is not understood (a template parameter): nearly every kernel allows a warp.
_UNKNOWN = 32
_NAMES = ("__launch_bounds__", "launch_bounds")
_SYMBOLS = frozenset("+-*/()")


@dataclass(frozen=True)
class LaunchBounds:
    """The limits of all kernels of a unit."""

    unit: Unit

    def of(self, name: str, head: Sequence[Token]) -> int:
        """The smallest limit in a kernel's definition and declarations."""
        limits = [_limit(head, index, self.unit) for index in _places(head)]
        return min([*limits, self._declared.get(name, MAXIMAL_BLOCK)])

    @cached_property
    def _declared(self) -> Mapping[str, int]:
        """By kernel: a declaration may have a limit that the definition does not repeat."""
        found: dict[str, int] = {}
        for part in self.unit.parts:
            tokens = part.syntax.tokens
            for index in _places(tokens):
                name = _name_behind(tokens, index)
                if name is not None:
                    limit = _limit(tokens, index, self.unit)
                    found[name] = min(limit, found.get(name, MAXIMAL_BLOCK))
        return found


def _places(tokens: Sequence[Token]) -> Iterator[int]:
    return (index for index, token in enumerate(tokens) if token.text in _NAMES)


def _name_behind(tokens: Sequence[Token], index: int) -> str | None:
    """NAME of bounds ")"* qualifier* NAME "("."""
    index += 1 + len(_closed(tokens[index + 1 : index + 100]))
    for token, following in pairwise(tokens[index : index + 20]):
        if token.kind == "IDENTIFIER" and following.text == "(" and token.text not in _NAMES:
            return token.text
        if token.text in (";", "{", "}"):
            return None
    return None


def _inside(tokens: Sequence[Token]) -> Sequence[Token]:
    """The tokens within all nested parentheses: the compiler's own attribute has three."""
    closed = _closed(tokens)
    while closed and closed[0].text == "(" and _closed(closed) == closed:
        closed = closed[1:-1]
    return closed


def _closed(tokens: Sequence[Token]) -> Sequence[Token]:
    depth = 0
    for index, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0:
            return tokens[: index + 1]
    return tokens


def _limit(tokens: Sequence[Token], index: int, unit: Unit) -> int:
    """bounds = "__launch_bounds__" "(" limit ("," NUMBER)* ")"."""
    arguments = split_commas(_inside(tokens[index + 1 : index + 100]))
    first = next(arguments, [])
    try:
        first = first if unit.is_expanded else unit.macros.expand(first)
    except Unexpandable:
        return _UNKNOWN
    known = unit.constants
    texts = [str(known[t.text][0]) if t.text in known else t.text for t in first]
    if not all(text in _SYMBOLS or literal_value(text) is not None for text in texts):
        return _UNKNOWN
    try:
        tree = CParser().parse(f"int limit = {' '.join(texts)};")
    except ParseError:
        return _UNKNOWN
    value = _value(tree.ext[0].init)
    return min(value, MAXIMAL_BLOCK) if value else _UNKNOWN


def _value(node: c_ast.Node) -> int | None:
    if isinstance(node, c_ast.Constant):
        return literal_value(node.value)
    if not isinstance(node, c_ast.BinaryOp):
        return None
    left, right = _value(node.left), _value(node.right)
    if left is None or right is None or left < 0 or right < 0 or (node.op == "/" and not right):
        return None
    return {"+": left + right, "-": left - right, "*": left * right}.get(
        node.op, left // right if node.op == "/" else None
    )
