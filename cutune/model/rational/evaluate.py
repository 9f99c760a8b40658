"""Rational programs and expressions computed with numpy, for all candidates at once.

Takes a `RationalProgram` and sizes, gives an array per definition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutune.model.rational.program import (
    CANDIDATE,
    NORMS,
    Cell,
    Constant,
    Expression,
    Lookup,
    Operation,
    Operator,
    RationalProgram,
    Reference,
)

Values = NDArray[np.float64]


def evaluate(program: RationalProgram, sizes: Mapping[str, Any]) -> dict[str, Values]:
    """All definitions at given sizes: one number per candidate, or a single one (shape ())."""
    values: dict[str, Values] = {
        name: np.asarray(sizes[name], dtype=np.float64) for name in program.sizes
    }
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


def _value(
    node: Expression, values: Mapping[str, Values], tables: Mapping[str, NDArray[np.float64]]
) -> Values:
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
