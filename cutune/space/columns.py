"""Expressions over many rows at once. Takes a tree and a column per name, gives a column.

Numbers are exact: `/` gives a fraction. A column has a numerator and a denominator per row, in 64
bits where all of them are sure to fit, in Python's integers elsewhere. What has no value (a
division by zero, a sum with a word) makes a condition untrue, unless the rest decides it:
`R == none || R >= 20` holds for `none`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutune.space.annotation import Condition, Expression, Value, subtree

Array = NDArray[Any]
Mask = NDArray[np.bool_]
#: Results of operations below this fit into 64 bits.
_MOST = 1 << 63
#: In place of a word where there is a number: no word holds it.
_NUMBER = "\n"
#: Exponents of `**`; with others it has no value.
EXPONENTS = range(65)
_COMPARISONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}


@dataclass(frozen=True)
class Column:
    """One exact number, or a word, per row.

    Attributes:
        numerator: integers.
        denominator: positive integers; None where all are 1.
        largest: no numerator or denominator is larger in absolute value.
        known: rows that have a value; None: all.
        words: the word of each row, `_NUMBER` where it is a number; None: there is none.
    """

    numerator: Array
    denominator: Array | None
    largest: int
    known: Mask | None = None
    words: Array | None = None

    @staticmethod
    def of(values: Sequence[Value]) -> Column:
        numbers = [Fraction(0) if isinstance(v, str) else Fraction(v) for v in values]
        tops, bottoms = [n.numerator for n in numbers], [n.denominator for n in numbers]
        largest = max(map(abs, (*tops, *bottoms)))
        words = [v if isinstance(v, str) else _NUMBER for v in values]
        return Column(
            _integers(tops, largest),
            _integers(bottoms, largest) if max(bottoms) > 1 else None,
            largest,
            None,
            np.array(words) if {*words} != {_NUMBER} else None,
        )

    def at(self, rows: Array) -> Column:
        parts = (self.denominator, self.known, self.words)
        denominator, known, words = (None if part is None else part[rows] for part in parts)
        return Column(self.numerator[rows], denominator, self.largest, known, words)

    def values(self) -> list[Value | None]:
        """The number or the word of each row; None where it has no value."""
        tops, bottoms, known, words = np.broadcast_arrays(
            self.numerator,
            self.bottom,
            True if self.known is None else self.known,
            _NUMBER if self.words is None else self.words,
        )
        return [
            str(word) if word != _NUMBER else Fraction(int(top), int(bottom)) if is_known else None
            for top, bottom, is_known, word in zip(tops, bottoms, known, words, strict=True)
        ]

    @property
    def bottom(self) -> Array | int:
        return 1 if self.denominator is None else self.denominator

    @property
    def numbers(self) -> Mask | None:
        """Rows that hold a number; None: all."""
        return self.known if self.words is None else _both(self.known, self.words == _NUMBER)


def mask(tree: Expression, columns: Mapping[str, Column]) -> Mask:
    """The rows of which a condition is true."""
    worth = evaluate(tree, columns)
    true: Mask = worth.numerator != 0
    return true if worth.numbers is None else true & worth.numbers


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


def _integers(values: Sequence[int], largest: int) -> Array:
    return np.array(values, dtype=np.int64 if largest < _MOST else object)


def _both(first: Mask | None, second: Mask | None) -> Mask | None:
    if first is None or second is None:
        return second if first is None else first
    return first & second


def _truth(true: Array, known: Mask | None) -> Column:
    return Column(true.astype(np.int64), None, 1, known)


def _wide(largest: int, *columns: Column) -> list[Column]:
    """The columns with Python's integers if a result may be larger than 64 bits hold."""
    if largest < _MOST:
        return list(columns)
    return [
        replace(
            column,
            numerator=column.numerator.astype(object),
            denominator=None if column.denominator is None else column.denominator.astype(object),
        )
        for column in columns
    ]


def _same_bottom(a: Column, b: Column, room: int = 1) -> tuple[Array, Array, Array | None, int]:
    """The numerators over one denominator, and a bound of `room` times all of them, which fits."""
    if a.denominator is None and b.denominator is None:
        largest = room * max(a.largest, b.largest)
        a, b = _wide(largest, a, b)
        return a.numerator, b.numerator, None, largest
    largest = room * a.largest * b.largest
    a, b = _wide(largest, a, b)
    bottom = np.asarray(a.bottom * b.bottom)
    return a.numerator * b.bottom, b.numerator * a.bottom, bottom, largest


