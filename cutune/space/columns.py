"""Expressions over many rows at once. Takes a tree and a column per name, gives a column.

Numbers are exact: `/` gives a fraction. A column has a numerator and a denominator per row, in 64
bits where all of them are sure to fit, in Python's integers elsewhere. What has no value (a
division by zero, a sum with a word) makes a condition untrue, unless the rest decides it:
`R == none || R >= 20` holds for `none`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutune.space.annotation import Condition, Expression, Value, subtree

Array = NDArray[Any]
Mask = NDArray[np.bool_]
#: What all rows have in common stands once, in an array without axes.
_ONE, _ALL = np.array(1), np.array(True)
#: Results of operations below this fit into 64 bits.
_MOST = 1 << 63
#: In place of a word where there is a number: no word holds it.
_NUMBER = np.array("\n")
#: Exponents of `**`; with others it has no value.
EXPONENTS = range(65)
_COMPARISONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


@dataclass(frozen=True)
class Column:
    """One exact number, or a word, per row.

    Attributes:
        numerator: integers. denominator: positive integers; `_ONE` where all are 1.
        largest: no numerator or denominator is larger in absolute value.
        known: rows that have a value.
        words: the word of each row, `_NUMBER` where it is a number.
    """

    numerator: Array
    denominator: Array
    largest: int
    known: Mask
    words: Array = field(default_factory=lambda: _NUMBER)

    @staticmethod
    def of(values: Sequence[Value]) -> Column:
        numbers = [Fraction(0) if isinstance(v, str) else Fraction(v) for v in values]
        tops, bottoms = [n.numerator for n in numbers], [n.denominator for n in numbers]
        largest = max(map(abs, (*tops, *bottoms)))
        top, bottom = (
            np.array(integers, dtype=np.int64 if largest < _MOST else object)
            for integers in (tops, bottoms)
        )
        is_word = [isinstance(value, str) for value in values]
        words = np.array([v if isinstance(v, str) else str(_NUMBER) for v in values])
        bottom = bottom if max(bottoms) > 1 else _ONE
        return Column(top, bottom, largest, _ALL, words if any(is_word) else _NUMBER)

    def at(self, rows: Array) -> Column:
        parts = (self.denominator, self.known, self.words)
        denominator, known, words = (part[rows] if part.ndim else part for part in parts)
        return Column(self.numerator[rows], denominator, self.largest, known, words)

    def values(self) -> list[Value | None]:
        """The number or the word of each row; None where it has no value."""
        parts = np.broadcast_arrays(self.numerator, self.denominator, self.known, self.words)
        return [
            str(word) if word != _NUMBER else Fraction(int(top), int(bottom)) if is_known else None
            for top, bottom, is_known, word in zip(*parts, strict=True)
        ]

    @property
    def numbers(self) -> Mask:
        """Rows that hold a number."""
        numbers: Mask = self.known & (self.words == _NUMBER)
        return numbers


def mask(tree: Expression, columns: Mapping[str, Column]) -> Mask:
    """The rows of which a condition is true."""
    worth = evaluate(tree, columns)
    true: Mask = (worth.numerator != 0) & worth.numbers
    return true


def is_true(condition: Condition, values: Mapping[str, Value]) -> bool:
    """Does it hold for these values? A name that has none is a word."""
    known = {name: Column.of([values[name]]) for name in condition.names & values.keys()}
    return bool(mask(condition.tree, known)[0])


def holds(where: str | None, values: Mapping[str, Value]) -> bool:
    """Is the condition of an annotation true? Names of values may be written with `->`."""
    known = {name.replace("->", "."): value for name, value in values.items()}
    return where is None or is_true(Condition.read(where), known)


def evaluate(tree: Expression, columns: Mapping[str, Column]) -> Column:
    """The worth of an expression in each row; names without a column are words."""
    children = tree.children
    match tree.data:
        case "number":
            return Column.of([Fraction(str(children[0]))])
        case "name":
            name = str(children[0])
            return columns[name] if name in columns else Column.of([name])
        case "word":
            return Column.of([str(children[0])])
        case "call":
            operands = [evaluate(subtree(child), columns) for child in children[1:]]
            return _call(str(children[0]), operands)
        case "condition" | "conjunction":
            operands = [evaluate(subtree(child), columns) for child in children]
            return _joined(operands, tree.data == "condition")
        case "negation":
            held = evaluate(subtree(children[0]), columns)
            return _truth(held.numerator == 0, held.numbers)
        case "comparison":
            left, right = (evaluate(subtree(child), columns) for child in children[::2])
            return _compared(str(children[1]), left, right)
    result = evaluate(subtree(children[0]), columns)
    for sign, child in zip(children[1::2], children[2::2], strict=True):
        result = _OPERATIONS[str(sign)](result, evaluate(subtree(child), columns))
    return result


def _truth(true: Array, known: Mask) -> Column:
    return Column(true.astype(np.int64), _ONE, 1, known)


def _wide(largest: int, *columns: Column) -> Sequence[Column]:
    """The columns with Python's integers if a result may be larger than 64 bits hold."""
    if largest < _MOST:
        return columns
    tops = (column.numerator.astype(object) for column in columns)
    bottoms = (column.denominator.astype(object) for column in columns)
    parts = zip(columns, tops, bottoms, strict=True)
    return [replace(one, numerator=top, denominator=bottom) for one, top, bottom in parts]


