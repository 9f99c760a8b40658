"""Integer expressions of C, such as guard bounds: takes text, gives a rational program node."""

from __future__ import annotations

from functools import cache

from pycparser import c_ast, c_parser
from pycparser.c_parser import ParseError

from cutune.fit.rational.nodes import Expression, Reference, choice, expression, floor, less


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
        case c_ast.BinaryOp():
            return _binary(node.op, _convert(node.left), _convert(node.right))
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


def _binary(operator: str, left: Expression, right: Expression) -> Expression:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return floor(left / right)
        case "%":
            return left % right
        case "<":
            return less(left, right)
        case ">":
            return less(right, left)
    raise ValueError(operator)