def _sum(a: Column, b: Column, sign: int) -> Column:
    left, right, bottom, largest = _same_bottom(a, b, room=2)
    return Column(left + sign * right, bottom, largest, _both(a.numbers, b.numbers))


def _product(a: Column, b: Column) -> Column:
    largest, known = a.largest * b.largest, _both(a.numbers, b.numbers)
    a, b = _wide(largest, a, b)
    is_whole = a.denominator is None and b.denominator is None
    bottom = None if is_whole else np.asarray(a.bottom * b.bottom)
    return Column(a.numerator * b.numerator, bottom, largest, known)


def _inverse(a: Column) -> Column:
    """1 / a; not known where it is 0."""
    some = a.numerator != 0
    sign = np.where(a.numerator < 0, -1, 1)
    bottom = np.where(some, np.abs(a.numerator), 1)
    return Column(sign * a.bottom, bottom, max(a.largest, 1), _both(a.numbers, some))


def _floored(a: Column, sign: int = 1) -> Column:
    """The next integer below; with sign -1 the next one above."""
    if a.denominator is None:
        return Column(a.numerator, None, a.largest, a.numbers)
    integers = sign * (sign * a.numerator // a.denominator)
    return Column(integers, None, a.largest + 1, a.numbers)


def _remainder(a: Column, b: Column) -> Column:
    """a - b * floor(a / b), as Python has it."""
    left, right, bottom, largest = _same_bottom(a, b)
    some = right != 0
    divisor = np.where(some, right, 1)
    known = _both(_both(a.numbers, b.numbers), some)
    return Column(left % divisor, bottom, largest, known)


def _power(a: Column, b: Column) -> Column:
    """With exponents of `EXPONENTS` alone."""
    fits = np.equal(b.numerator % b.bottom, 0) & np.isin(b.numerator // b.bottom, EXPONENTS)
    exponent = np.where(fits, b.numerator // b.bottom, 0)
    largest = max(a.largest, 1) ** int(exponent.max(initial=0))
    a, b = _wide(largest, a, b)
    bottom = None if a.denominator is None else np.asarray(a.denominator**exponent)
    known = _both(_both(a.numbers, b.numbers), fits.astype(bool))
    return Column(np.asarray(a.numerator**exponent), bottom, largest, known)


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
    true = _COMPARISONS[sign](left, right).astype(bool)
    if a.words is None and b.words is None:
        return _truth(true, _both(a.known, b.known))
    first, second = (_NUMBER if c.words is None else c.words for c in (a, b))
    if sign in ("==", "!="):
        # A word differs from every number, and from other words.
        is_equal = np.equal(left, right).astype(bool) & (first == second)
        return _truth(is_equal == (sign == "=="), _both(a.known, b.known))
    return _truth(true, _both(a.numbers, b.numbers))


def _joined(operands: Sequence[Column], is_or: bool) -> Column:
    """Three values: `||` is decided by one that is true, `&&` by one that is false."""
    decided: Mask = np.zeros(1, dtype=np.bool_)
    known: Mask | None = None
    for operand in operands:
        decisive = (operand.numerator != 0) == is_or
        numbers = operand.numbers
        decided = decided | (decisive if numbers is None else decisive & numbers)
        known = _both(known, numbers)
    return _truth(decided if is_or else ~decided, None if known is None else known | decided)


def _call(name: str, operands: Sequence[Column]) -> Column:
    match name:
        case "ceil":
            return _floored(operands[0], -1)
        case "floor":
            return _floored(operands[0])
        case "abs":
            first = operands[0]
            return replace(first, numerator=np.abs(first.numerator), known=first.numbers)

    def chosen(a: Column, b: Column) -> Column:
        left, right, bottom, largest = _same_bottom(a, b)
        choose = np.minimum if name == "min" else np.maximum
        return Column(choose(left, right), bottom, largest, _both(a.numbers, b.numbers))

    return reduce(chosen, operands)
