"""Programs with fewer operations. Takes a rational program, gives one with equal results.

Equal to the last bit: constants are folded as `evaluate` computes them, a definition that is a
constant is put where it is used, and factors of 1 go. Zeros that are added go where the other
operand is not -0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from cutune.model.rational.program import (
    Constant,
    Definition,
    Expression,
    Operation,
    Operator,
    RationalProgram,
    Reference,
    TableEntry,
)

_ONE = Constant(Fraction(1))
_ZERO = Constant(Fraction(0))
#: Of operands that are neither below zero nor -0 these give no other either.
_KEEPS_SIGN = {
    Operator.ADD,
    Operator.MULTIPLY,
    Operator.DIVIDE,
    Operator.MINIMUM,
    Operator.MAXIMUM,
    Operator.LESS,
    Operator.LESS_EQUAL,
    Operator.EQUAL,
    Operator.CHOICE,
}


def simplify(program: RationalProgram, kept: tuple[str, ...]) -> RationalProgram:
    """The program without operations that change nothing. `kept`: names that stay defined."""
    constants: dict[str, Constant] = {}
    positive = set(program.sizes) | {
        name for name, values in program.properties.items() if min(values) >= 0
    }
    positive |= {
        name
        for name, entries in program.tables.items()
        if all(entry > 0 or str(entry) == "0.0" for entry in entries)
    }
    definitions: list[Definition] = []
    for definition in program.definitions:
        value = _simplified(definition.value, constants, positive)
        if isinstance(value, Constant) and definition.name not in kept:
            constants[definition.name] = value
            continue
        if _is_positive(value, positive):
            positive.add(definition.name)
        definitions.append(replace(definition, value=value))
    return replace(program, definitions=tuple(definitions))


def _simplified(
    node: Expression, constants: Mapping[str, Constant], positive: set[str]
) -> Expression:
    if isinstance(node, Reference):
        return constants.get(node.name, node)
    if isinstance(node, TableEntry):
        return replace(node, place=_simplified(node.place, constants, positive))
    if not isinstance(node, Operation):
        return node
    operands = tuple(_simplified(operand, constants, positive) for operand in node.operands)
    return _operation(replace(node, operands=operands), positive)


def _operation(node: Operation, positive: set[str]) -> Expression:
    first, second = node.operands[0], node.operands[-1]
    if isinstance(first, Constant) and isinstance(second, Constant):
        return _folded(node.operator, first, second) or node
    if node.operator is Operator.MULTIPLY and _ONE in (first, second):
        return second if first == _ONE else first
    if node.operator is Operator.ADD and first == _ZERO and _is_positive(second, positive):
        return second
    if node.operator is Operator.ADD and second == _ZERO and _is_positive(first, positive):
        return first
    return node


def _folded(operator: Operator, first: Constant, second: Constant) -> Constant | None:
    """The constant that the machine computes; None where it is left to the machine."""
    one, other = float(first.value), float(second.value)
    if operator is Operator.ADD:
        result = one + other
    elif operator is Operator.MULTIPLY:
        result = one * other
    elif operator is Operator.DIVIDE and other > 0:
        result = one / other
    else:
        return None
    is_plain = result > 0 or (result == 0 and one >= 0 and other >= 0)
    return Constant(Fraction(result)) if is_plain and result < float("inf") else None


def _is_positive(node: Expression, positive: set[str]) -> bool:
    """Is it certainly neither below zero nor -0?"""
    if isinstance(node, Constant):
        return node.value >= 0
    if isinstance(node, Reference):
        return node.name in positive
    if isinstance(node, TableEntry):
        return node.table in positive
    if not isinstance(node, Operation) or node.operator not in _KEEPS_SIGN:
        return False
    return all(_is_positive(operand, positive) for operand in node.operands)
