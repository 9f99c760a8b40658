"""The language of performance models: expressions, and rational programs made of them.

A rational program is a list of definitions, each the value of an expression over earlier ones
(Brandt et al., section 2). Its inputs are the sizes of a launch and the integers that describe a
candidate block. An expression is made of rational numbers, + - * /, floor, ceiling, minimum,
maximum, comparison, choice (a branch of the flow chart), and entries of constant tables, most of
which have a value for each candidate.

Programs are read in three ways: `evaluate` computes them with numpy, for all candidates at once,
`emit` writes them as C, and reports show them. The first two perform the same operations on IEEE
doubles in the same order, so that their results agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import partial
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from cutune.toolchain.device.thread_block import EXTENTS

Number = Union[int, Fraction, "Expression"]

#: The index of the candidate, for `Lookup` in tables that hold one entry per candidate.
CANDIDATE = "candidate"


class Operator(Enum):
    """Operations of the language; the value is the name used in files."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MIN = "min"
    MAX = "max"
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


_Method = Callable[["Expression", Number], "Expression"]


def _both_ways(operator: Operator) -> tuple[_Method, _Method]:
    """The methods of `node OPERATOR other` and of `other OPERATOR node`."""
    return (
        lambda node, other: operation(operator, node, other),
        lambda node, other: operation(operator, other, node),
    )


@dataclass(frozen=True)
class Expression:
    """A node of the language; Python's arithmetic operators build larger ones."""

    __add__, __radd__ = _both_ways(Operator.ADD)
    __sub__, __rsub__ = _both_ways(Operator.SUBTRACT)
    __mul__, __rmul__ = _both_ways(Operator.MULTIPLY)
    __truediv__, __rtruediv__ = _both_ways(Operator.DIVIDE)
    __mod__, __rmod__ = _both_ways(Operator.REMAINDER)


@dataclass(frozen=True)
class Constant(Expression):
    """An exact rational number."""

    value: Fraction


@dataclass(frozen=True)
class Reference(Expression):
    """A data parameter, a property of the candidate, or an earlier definition, by name."""

    name: str


@dataclass(frozen=True)
class Operation(Expression):
    """An operator with its operands; `Operator` lists them."""

    operator: Operator
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class TableEntry(Expression):
    """An entry of a constant table, at a place that is an integer expression."""

    table: str
    place: Expression


@dataclass(frozen=True)
class Lookup(TableEntry):
    """The entry with that index."""


@dataclass(frozen=True)
class Cell(TableEntry):
    """The candidate's entry in a row of the table, whose index is the same for all candidates."""


def expression(value: Number) -> Expression:
    """A number as an expression; an expression as it is."""
    return value if isinstance(value, Expression) else Constant(Fraction(value))


def operation(operator: Operator, *operands: Number) -> Expression:
    return Operation(operator, tuple(map(expression, operands)))


minimum, maximum = partial(operation, Operator.MIN), partial(operation, Operator.MAX)
floor, ceiling = partial(operation, Operator.FLOOR), partial(operation, Operator.CEILING)
#: less(a, b): 1 if a < b, else 0; the others likewise for a <= b and a == b.
less = partial(operation, Operator.LESS)
less_equal = partial(operation, Operator.LESS_EQUAL)
equal = partial(operation, Operator.EQUAL)
#: choice(condition, a, b): a if the condition is not 0, else b. Both are evaluated.
choice = partial(operation, Operator.CHOICE)


def norm(power: int, first: Number, second: Number) -> Expression:
    """Smooth maximum of two positive quantities, by the norm of this power."""
    operator = next(name for name, (known, *_) in NORMS.items() if known == power)
    return operation(operator, first, second)


def parts(value: Expression) -> Iterator[Expression]:
    """The expression and all that it is made of."""
    yield value
    if isinstance(value, Operation):
        for operand in value.operands:
            yield from parts(operand)
    elif isinstance(value, TableEntry):
        yield from parts(value.place)


def parameters(value: Expression) -> Iterator[str]:
    """Names that an expression reads, with repetitions."""
    for part in parts(value):
        if isinstance(part, Reference):
            yield part.name
        elif isinstance(part, Cell):
            yield CANDIDATE


@dataclass(frozen=True)
class Definition:
    """A name for the value of an expression over earlier definitions; `meaning` may be empty."""

    name: str
    value: Expression
    meaning: str = ""


def size_name(word: str) -> str:
    """The name of a size in a program; its prefix keeps `blocks` apart from the definition."""
    return word if word in EXTENTS else f"size_{word}"


def point(sizes: Mapping[str, Any], extents: Sequence[Any]) -> dict[str, Any]:
    """The input of a program: data parameters by `size_name`, and the three extents."""
    named = {size_name(word): value for word, value in sizes.items()}
    return named | dict(zip(EXTENTS, extents, strict=True))


