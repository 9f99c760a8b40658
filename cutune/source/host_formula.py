"""Formulas of the host: trees of which the configuration of a launch is made, and C text of them.

Two names with the same key have the same value. A name without a key may have another value each
time it is read. `Name.value` is the formula that defines the name, where that is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Number:
    """A literal, or the size of a type."""

    value: Fraction
    is_real: bool = False


@dataclass(frozen=True)
class Name:
    """A variable, macro or member as it is written, for instance `block.x`."""

    text: str
    key: str | None = None
    value: Formula | None = None


@dataclass(frozen=True)
class MemberAccess:
    """`base.field` of something that is no name.

    Attributes:
        base: a call, for instance.
        field: the member's name.
    """

    base: Formula
    field: str


@dataclass(frozen=True)
class HostOperation:
    """A unary or binary operator of C, or `?:` of three operands."""

    operator: str
    operands: tuple[Formula, ...]


@dataclass(frozen=True)
class Call:
    """A call, or a constructor: `dim3(…)` and `{…}` (without a name)."""

    name: str
    arguments: tuple[Formula, ...]


@dataclass(frozen=True)
class Cast:
    """A conversion between numbers.

    Attributes:
        type: the words of the type that it gives, as they are written.
    """

    type: str
    operand: Formula


@dataclass(frozen=True)
class Opaque:
    """Text that is no formula."""

    text: str


Formula = Number | Name | MemberAccess | HostOperation | Call | Cast | Opaque

ONE = Number(Fraction(1))


def number(value: int | Fraction) -> Number:
    """An integer literal."""
    return Number(Fraction(value))


def children(formula: Formula) -> tuple[Formula, ...]:
    """The direct parts; the definition of a name is not one of them."""
    match formula:
        case HostOperation(_, operands):
            return operands
        case Call(_, arguments):
            return arguments
        case Cast(_, operand):
            return (operand,)
        case MemberAccess(base, _):
            return (base,)
    return ()


def parts(formula: Formula, through_names: bool = True) -> Iterator[Formula]:
    """The formula and all its parts, definitions of names among them."""
    yield formula
    for child in children(formula):
        yield from parts(child, through_names)
    if through_names and isinstance(formula, Name) and formula.value is not None:
        yield from parts(formula.value)


def plain(formula: Formula) -> Formula:
    """Without outer casts and without names that only stand for another formula."""
    while True:
        if isinstance(formula, Cast):
            formula = formula.operand
        elif isinstance(formula, Name) and formula.value is not None:
            formula = formula.value
        else:
            return formula


_REAL_TYPES = ("float", "double")


def constant(formula: Formula) -> Fraction | None:
    """Its value, if it is certain to be one number."""
    match formula:
        case Number(value, _):
            return value
        case Name(_, _, value):
            return constant(value) if value is not None else None
        case Cast(type_, operand):
            inner = constant(operand)
            if inner is None or type_ in _REAL_TYPES:
                return inner
            return Fraction(int(inner)) if inner >= 0 else None
        case HostOperation(operator, operands):
            values = [constant(operand) for operand in operands]
            known = [value for value in values if value is not None]
            if len(known) < len(values):
                return None
            return _apply(operator, known, any(map(is_real, operands)))
        case Call(name, (argument,)):
            inner = constant(argument)
            if inner is not None and _short(name) in ("ceil", "ceilf"):
                return Fraction(-(-inner // 1))
    return None


def _short(name: str) -> str:
    return name.removeprefix("::").removeprefix("std::")


def is_real(formula: Formula) -> bool:
    """Is it certain to be a floating-point value?"""
    match formula:
        case Number(_, real):
            return real
        case Name(_, _, value):
            return value is not None and is_real(value)
        case Cast(type_, _):
            return type_ in _REAL_TYPES
        case HostOperation(operator, operands):
            return operator in ("+", "-", "*", "/") and any(map(is_real, operands))
        case Call(name, _):
            return _short(name) in ("ceil", "ceilf", "floor", "floorf")
    return False


_ARITHMETIC: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def _apply(operator: str, values: list[Fraction], real: bool) -> Fraction | None:
    if len(values) == 1:
        return {"-": -values[0], "+": values[0]}.get(operator)
    if len(values) != 2:
        return None
    left, right = values
    if operator in _ARITHMETIC:
        return _ARITHMETIC[operator](left, right)
    if operator == "/" and right != 0 and (real or (left >= 0 and right > 0)):
        return left / right if real else Fraction(left // right)
    if operator == "%" and left >= 0 and right > 0 and not real:
        return left % right
    if operator in ("<<", ">>") and left >= 0 and 0 <= right < 31 and not real:
        scaled = left * 2 ** int(right) if operator == "<<" else left // 2 ** int(right)
        return Fraction(scaled)
    return None


_PRECEDENCE = {"*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8}


def text_of(formula: Formula) -> str:
    """The formula as C text, variables replaced by what they are defined by.

    A name that stands for a plain number stays.
    """
    return _text(formula)[0]


def _text(formula: Formula) -> tuple[str, int]:
    match formula:
        case Number(value, real):
            return (str(value) if value.denominator == 1 and not real else f"{float(value):g}"), 20
        case Name(text, _, value):
            is_plain = value is None or isinstance(plain(value), Number | Opaque)
            return (text, 20) if is_plain or value is None else _text(value)
        case MemberAccess(base, field):
            return f"{_operand(base, 19)}.{field}", 20
        case Cast(type_, operand):
            return f"({type_}){_operand(operand, 15)}", 15
        case Call(name, arguments):
            return f"{name}({', '.join(map(text_of, arguments))})", 20
        case Opaque(text):
            return text, 20
        case HostOperation("?:", (condition, if_true, if_false)):
            return f"{_operand(condition, 1)} ? {text_of(if_true)} : {_operand(if_false, 0)}", 0
        case HostOperation(operator, (operand,)):
            return f"{operator}{_operand(operand, 15)}", 15
        case HostOperation(operator, (left, right)):
            level = _PRECEDENCE.get(operator, 5)
            return f"{_operand(left, level)} {operator} {_operand(right, level + 1)}", level
    return "?", 20


def _operand(formula: Formula, at_least: int) -> str:
    text, level = _text(formula)
    return text if level >= at_least else f"({text})"


_NAME = re.compile(r"(?<![\w.])[A-Za-z_][\w.]*")


def names_in(text: str) -> list[str]:
    """The names in C text, members as one: `grid.nx`."""
    return _NAME.findall(text)


def renamed(text: str, names: Mapping[str, str]) -> str:
    """C text with other names in place of some."""
    return _NAME.sub(lambda found: names.get(found[0], found[0]), text)
