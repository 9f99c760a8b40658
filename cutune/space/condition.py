"""Conditions on parameters and sizes, such as `N >= 2 * m`. Takes text, gives a test of values.

Numbers are exact: `/` gives a fraction. What has no value (a division by zero, a sum with a word)
makes a condition untrue, unless the rest decides it: `R == none || R >= 20` holds for `none`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from lark import Tree

from cutune.core.source import Source, Span
from cutune.space.annotation import Expression, names_in, read_condition

#: A value of a parameter: an exact number, or a word.
Value = int | Fraction | str
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
_OPERATIONS: Mapping[str, Callable[[Fraction, Fraction], Fraction | int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": lambda base, exponent: base ** int(exponent),
}
_FUNCTIONS: Mapping[str, Callable[[Sequence[Fraction]], Fraction]] = {
    "ceil": lambda numbers: Fraction(-(-numbers[0] // 1)),
    "floor": lambda numbers: Fraction(numbers[0] // 1),
    "abs": lambda numbers: abs(numbers[0]),
    "min": min,
    "max": max,
}
#: Exponents of `**`; with others it has no value.
EXPONENTS = range(65)


@dataclass(frozen=True)
class Condition:
    """A condition on the values of a configuration.

    Attributes:
        text: as it was written.
        tree: of the nodes of the annotation language; `negation`, `word`, `//` and `**` besides.
        source, span: where it stands, if it does.
    """

    text: str
    tree: Expression
    source: Source | None = field(default=None, compare=False)
    span: Span | None = field(default=None, compare=False)

    @staticmethod
    def read(text: str, source: Source | None = None, span: Span | None = None) -> Condition:
        """Return a condition of the annotation language. Raises lark.UnexpectedInput."""
        return Condition(text, read_condition(text), source, span)

    @cached_property
    def names(self) -> frozenset[str]:
        """All names in it: parameters, sizes, and words."""
        return names_in(self.tree)

    @property
    def possible_words(self) -> set[str]:
        """Names that are compared with something for equality."""
        return {
            str(side.children[0])
            for comparison in self.tree.find_data("comparison")
            if str(comparison.children[1]) in ("==", "!=")
            for side in map(subtree, comparison.children[::2])
            if side.data == "name"
        }

    def holds(self, values: Mapping[str, Value]) -> bool:
        """Is it true of these values? A name that has none is a word."""
        exact = {n: v if isinstance(v, str) else Fraction(v) for n, v in values.items()}
        return _truth(value_of(self.tree, exact)) is True

    def conjuncts(self) -> Iterator[Condition]:
        """The conditions of which all must hold; they may be asked one by one."""
        if self.tree.data != "conjunction":
            yield self
            return
        for child in self.tree.children:
            yield from replace(self, tree=subtree(child)).conjuncts()


def holds(where: str | None, values: Mapping[str, Value]) -> bool:
    """Is the condition of an annotation true? Names of values may be written with `->`."""
    if where is None:
        return True
    known = {name.replace("->", "."): value for name, value in values.items()}
    return Condition.read(where).holds(known)


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
            function = _FUNCTIONS[str(children[0])]
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
        result = Fraction(_OPERATIONS[str(sign)](result, operand))
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


def subtree(child: object) -> Expression:
    assert isinstance(child, Tree)
    return child
