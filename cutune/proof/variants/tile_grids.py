"""What the blocks of a grid share out, as far as its formula tells.

Takes the formula of one dimension of a grid on the host and the arguments of the launch, gives C
text over the parameters of the kernel and how much of it each block gets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache

from cutune.source.host_formula import (
    Call,
    Cast,
    Formula,
    HostOperation,
    Name,
    Number,
    basic_size,
    constant,
    formula_of,
    names_of,
    plain,
    text_of,
)
from cutune.source.syntax.tokens import lex_significant

_CEILINGS = frozenset({"ceil", "ceilf", "std::ceil", "std::ceilf"})


def share_of(grid: Formula, arguments: Mapping[str, str]) -> tuple[str, int] | None:
    """What the blocks of a dimension share out, as C text, and how much of it each of them gets.

    Of `ceil(n / 16)`, however it is written, `n` and 16; of a number of blocks, that and 1. It is a
    guess: each launch asks whether the program's own grid is that.
    """
    count = constant(grid)
    if count is not None and not any(name.text in arguments for name in names_of(grid)):
        return (str(int(count)), 1) if count.denominator == 1 and count > 0 else None
    match _inner(grid):
        case HostOperation("/", (numerator, divisor)):
            found = _quotient(numerator, divisor, arguments)
        case HostOperation(">>", (numerator, places)) if (shift := constant(places)) is not None:
            found = _quotient(numerator, Number(Fraction(1 << min(31, int(shift)))), arguments)
        case HostOperation("+", (HostOperation("/", (numerator, divisor)), one)):
            # (n - 1) / 16 + 1
            found = _quotient(numerator, divisor, arguments) if constant(one) == 1 else None
        case Call(name, (argument,)) if name in _CEILINGS:
            return share_of(argument, arguments)
        case Call(_, (numerator, divisor)):
            found = _quotient(numerator, divisor, arguments)
        case _:
            found = None
    if found is None and (extent := _of_arguments(grid, arguments)) is not None:
        return extent, 1
    return found


def _inner(formula: Formula) -> Formula:
    found = plain(formula)
    if isinstance(found, HostOperation):
        return HostOperation(found.operator, tuple(map(_inner_sum, found.operands)))
    return found


def _inner_sum(formula: Formula) -> Formula:
    """A quotient in a sum, without casts."""
    found = plain(formula)
    return found if isinstance(found, HostOperation) and found.operator == "/" else formula


def _quotient(
    numerator: Formula, divisor: Formula, arguments: Mapping[str, str]
) -> tuple[str, int] | None:
    count = constant(divisor)
    if count is None or count.denominator != 1 or count <= 0:
        return None
    terms = [*_terms(numerator, 1)]
    # A number that is an argument is a size.
    sizes = [any(name.text in arguments for name in names_of(one)) for one, _ in terms]
    known = [
        None if is_size else constant(one) for (one, _), is_size in zip(terms, sizes, strict=True)
    ]
    pairs = [*zip(terms, known, strict=True)]
    numbers = [sign * value for (_, sign), value in pairs if value is not None]
    others = [term for term, value in pairs if value is None]
    rounding = (count - 1, -1, 0)
    if sum(numbers) in rounding and len(others) == 1 and others[0][1] > 0:
        extent = _of_arguments(others[0][0], arguments)
        if extent is not None:
            return extent, int(count)
    # `n + 2` is an argument: (n + 2 + 15) / 16
    words = Counter((text_of(one), sign) for one, sign in others)
    for text, parameter in arguments.items():
        given, added = _sum_of(text)
        if words and given == words and sum(numbers) - added in rounding:
            return parameter, int(count)
    return None


@cache
def _sum_of(argument: str) -> tuple[Counter[tuple[str, int]], Fraction]:
    """The terms of an argument, with their signs, and the number that is added to them."""
    formula = formula_of(lex_significant(argument), basic_size)
    pairs = [(constant(one), text_of(one), sign) for one, sign in _terms(formula, 1)]
    words = Counter((text, sign) for number, text, sign in pairs if number is None)
    return words, Fraction(sum(number * sign for number, _, sign in pairs if number is not None))


def _terms(formula: Formula, sign: int) -> Iterator[tuple[Formula, int]]:
    seen = formula
    while isinstance(seen, Cast):
        seen = seen.operand
    match seen:
        case HostOperation("+", (left, right)):
            yield from _terms(left, sign)
            yield from _terms(right, sign)
        case HostOperation("-", (left, right)):
            yield from _terms(left, sign)
            yield from _terms(right, -sign)
        case _:
            yield seen, sign


def _of_arguments(formula: Formula, arguments: Mapping[str, str]) -> str | None:
    """C text over the parameters of the kernel that get the names of the formula."""
    match formula:
        case Name(text, _, _) if text in arguments:
            return arguments[text]
        case Name(_, _, value) if value is not None:
            return _of_arguments(value, arguments)
        case Cast(_, operand):
            return _of_arguments(operand, arguments)
        case Number(value, False) if value.denominator == 1:
            return str(value)
        case HostOperation(operator, (left, right)) if operator in "+-*/":
            first, second = (_of_arguments(one, arguments) for one in (left, right))
            return f"({first} {operator} {second})" if first and second else None
    return None
