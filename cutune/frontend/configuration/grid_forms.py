"""How a launch depends on its block. Takes a resolved configuration, gives grid forms and C text.

The form of a grid is shown only: which rule changes the block of a launch depends on the proof
about the kernel and on the numbers at run time. Dynamic shared memory is a formula of the block's
x, y and z, computed with 64-bit integers, in which it cannot overflow. Its user compares the value
for the program's own thread block with what the program asks for, and leaves the launch alone where
they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from cutune.frontend.host_formula import (
    Call,
    Cast,
    Formula,
    HostOperation,
    Name,
    Opaque,
    children,
    constant,
    is_real,
    number,
    parts,
    plain,
)
from cutune.frontend.program import GridForm

_CEILINGS = frozenset({"ceil", "ceilf", "std::ceil", "std::ceilf", "lceil"})
_CLAMPS = frozenset({"min", "max", "std::min", "std::max", "fmin", "fmax"})
IsBlock = Callable[[Formula], bool]


def grid_form(grid: Formula, block: Sequence[Formula]) -> GridForm:
    """Classify one component of a grid."""

    def is_block(formula: Formula) -> bool:
        return _is_block(formula, block)

    value = constant(grid)
    if value == 1:
        return GridForm.SINGLE
    if is_known_block(grid, block):
        return GridForm.OTHER
    found = _form(plain(grid), is_block)
    if found is not None:
        return found
    if value is not None:
        return GridForm.CONSTANT
    return GridForm.INDEPENDENT if _is_understood(grid) else GridForm.UNKNOWN


def is_known_block(formula: Formula, block: Sequence[Formula]) -> bool:
    """Is it a component of the block by its name?"""
    return any(_is_named(formula, size) for size in block)


def _form(formula: Formula, is_block: IsBlock) -> GridForm | None:
    """The form of a formula in which the block occurs; None without it."""
    match formula:
        case Call(name, (argument,)) if name in _CEILINGS:
            inner = _quotient(plain(argument), is_block)
            return GridForm.FLOAT_CEILING if inner is not None else _held(formula, is_block)
        case Call(name, arguments) if name in _CLAMPS:
            return _held(formula, is_block)
        case Call(_, arguments):
            holds = any(_holds(argument, is_block) for argument in arguments)
            return GridForm.HELPER if holds else None
        case HostOperation("/" | ">>", (_, divisor)):
            numerator = _quotient(formula, is_block)
            if numerator is None:
                return _held(formula, is_block)
            places = constant(divisor) if formula.operator == ">>" else None
            divisor = _power(places) if places is not None else divisor
            terms = list(_terms(numerator, 1))
            is_ceiling = _rounds_up(terms, constant(divisor), is_block)
            return GridForm.CEILING if is_ceiling else GridForm.TRUNCATING
        case HostOperation("+", _):
            return _sum_form(formula, is_block)
        case HostOperation("?:", (_, if_true, if_false)):
            forms = {_form(plain(if_true), is_block), _form(plain(if_false), is_block)}
            is_ceiling = forms == {GridForm.TRUNCATING, GridForm.ONE_MORE}
            return GridForm.CEILING if is_ceiling else _held(formula, is_block)
    return _held(formula, is_block)


def _held(formula: Formula, is_block: IsBlock) -> GridForm | None:
    return GridForm.OTHER if _holds(formula, is_block) else None


def _holds(formula: Formula, is_block: IsBlock) -> bool:
    """Does the block divide anything in the formula, or stand in it by name?"""
    for part in parts(formula):
        match part:
            case HostOperation("/" | "%" | ">>", operands) if is_block(operands[-1]):
                return True
            case Call(_, arguments) if any(map(is_block, arguments)):
                return True
            case Name() if is_block(part) and not isinstance(plain(part), Opaque):
                return True
    return False


def _quotient(formula: Formula, is_block: IsBlock) -> Formula | None:
    """numerator "/" block; the numerator. A product with 1/block is no division of integers."""
    match formula:
        case HostOperation("/", (numerator, denominator)) if is_block(denominator):
            return numerator
        case HostOperation(">>", (numerator, shift)):
            places = constant(shift)
            if places is not None and is_block(_power(places)):
                return numerator
    return None


def _power(places: Fraction) -> Formula:
    return number(Fraction(2) ** min(31, int(places)))


def _sum_form(formula: HostOperation, is_block: IsBlock) -> GridForm | None:
    """quotient "+" 1, quotient "+" (remainder test)."""
    terms = list(_terms(formula, 1))
    quotients = [
        (term, numerator)
        for term, sign in terms
        if sign > 0 and (numerator := _quotient(plain(term), is_block)) is not None
    ]
    if len(quotients) == 1:
        quotient, numerator = quotients[0]
        others = [(term, sign) for term, sign in terms if term is not quotient]
        if len(others) == 1 and others[0][1] > 0:
            other = others[0][0]
            if constant(other) == 1:
                summands = ((constant(term), sign) for term, sign in _terms(numerator, 1))
                is_less_one = any(
                    value is not None and sign * value == -1 for value, sign in summands
                )
                return GridForm.CEILING if is_less_one else GridForm.ONE_MORE
            if _tests_remainder(other, is_block):
                return GridForm.CEILING
    return _held(formula, is_block)


def _tests_remainder(formula: Formula, is_block: IsBlock) -> bool:
    """`n % block != 0`, `n % block > 0`, `!!(n % block)`, `n % block ? 1 : 0`."""
    test = plain(formula)
    is_test = isinstance(test, HostOperation) and test.operator in ("!=", ">", "?:", "!", "&&")
    return is_test and any(
        isinstance(part, HostOperation) and part.operator == "%" and is_block(part.operands[1])
        for part in parts(test)
    )


def _terms(formula: Formula, sign: int) -> Iterator[tuple[Formula, int]]:
    """Summands and their signs."""
    seen = formula
    while isinstance(seen, Cast) and not is_real(seen):
        seen = seen.operand
    definition = plain(seen) if isinstance(seen, Name) else None
    if isinstance(definition, HostOperation) and (
        definition.operator in ("+", "-") or constant(seen) is None
    ):
        seen = definition
    match seen:
        case HostOperation("+", (left, right)):
            yield from _terms(left, sign)
            yield from _terms(right, sign)
        case HostOperation("-", (left, right)):
            yield from _terms(left, sign)
            yield from _terms(right, -sign)
        case _:
            yield seen, sign


def _rounds_up(
    terms: Sequence[tuple[Formula, int]], block: Fraction | None, is_block: IsBlock
) -> bool:
    """numerator = n + block - 1, the constant perhaps folded.

    Where all terms are known numbers, any of them may be n.
    """
    known = [(t, sign) for t, sign in terms if constant(t) is not None or is_block(t)]
    if len(known) < len(terms):
        return _is_rounding(known, block, is_block)
    return any(
        sign > 0 and _is_rounding([*terms[:number], *terms[number + 1 :]], block, is_block)
        for number, (_, sign) in enumerate(terms)
    )


def _is_rounding(
    terms: Sequence[tuple[Formula, int]], block: Fraction | None, is_block: IsBlock
) -> bool:
    """block - 1; what is added besides belongs to what is divided."""
    constants: list[Fraction] = []
    blocks = 0
    for term, sign in terms:
        value = constant(term)
        if value is not None and not (isinstance(term, Name) and is_block(term)):
            constants.append(sign * value)
        else:
            blocks += sign
    if blocks == 1:
        return -1 in constants or sum(constants) == -1
    return blocks == 0 and block is not None and sum(constants) == block - 1 and block > 1


def _is_block(formula: Formula, block: Sequence[Formula]) -> bool:
    """A component of the block, by name or by value; a product of components."""
    if is_known_block(formula, block):
        return True
    value = constant(formula)
    if value is not None and value > 1 and value in map(constant, block):
        return True
    while isinstance(formula, Cast):
        formula = formula.operand
    match formula:
        case HostOperation("*", (left, right)):
            return all(_is_block(factor, block) for factor in (left, right))
        case Name(_, _, definition) if definition is not None and value is None:
            return _is_block(definition, block)
    return False


def _is_named(formula: Formula, size: Formula) -> bool:
    """Do both stand for one name, on any level of their definitions?"""
    return not {*_labels(formula)}.isdisjoint(_labels(size))


def _labels(formula: Formula | None) -> Iterator[str]:
    """The names, and their keys, that a formula stands for."""
    while formula is not None:
        match formula:
            case Cast(_, operand):
                formula = operand
            case Name(text, key, value):
                yield text
                if key is not None:
                    yield key
                formula = value
            case _:
                return


def _is_understood(formula: Formula) -> bool:
    """Is the origin of every leaf known, and is it more than one unknown name?"""
    seen = plain(formula)
    if isinstance(seen, Name | Opaque) or not children(seen):
        return False
    return not any(isinstance(part, Opaque) and part.text == "?" for part in parts(seen))
