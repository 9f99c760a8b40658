"""Conditions on sizes and tunables, such as `N >= 2 * m`. Takes text, gives a test and C."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from lark import Tree

from cutune.frontend.block_range import value_of
from cutune.frontend.syntax.annotation import Expression, read_condition


def holds(where: str | None, values: Mapping[str, int]) -> bool:
    """Is the condition true? One that divides by zero is not."""
    if where is None:
        return True
    known = {name.replace("->", "."): Fraction(value) for name, value in values.items()}
    try:
        return bool(value_of(read_condition(where), known))
    except ZeroDivisionError:
        return False


def condition_c(where: str, name_of: Callable[[str], str]) -> str:
    """The condition as a C expression of doubles, which hold all sizes below 2^53 exactly."""
    return _text(read_condition(where), name_of)


def _text(tree: Expression, name_of: Callable[[str], str]) -> str:
    children = tree.children
    match tree.data:
        case "number":
            return f"{children[0]}.0"
        case "name":
            return f"(double){name_of(str(children[0]))}"
        case "call":
            return _call(str(children[0]), [_text(_tree(c), name_of) for c in children[1:]])
        case "condition" | "conjunction":
            joint = " || " if tree.data == "condition" else " && "
            return f"({joint.join(_text(_tree(child), name_of) for child in children)})"
    text = _text(_tree(children[0]), name_of)
    for sign, child in zip(children[1::2], children[2::2], strict=True):
        right = _text(_tree(child), name_of)
        text = f"fmod({text}, {right})" if sign == "%" else f"({text} {sign} {right})"
    return text


def _call(name: str, operands: list[str]) -> str:
    if name in ("ceil", "floor"):
        return f"{name}({operands[0]})"
    text = operands[0]
    for operand in operands[1:]:
        text = f"f{name}({text}, {operand})"
    return text


def _tree(child: object) -> Expression:
    assert isinstance(child, Tree)
    return child
