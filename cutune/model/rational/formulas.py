"""Formulas of integers in files, such as guard bounds. Takes C text and sizes, gives values."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache

from pycparser import c_ast, c_parser
from pycparser.c_parser import ParseError

from cutune.model.rational.program import (
    Expression,
    Reference,
    choice,
    expression,
    floor,
    less,
    parameters,
    value_of,
)


@cache
def parse_expression(text: str) -> Expression | None:
    """The expression, or None where it is not one of + - * / % ( ) ?: < over names and integers.

    Division truncates, as C's does for the positive operands that sizes are.
    """
    try:
        [declaration] = c_parser.CParser().parse(f"long long cutune_value = ({text});").ext
        return _convert(declaration.init)
    except (ParseError, AssertionError, AttributeError, ValueError, RecursionError):
        return None


def _convert(node: c_ast.Node) -> Expression:
    """The node as an expression; a ValueError where it is none of these."""
    match node:
        case c_ast.Constant() if "int" in node.type:
            return _number(node.value.rstrip("uUlL"))
        case c_ast.ID():
            return Reference(node.name)
        case c_ast.StructRef(type="."):
            inner = _convert(node.name)
            if isinstance(inner, Reference):
                return Reference(f"{inner.name}.{node.field.name}")
        case c_ast.Cast():
            return _convert(node.expr)
        case c_ast.UnaryOp(op="+"):
            return _convert(node.expr)
        case c_ast.UnaryOp(op="-"):
            return 0 - _convert(node.expr)
        case c_ast.BinaryOp() if node.op in _BINARY:
            return _BINARY[node.op](_convert(node.left), _convert(node.right))
        case c_ast.TernaryOp():
            return choice(*map(_convert, (node.cond, node.iftrue, node.iffalse)))
    raise ValueError(node)


def _number(text: str) -> Expression:
    """An integer of 64 bits; one that begins with 0 has 8 as its base."""
    is_octal = text.startswith("0") and text.isdecimal()
    value = int(text, 8 if is_octal else 0)
    if value >= 1 << 63:
        raise ValueError(text)
    return expression(value)


#: The operators of C on two operands.
_BINARY: Mapping[str, Callable[[Expression, Expression], Expression]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: floor(left / right),
    "%": operator.mod,
    "<": less,
    ">": lambda left, right: less(right, left),
}
_LARGEST = 1 << 62
_TIE = re.compile(
    r"(?P<open>\()?(?P<name>[^\s()+*/-]+)(?: (?P<sign>[+-]) (?P<added>\d{1,6}))?(?(open)\))"
    r"(?: / (?P<divisor>[1-9]\d{0,5})| \* (?P<factor>[1-9]\d{0,5}))?",
    re.ASCII,
)


def is_formula(text: str, names: Collection[str] | None = None) -> bool:
    """Is it a formula that can be read, of these names?"""
    expression = parse_expression(text)
    return expression is not None and (names is None or {*parameters(expression)} <= {*names})


def whole_value(text: str, values: Mapping[str, int]) -> int | None:
    """The integer that a formula is; None where it divides by 0, or is too large for 64 bits."""
    expression = parse_expression(text)
    value = math.nan if expression is None else value_of(expression, values)
    return int(value) if abs(value) < _LARGEST else None


def limited_value(text: str, values: Mapping[str, int]) -> int:
    """As `whole_value`, but 0 where it divides by 0, and the largest where it is too large."""
    expression = parse_expression(text)
    value = math.nan if expression is None else value_of(expression, values)
    return int(max(-_LARGEST, min(value, _LARGEST))) if math.isfinite(value) else 0


@dataclass(frozen=True)
class Tie:
    """The way a size follows from another: (factor * source + added) / divisor, truncated."""

    source: str
    factor: int
    added: int
    divisor: int


def tie_of(text: str, names: Collection[str]) -> Tie | None:
    """The tie that C text states: `(n + 1) / 2`, `n * 4`, `n - 1`; None: it states something else.

    Numbers are so small that no size below 2^32 makes more than 64 bits of it.
    """
    match = _TIE.fullmatch(text)
    if match is None or match["name"] not in names:
        return None
    has_both = match["added"] and (match["divisor"] or match["factor"])
    if bool(match["open"]) != bool(has_both) or (match["open"] and match["factor"]):
        return None
    added = int(f"{match['sign'] or '+'}{match['added'] or 0}")
    return Tie(match["name"], int(match["factor"] or 1), added, int(match["divisor"] or 1))
