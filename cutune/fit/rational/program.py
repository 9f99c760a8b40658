"""Rational programs: the closed expression language that every performance model is written in.

A program takes integer data parameters (sizes) and the integers that describe one candidate, and
evaluates named rational quantities by a straight line of definitions (Brandt et al., section 2:
integers and rationals, + - * /, floor, ceil, comparison; a choice is a branch node of the flow
chart). Three readers: `evaluate` (numpy, all candidates at once), `emit` (C), and reports.

Numbers are IEEE doubles in both readers, with the same operations in the same order, so that
`evaluate` and the compiled C agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Any, Union

from cutune.device.thread_block import EXTENTS

Number = Union[int, Fraction, "Expression"]


class Operator(Enum):
    """Operations of the language; the value is the name used in files."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MINIMUM = "min"
    MAXIMUM = "max"
    REMAINDER = "%"
    FLOOR = "floor"
    CEILING = "ceil"
    LESS = "<"
    LESS_EQUAL = "<="
    EQUAL = "=="
    CHOICE = "?:"
    #: Smooth maxima of two positive numbers: p-norms by `NORMS`.
    NORM_2 = "norm 2"
    NORM_3 = "norm 3"
    NORM_8 = "norm 8"


#: Per norm: its power p, and c and d of the rational form a * (1 + c r^p / (1 + d r^p)), where a is
#: the larger operand and r = b / a. Its error is below 0.12 %.
NORMS = {
    Operator.NORM_2: (2, Fraction(1, 2), Fraction(212, 1000)),
    Operator.NORM_3: (3, Fraction(1, 3), Fraction(847, 3000)),
    Operator.NORM_8: (8, Fraction(1, 8), Fraction(381, 1000)),
}


@dataclass(frozen=True)
class Expression:
    """A node of the language; Python's arithmetic operators build larger ones."""

    def __add__(self, other: Number) -> Expression:
        return Operation(Operator.ADD, (self, expression(other)))

    def __radd__(self, other: Number) -> Expression:
        return Operation(Operator.ADD, (expression(other), self))

    def __sub__(self, other: Number) -> Expression:
        return Operation(Operator.SUBTRACT, (self, expression(other)))

    def __rsub__(self, other: Number) -> Expression:
        return Operation(Operator.SUBTRACT, (expression(other), self))

    def __mul__(self, other: Number) -> Expression:
        return Operation(Operator.MULTIPLY, (self, expression(other)))

    def __rmul__(self, other: Number) -> Expression:
        return Operation(Operator.MULTIPLY, (expression(other), self))

    def __truediv__(self, other: Number) -> Expression:
        return Operation(Operator.DIVIDE, (self, expression(other)))

    def __rtruediv__(self, other: Number) -> Expression:
        return Operation(Operator.DIVIDE, (expression(other), self))

    def __mod__(self, other: Number) -> Expression:
        return Operation(Operator.REMAINDER, (self, expression(other)))


@dataclass(frozen=True)
class Constant(Expression):
    """An exact rational number."""

    value: Fraction


@dataclass(frozen=True)
class Parameter(Expression):
    """A data parameter, a property of the candidate, or an earlier definition, by name."""

    name: str


@dataclass(frozen=True)
class Operation(Expression):
    """An operator applied to operands."""

    operator: Operator
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Lookup(Expression):
    """Entry `index` (an integer expression) of a constant table."""

    table: str
    index: Expression


@dataclass(frozen=True)
class Cell(Expression):
    """The candidate's entry in row `row` of a table; which row is known once per launch.

    A row has one entry per candidate.
    """

    table: str
    row: Expression


def expression(value: Number) -> Expression:
    """A number or expression as an expression."""
    return value if isinstance(value, Expression) else Constant(Fraction(value))


def minimum(first: Number, second: Number) -> Expression:
    """The smaller of two."""
    return Operation(Operator.MINIMUM, (expression(first), expression(second)))


def maximum(first: Number, second: Number) -> Expression:
    """The larger of two."""
    return Operation(Operator.MAXIMUM, (expression(first), expression(second)))


