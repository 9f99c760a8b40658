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
        tree = c_parser.CParser().parse(f"long long cutune_value = ({text});")
        declaration = tree.ext[0] if len(tree.ext) == 1 else None
        return _convert(declaration.init) if isinstance(declaration, c_ast.Decl) else None
    except (ParseError, AssertionError, AttributeError, ValueError, RecursionError):
        return None


def _convert(node: c_ast.Node) -> Expression | None:
    if isinstance(node, c_ast.Constant) and "int" in node.type:
        return _number(node.value.rstrip("uUlL"))
    if isinstance(node, c_ast.ID):
        return Reference(node.name)
    if isinstance(node, c_ast.StructRef) and node.type == ".":
        inner = _convert(node.name)
        return (
            Reference(f"{inner.name}.{node.field.name}") if isinstance(inner, Reference) else None
        )
    if isinstance(node, c_ast.Cast):
        return _convert(node.expr)
    if isinstance(node, c_ast.UnaryOp) and node.op in "+-":
        operand = _convert(node.expr)
        if operand is None:
            return None
        return operand if node.op == "+" else 0 - operand
    if isinstance(node, c_ast.BinaryOp):
        left, right = _convert(node.left), _convert(node.right)
        if left is None or right is None:
            return None
        return _binary(node.op, left, right)
    if isinstance(node, c_ast.TernaryOp):
        parts = [_convert(part) for part in (node.cond, node.iftrue, node.iffalse)]
        condition, if_true, if_false = parts
        if condition is not None and if_true is not None and if_false is not None:
            return choice(condition, if_true, if_false)
    return None


def _number(text: str) -> Expression | None:
    """An integer of 64 bits; one that begins with 0 has 8 as its base."""
    is_octal = text.startswith("0") and text.isdecimal()
    value = int(text, 8 if is_octal else 0)
    return expression(value) if value < 1 << 63 else None


def _binary(operator: str, left: Expression, right: Expression) -> Expression | None:
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
    return None
