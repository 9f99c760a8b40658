"""Dynamic shared memory as a formula of the block. Takes a resolved launch, gives C text.

The text is a formula of the block's x, y and z, computed with 64-bit integers, in which it cannot
overflow. Its user compares the value for the program's own thread block with what the program asks
for, and leaves the launch alone where they differ.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from cutune.frontend.configuration.formulas import basic_size, formula_of
from cutune.frontend.host_formula import (
    Call,
    Cast,
    Formula,
    HostOperation,
    Name,
    Number,
    constant,
    is_real,
    number,
    parts,
    text_of,
)
from cutune.frontend.program import DIMENSIONS, Configuration
from cutune.frontend.syntax.tokens import lex_significant

#: No launch asks for more; a larger factor is a mistake.
_LARGEST_LITERAL = 1 << 24
_LARGEST_VALUE = 1 << 61
_LARGEST_SIZE = {"x": 1024, "y": 1024, "z": 64}
_OPERATORS = frozenset({"+", "-", "*", "/", "%", "<", ">"})


def inferred_formula(configuration: Configuration, arguments: Container[str] = ()) -> str | None:
    """The formula that follows from the launch's own definitions, or None where several could.

    Args:
        configuration: the launch's.
        arguments: the names in its arguments. A name in both may be a size of the data.
    """
    if configuration.shared is None:
        return None
    block = configuration.block
    found = _in_block(configuration.shared, block)
    if found is None:
        return None
    used = {part.text for part in parts(found) if isinstance(part, Name)}
    for d, size in zip(DIMENSIONS, block, strict=True):
        if d not in used and constant(size) != 1:
            # A number in the formula may be that of this dimension in disguise.
            return None
        named = (part.text.split(".")[0] for part in parts(size) if isinstance(part, Name))
        if d in used and any(name in arguments for name in named):
            return None
    text = text_of(found)
    return text if is_bounded(text) else None


def is_bounded(text: str) -> bool:
    """Is the value of a formula far from the limits of 64-bit integers for every block?"""
    largest = _largest(formula_of(lex_significant(text), basic_size))
    return largest is not None and largest < _LARGEST_VALUE


def _in_block(formula: Formula, block: Sequence[Formula]) -> Formula | None:
    """The formula over x, y and z alone, in integers."""
    axes = [d for d, size in zip(DIMENSIONS, block, strict=True) if _is_same(formula, size)]
    if axes:
        return Name(axes[0]) if len(axes) == 1 else None
    match formula:
        case Number():
            return formula if _is_whole(formula) else None
        case Name(_, _, value):
            return _in_block(value, block) if value is not None else None
        case Cast(type_, operand):
            is_exact = _is_wide_integer(type_) and not is_real(operand)
            return _in_block(operand, block) if is_exact else None
        case Call(name, (left, right)) if name.removeprefix("std::") in ("min", "max"):
            sign = "<" if name.endswith("min") else ">"
            return _extremum(sign, _in_block(left, block), _in_block(right, block))
        case HostOperation(operator, operands):
            found = [part for o in operands if (part := _in_block(o, block)) is not None]
            return _operation(operator, found) if len(found) == len(operands) else None
    return None


def _is_whole(number: Number) -> bool:
    value = number.value
    return value.denominator == 1 and not number.is_real and value <= _LARGEST_LITERAL


def _is_wide_integer(type_: str) -> bool:
    """Does a type of at least 32 bits hold whole numbers only?"""
    words = type_.split()
    size = basic_size(words)
    return size is not None and size >= 4 and words[-1] not in ("float", "double")


def _extremum(sign: str, left: Formula | None, right: Formula | None) -> Formula | None:
    """The smaller (`<`) or the larger (`>`) of two."""
    if left is None or right is None:
        return None
    return HostOperation("?:", (HostOperation(sign, (left, right)), left, right))


def _operation(operator: str, operands: list[Formula]) -> Formula | None:
    """An operator that means the same on exact integers."""
    if operator == "?:" and isinstance(operands[0], HostOperation) and operands[0].operator in "<>":
        return HostOperation(operator, tuple(operands))
    if len(operands) != 2:
        return None
    left, right = operands
    value = constant(right)
    if operator in ("/", "%") and (value is None or value <= 0):
        return None
    if operator == "<<" and value is not None and 0 <= value < 20:
        return HostOperation("*", (left, number(1 << int(value))))
    if operator in ("<=", ">="):
        # Integers: a <= b is a < b + 1.
        low, high = (left, right) if operator == "<=" else (right, left)
        return HostOperation("<", (low, HostOperation("+", (high, number(1)))))
    return HostOperation(operator, (left, right)) if operator in _OPERATORS else None


def _is_same(formula: Formula, size: Formula) -> bool:
    """Is it certain that both have the same value, because they are the same name's?"""
    keys = {part.key for part in _renamed(size) if isinstance(part, Name)} - {None}
    if isinstance(formula, Name):
        return formula.key is not None and formula.key in keys
    # The whole expression of the block's size stands in the formula.
    target = list(_renamed(size))[-1]
    if not isinstance(target, HostOperation) or constant(target) is not None:
        return False
    names = [part for part in parts(target, through_names=False) if isinstance(part, Name)]
    return formula == target and bool(names) and all(name.key is not None for name in names)


def _renamed(formula: Formula) -> list[Formula]:
    """A formula and what it merely renames, as an integer of any width."""
    renamed = [formula]
    while True:
        match renamed[-1]:
            case Cast(_, operand) as cast if not is_real(cast) and not is_real(operand):
                renamed.append(operand)
            case Name(_, _, value) if value is not None:
                renamed.append(value)
            case _:
                return renamed


def _largest(formula: Formula) -> int | None:
    """A bound of the absolute value of the formula and all its parts."""
    match formula:
        case Number(value, False):
            return int(value) if value <= _LARGEST_LITERAL else None
        case Name(text, _, _):
            return _LARGEST_SIZE.get(text)
        case HostOperation(operator, operands):
            bounds = [bound for part in operands if (bound := _largest(part)) is not None]
            if len(bounds) < len(operands):
                return None
            bound = sum(bounds) + 1
            if operator == "*":
                bound = bounds[0] * bounds[-1]
            elif operator in ("?:", "/", "%", "<", ">"):
                bound = max(*bounds, 1)
            return bound if bound < _LARGEST_VALUE else None
    return None