@dataclass(frozen=True)
class RationalProgram:
    """Definitions in their order of evaluation, and what they read.

    Attributes:
        sizes: names of the inputs that a launch has one value of, as `size_name` gives them.
        properties: per name an integer for each candidate.
        tables: what `Lookup` and, row by row, `Cell` read; floats of C hold the entries exactly.
    """

    sizes: tuple[str, ...]
    properties: Mapping[str, tuple[int, ...]]
    tables: Mapping[str, tuple[float, ...]]
    definitions: tuple[Definition, ...]
    candidate_count: int = 0

    def per_candidate(self) -> frozenset[str]:
        """Names whose value differs between candidates; all others are known once per launch."""
        names = set(self.properties) | {CANDIDATE}
        for definition in self.definitions:
            if any(name in names for name in parameters(definition.value)):
                names.add(definition.name)
        return frozenset(names)


#: Prefix of definitions with the microseconds of one part of the work alone, for reports only.
TERM = "term_"


# ---- evaluation

Values = NDArray[np.float64]


def evaluate(program: RationalProgram, sizes: Mapping[str, Any]) -> dict[str, Values]:
    """All definitions at given sizes: one number per candidate, or a single one (shape ())."""
    values: dict[str, Values] = {n: np.asarray(sizes[n], dtype=np.float64) for n in program.sizes}
    for name, column in program.properties.items():
        values[name] = np.array(column, dtype=np.float64)
    values[CANDIDATE] = np.arange(program.candidate_count, dtype=np.float64)
    tables = {name: np.array(table, dtype=np.float64) for name, table in program.tables.items()}
    with np.errstate(all="ignore"):
        for definition in program.definitions:
            values[definition.name] = _value(definition.value, values, tables)
    return values


def evaluate_each(
    program: RationalProgram, sizes: Mapping[str, Sequence[int]]
) -> Iterator[Mapping[str, Values]]:
    """All definitions at each of several sizes, one number per candidate."""
    count = len(next(iter(sizes.values())))
    columns = {name: np.array(each, dtype=np.float64)[:, None] for name, each in sizes.items()}
    shape = (count, program.candidate_count)
    tables = {name: np.broadcast_to(v, shape) for name, v in evaluate(program, columns).items()}
    for row in range(count):
        yield {name: table[row] for name, table in tables.items()}


def value_of(node: Expression, values: Mapping[str, int]) -> float:
    """An expression without tables at given parameters."""
    numbers = {name: np.asarray(value, dtype=np.float64) for name, value in values.items()}
    with np.errstate(all="ignore"):
        return float(_value(node, numbers, {}))


def _value(node: Expression, values: Mapping[str, Values], tables: Mapping[str, Values]) -> Values:
    if isinstance(node, Constant):
        return np.asarray(float(node.value))
    if isinstance(node, Reference):
        return values[node.name]
    if isinstance(node, Lookup):
        index = _value(node.place, values, tables)
        entries: Values = tables[node.table][np.asarray(index, dtype=np.int64)]
        return entries
    if isinstance(node, Cell):
        candidate = values[CANDIDATE].astype(np.int64)
        row = np.asarray(_value(node.place, values, tables), dtype=np.int64)
        cells: Values = tables[node.table].reshape(-1, len(candidate))[row, candidate]
        return cells
    assert isinstance(node, Operation)
    operands = (_value(operand, values, tables) for operand in node.operands)
    result: Values = _FUNCTIONS[node.operator](*operands)
    return result


def _norm(operator: Operator, a: Values, b: Values) -> Values:
    power, top, bottom = NORMS[operator]
    larger, smaller = np.where(a > b, a, b), np.where(a < b, a, b)
    most, least = _raised(larger, power), _raised(smaller, power)
    # Of their ratio r: 1 + top * r^p / (1 + bottom * r^p), by one division.
    result: Values = larger * (1 + float(top) * least / (most + float(bottom) * least))
    return result


def _raised(base: Values, power: int) -> Values:
    square: Values = base * base
    if power == 2:
        return square
    if power == 3:
        return square * base
    fourth: Values = square * square
    return fourth * fourth


_FUNCTIONS: Mapping[Operator, Callable[..., Any]] = {
    Operator.ADD: np.add,
    Operator.SUBTRACT: np.subtract,
    Operator.MULTIPLY: np.multiply,
    Operator.DIVIDE: np.divide,
    # As C's `a < b ? a : b`, also where an operand is not a number.
    Operator.MIN: lambda a, b: np.where(a < b, a, b),
    Operator.MAX: lambda a, b: np.where(a > b, a, b),
    Operator.REMAINDER: lambda a, b: a - b * np.floor(a / b),
    Operator.FLOOR: np.floor,
    Operator.CEILING: np.ceil,
    Operator.LESS: lambda a, b: np.where(a < b, 1.0, 0.0),
    Operator.LESS_EQUAL: lambda a, b: np.where(a <= b, 1.0, 0.0),
    Operator.EQUAL: lambda a, b: np.where(a == b, 1.0, 0.0),
    Operator.CHOICE: lambda condition, a, b: np.where(condition != 0, a, b),
    **{norm: partial(_norm, norm) for norm in NORMS},
}