def floor(value: Number) -> Expression:
    """The largest integer not above."""
    return Operation(Operator.FLOOR, (expression(value),))


def ceiling(value: Number) -> Expression:
    """The smallest integer not below."""
    return Operation(Operator.CEILING, (expression(value),))


def less(first: Number, second: Number) -> Expression:
    """1 if first < second, else 0."""
    return Operation(Operator.LESS, (expression(first), expression(second)))


def less_equal(first: Number, second: Number) -> Expression:
    """1 if first <= second, else 0."""
    return Operation(Operator.LESS_EQUAL, (expression(first), expression(second)))


def equal(first: Number, second: Number) -> Expression:
    """1 if first == second, else 0."""
    return Operation(Operator.EQUAL, (expression(first), expression(second)))


def norm(power: int, first: Number, second: Number) -> Expression:
    """Smooth maximum of two positive quantities, by the norm of this power."""
    operator = next(name for name, (known, *_) in NORMS.items() if known == power)
    return Operation(operator, (expression(first), expression(second)))


def choice(condition: Number, if_true: Number, if_false: Number) -> Expression:
    """`if_true` where the condition is not 0, else `if_false` (both are evaluated)."""
    operands = (expression(condition), expression(if_true), expression(if_false))
    return Operation(Operator.CHOICE, operands)


@dataclass(frozen=True)
class Definition:
    """One line of a program: a name for the value of an expression over earlier definitions.

    `meaning`: a short description, or empty.
    """

    name: str
    value: Expression
    meaning: str = ""


def size_name(word: str) -> str:
    """The name of a data parameter or an extent in a program.

    The prefix avoids clashes: a kernel's parameter may be called `steps` or `blocks` as
    definitions.
    """
    return word if word in EXTENTS else f"size_{word}"


def point(sizes: Mapping[str, Any], extents: Sequence[Any]) -> dict[str, Any]:
    """The input of a program: data parameters by `size_name`, and the three extents."""
    named = {size_name(word): value for word, value in sizes.items()}
    return named | dict(zip(EXTENTS, extents, strict=True))


@dataclass(frozen=True)
class RationalProgram:
    """A straight line of definitions.

    Attributes:
        sizes: names of what is known once per launch, as `size_name` gives them.
        properties: per name one integer per candidate, a static table of the emitted code.
        tables: constant tables for `Lookup` and, row by row, for `Cell`; entries are exactly
            representable as C floats.
        definitions: in order of evaluation.
    """

    sizes: tuple[str, ...]
    properties: Mapping[str, tuple[int, ...]]
    tables: Mapping[str, tuple[float, ...]]
    definitions: tuple[Definition, ...]
    candidate_count: int = field(default=0)

    def per_candidate(self) -> frozenset[str]:
        """Names whose value differs between candidates; all others are known once per launch."""
        names = set(self.properties) | {CANDIDATE}
        for definition in self.definitions:
            if any(name in names for name in parameters(definition.value)):
                names.add(definition.name)
        return frozenset(names)


#: Prefix of definitions with the microseconds of one part of the work alone, for reports only.
TERM = "term_"

#: The index of the candidate, for `Lookup` in tables that hold one entry per candidate.
CANDIDATE = "candidate"


def parameters(value: Expression) -> Iterator[str]:
    """Names that an expression reads, in order, with repetitions."""
    if isinstance(value, Parameter):
        yield value.name
    elif isinstance(value, Operation):
        for operand in value.operands:
            yield from parameters(operand)
    elif isinstance(value, Lookup):
        yield from parameters(value.index)
    elif isinstance(value, Cell):
        yield from parameters(value.row)
        yield CANDIDATE


def tables_of(value: Expression) -> Iterator[str]:
    """Tables that an expression looks up, with repetitions."""
    if isinstance(value, Operation):
        for operand in value.operands:
            yield from tables_of(operand)
    elif isinstance(value, Lookup):
        yield value.table
        yield from tables_of(value.index)
    elif isinstance(value, Cell):
        yield value.table
        yield from tables_of(value.row)
