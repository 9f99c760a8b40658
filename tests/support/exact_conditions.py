"""The worth of one expression for one value of each name, by Python's fractions alone.

What `cutune.space.columns` computes for many rows at once, written a second time.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from cutune.space.annotation import Condition, Expression, Value, subtree

#: What an expression is worth; None where it has no value.
Worth = Fraction | str | None

COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
OPERATIONS: Mapping[str, Callable[[Fraction, Fraction], Fraction | int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": lambda base, exponent: base ** int(exponent),
}
FUNCTIONS: Mapping[str, Callable[[Sequence[Fraction]], Fraction]] = {
    "ceil": lambda numbers: Fraction(-(-numbers[0] // 1)),
    "floor": lambda numbers: Fraction(numbers[0] // 1),
    "abs": lambda numbers: abs(numbers[0]),
    "min": min,
    "max": max,
}
#: Exponents of `**`; with others it has no value.
EXPONENTS = range(65)


def holds(condition: Condition, values: Mapping[str, Value]) -> bool:
    """Is it true of these values? A name that has none is a word."""
    exact = {n: v if isinstance(v, str) else Fraction(v) for n, v in values.items()}
    return _truth(value_of(condition.tree, exact)) is True


def value_of(tree: Expression, values: Mapping[str, Fraction | str]) -> Worth:
    """The exact worth of an expression; a truth is 1 or 0."""
    children = tree.children
    match tree.data:
        case "number":
            return Fraction(str(children[0]))
        case "name":
            name = str(children[0])
            return values.get(name, name)
        case "word":
            return str(children[0])
        case "call":
            worths = [value_of(subtree(child), values) for child in children[1:]]
            numbers = [worth for worth in worths if isinstance(worth, Fraction)]
            function = FUNCTIONS[str(children[0])]
            return function(numbers) if len(numbers) == len(worths) else None
        case "condition" | "conjunction":
            return _joined(children, values, decisive=tree.data == "condition")
        case "negation":
            held = _truth(value_of(subtree(children[0]), values))
            return None if held is None else Fraction(not held)
        case "comparison":
            left, right = (value_of(subtree(child), values) for child in children[::2])
            return _compared(str(children[1]), left, right)
    # A sum or a product, from left to right.
    result = value_of(subtree(children[0]), values)
    for sign, child in zip(children[1::2], children[2::2], strict=True):
        operand = value_of(subtree(child), values)
        if not isinstance(result, Fraction) or not isinstance(operand, Fraction):
            return None
        if str(sign) in ("/", "//", "%") and operand == 0:
            return None
        if str(sign) == "**" and operand not in EXPONENTS:
            return None
        result = Fraction(OPERATIONS[str(sign)](result, operand))
    return result


def _joined(
    children: Sequence[object], values: Mapping[str, Fraction | str], decisive: bool
) -> Worth:
    """`||` is decided by one that is true, `&&` by one that is false."""
    truths = [_truth(value_of(subtree(child), values)) for child in children]
    if decisive in truths:
        return Fraction(decisive)
    return None if None in truths else Fraction(not decisive)


def _truth(worth: Worth) -> bool | None:
    return bool(worth) if isinstance(worth, Fraction) else None


def _compared(sign: str, left: Worth, right: Worth) -> Worth:
    if left is None or right is None:
        return None
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return Fraction(COMPARISONS[sign](left, right))
    if sign not in ("==", "!="):
        return None
    return Fraction((left == right) == (sign == "=="))
