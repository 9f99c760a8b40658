"""Which thread blocks an annotation allows. Takes `block(…)` and `where(…)`, judges shapes.

A range restricts the candidates. A list names them, and need not hold powers of two.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from lark import LarkError

from cutune.core.typed import Formula
from cutune.frontend.syntax.annotation import Expression, Values, read_condition

_COMPARISONS: Mapping[str, Callable[[Fraction, Fraction], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_OPERATIONS: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}


@dataclass(frozen=True)
class BlockRange:
    """Sizes per dimension (None: any), and a condition on x, y and z as it was written."""

    x: Values | None = None
    y: Values | None = None
    z: Values | None = None
    where: Formula | None = None

    def listed(self, axis: int) -> tuple[int, ...]:
        """The sizes that a list names for a dimension; nothing for a range."""
        values = (self.x, self.y, self.z)[axis]
        return values.listed if values is not None and values.interval is None else ()

    def allows(self, shape: tuple[int, int, int]) -> bool:
        """Does a shape lie within the range?"""
        axes = zip((self.x, self.y, self.z), shape, strict=True)
        if any(values is not None and size not in values for values, size in axes):
            return False
        if self._condition is None:
            return True
        sizes = dict(zip("xyz", map(Fraction, shape), strict=True))
        try:
            return bool(value_of(self._condition, sizes))
        except ZeroDivisionError:
            return False

    @cached_property
    def _condition(self) -> Expression | None:
        return read_condition(self.where) if self.where is not None else None

    def check(self) -> None:
        """Can the condition be read, and asked about a block?

        Raises:
            ValueError: it cannot.
        """
        try:
            self.allows((1, 1, 1))
            if self._condition is not None:
                value_of(self._condition, dict.fromkeys("xyz", Fraction(7, 3)))
        except ZeroDivisionError:
            return
        except (LarkError, KeyError, RecursionError) as error:
            raise ValueError(f"`where`: {self.where!r} is no condition on a block") from error


def value_of(tree: Expression, sizes: Mapping[str, Fraction]) -> Fraction:
    """The exact value: `/` gives a fraction, which `ceil` or `floor` makes an integer."""
    children = tree.children
    match tree.data:
        case "number":
            return Fraction(int(str(children[0])))
        case "name":
            return sizes[str(children[0])]
        case "call":
            return _call(str(children[0]), [value_of(_tree(c), sizes) for c in children[1:]])
        case "condition":
            return Fraction(any(value_of(_tree(child), sizes) for child in children))
        case "conjunction":
            return Fraction(all(value_of(_tree(child), sizes) for child in children))
        case "comparison":
            left, right = (value_of(_tree(child), sizes) for child in children[::2])
            return Fraction(_COMPARISONS[str(children[1])](left, right))
    result = value_of(_tree(children[0]), sizes)
    for sign, child in zip(children[1::2], children[2::2], strict=True):
        result = _OPERATIONS[str(sign)](result, value_of(_tree(child), sizes))
    return result


def _call(name: str, values: list[Fraction]) -> Fraction:
    match name:
        case "ceil":
            return Fraction(-(-values[0] // 1))
        case "floor":
            return Fraction(values[0] // 1)
        case "min":
            return min(values)
    return max(values)


def _tree(child: object) -> Expression:
    assert not isinstance(child, str)
    return child  # type: ignore[return-value]
