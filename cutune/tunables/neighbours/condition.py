"""Conditions as C. Takes `N >= 2 * m`, gives an expression that is true where the condition is."""

from __future__ import annotations

from collections.abc import Callable

from cutune.frontend.syntax.annotation import Expression, read_condition
from cutune.space.condition import subtree


def condition_c(where: str, name_of: Callable[[str], str]) -> str:
    """Return a condition as a C expression of doubles, which hold sizes below 2^53 exactly."""
    return _text(read_condition(where), name_of)


def _text(tree: Expression, name_of: Callable[[str], str]) -> str:
    children = tree.children
    match tree.data:
        case "number":
            return f"{children[0]}.0"
        case "name":
            return f"(double){name_of(str(children[0]))}"
        case "call":
            return _call(str(children[0]), [_text(subtree(c), name_of) for c in children[1:]])
        case "condition" | "conjunction":
            joint = " || " if tree.data == "condition" else " && "
            return f"({joint.join(_text(subtree(child), name_of) for child in children)})"
        case "comparison":
            left, right = (_text(subtree(child), name_of) for child in children[::2])
            tests = [f"{divisor} != 0.0" for divisor in _divisors(tree, name_of)]
            return f"({' && '.join([*tests, f'({left} {children[1]} {right})'])})"
    text = _text(subtree(children[0]), name_of)
    for sign, child in zip(children[1::2], children[2::2], strict=True):
        right = _text(subtree(child), name_of)
        text = f"__builtin_fmod({text}, {right})" if sign == "%" else f"({text} {sign} {right})"
    return text


def _divisors(tree: Expression, name_of: Callable[[str], str]) -> list[str]:
    """Return the divisors of a comparison that may be 0: there not even `!=` is true."""
    found = [
        _text(subtree(divisor), name_of)
        for product in tree.find_data("term")
        for sign, divisor in zip(product.children[1::2], product.children[2::2], strict=True)
        if str(sign) != "*" and not _is_not_zero(subtree(divisor))
    ]
    return list(dict.fromkeys(found))


def _is_not_zero(tree: Expression) -> bool:
    return tree.data == "number" and int(str(tree.children[0])) != 0


def _call(name: str, operands: list[str]) -> str:
    if name in ("ceil", "floor"):
        return f"__builtin_{name}({operands[0]})"
    text = operands[0]
    for operand in operands[1:]:
        text = f"__builtin_f{name}({text}, {operand})"
    return text