def _same_bottom(a: Column, b: Column, room: int = 1) -> tuple[Array, Array, Array, int]:
    """The numerators over one denominator, and a bound of `room` times all of them, which fits."""
    is_whole = a.denominator.ndim == b.denominator.ndim == 0
    largest = room * (max(a.largest, b.largest) if is_whole else a.largest * b.largest)
    a, b = _wide(largest, a, b)
    if is_whole:
        return a.numerator, b.numerator, _ONE, largest
    bottom = a.denominator * b.denominator
    return a.numerator * b.denominator, b.numerator * a.denominator, bottom, largest


def _sum(a: Column, b: Column, sign: int) -> Column:
    left, right, bottom, largest = _same_bottom(a, b, room=2)
    return Column(left + sign * right, bottom, largest, a.numbers & b.numbers)


def _product(a: Column, b: Column) -> Column:
    largest, known = a.largest * b.largest, a.numbers & b.numbers
    a, b = _wide(largest, a, b)
    bottom = np.asarray(a.denominator * b.denominator)
    return Column(a.numerator * b.numerator, bottom, largest, known)


def _inverse(a: Column) -> Column:
    """1 / a; not known where it is 0."""
    some = a.numerator != 0
    sign = np.where(a.numerator < 0, -1, 1)
    bottom = np.where(some, np.abs(a.numerator), 1)
    return Column(sign * a.denominator, bottom, max(a.largest, 1), a.numbers & some)


def _floored(a: Column, sign: int = 1) -> Column:
    """The next integer below; with sign -1 the next one above."""
    if a.denominator.ndim == 0:
        return Column(a.numerator, _ONE, a.largest, a.numbers)
    integers = sign * (sign * a.numerator // a.denominator)
    return Column(integers, _ONE, a.largest + 1, a.numbers)


def _remainder(a: Column, b: Column) -> Column:
    """a - b * floor(a / b), as Python has it."""
    left, right, bottom, largest = _same_bottom(a, b)
    some = right != 0
    known = a.numbers & b.numbers & some
    return Column(left % np.where(some, right, 1), bottom, largest, known)


def _power(a: Column, b: Column) -> Column:
    """With exponents of `EXPONENTS` alone."""
    whole = b.numerator // b.denominator
    fits = (np.equal(b.numerator % b.denominator, 0) & np.isin(whole, EXPONENTS)).astype(bool)
    exponent = np.where(fits, whole, 0)
    largest = max(a.largest, 1) ** int(exponent.max(initial=0))
    (a,) = _wide(largest, a)
    bottom = a.denominator**exponent if a.denominator.ndim else _ONE
    return Column(a.numerator**exponent, bottom, largest, a.numbers & b.numbers & fits)


_OPERATIONS: Mapping[str, Callable[[Column, Column], Column]] = {
    "+": lambda a, b: _sum(a, b, 1),
    "-": lambda a, b: _sum(a, b, -1),
    "*": _product,
    "/": lambda a, b: _product(a, _inverse(b)),
    "//": lambda a, b: _floored(_product(a, _inverse(b))),
    "%": _remainder,
    "**": _power,
}


def _compared(sign: str, a: Column, b: Column) -> Column:
    left, right, _, _ = _same_bottom(a, b)
    if sign in ("==", "!="):
        # A word differs from every number, and from other words.
        is_equal = np.equal(left, right).astype(bool) & (a.words == b.words)
        return _truth(is_equal == (sign == "=="), a.known & b.known)
    return _truth(_COMPARISONS[sign](left, right).astype(bool), a.numbers & b.numbers)


def _joined(operands: Sequence[Column], is_or: bool) -> Column:
    """Three values: `||` is decided by one that is true, `&&` by one that is false."""
    numbers = [operand.numbers for operand in operands]
    decisive = [(operand.numerator != 0) == is_or for operand in operands]
    decided = reduce(np.logical_or, map(np.logical_and, decisive, numbers))
    known = reduce(np.logical_and, numbers)
    return _truth(decided if is_or else ~decided, known | decided)


def _call(name: str, operands: Sequence[Column]) -> Column:
    match name:
        case "ceil":
            return _floored(operands[0], -1)
        case "floor":
            return _floored(operands[0])
        case "abs":
            (a,) = operands
            return Column(np.abs(a.numerator), a.denominator, a.largest, a.numbers)

    def chosen(a: Column, b: Column) -> Column:
        left, right, bottom, largest = _same_bottom(a, b)
        choose = np.minimum if name == "min" else np.maximum
        return Column(choose(left, right), bottom, largest, a.numbers & b.numbers)

    return reduce(chosen, operands)
