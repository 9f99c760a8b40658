"""Programs with fewer operations: what goes, and what must stay for the last bit."""

from __future__ import annotations

from fractions import Fraction

import pytest

from cutune.model.emit.model import simplify
from cutune.model.rational.program import (
    Cell,
    Constant,
    Definition,
    Expression,
    Lookup,
    Operation,
    Operator,
    RationalProgram,
    Reference,
)

#: A size and a column of numbers that are not negative; another one; tables of either kind.
N, WIDTH, ANY = Reference("n"), Reference("width"), Reference("any")
GOOD, MIXED, MINUS_ZERO = (Lookup(name, N) for name in ("good", "mixed", "minus_zero"))
ZERO, ONE = Constant(Fraction(0)), Constant(Fraction(1))


def number(value: int | str) -> Constant:
    return Constant(Fraction(value))


def of(operator: Operator, *operands: Expression) -> Operation:
    return Operation(operator, operands)


def add(first: Expression, second: Expression) -> Operation:
    return of(Operator.ADD, first, second)


def program(*definitions: Definition) -> RationalProgram:
    columns = {"width": (1, 0), "any": (1, -1)}
    tables = {"good": (0.0, 2.5), "mixed": (1.0, -1.0), "minus_zero": (1.0, -0.0)}
    return RationalProgram(("n",), columns, tables, definitions, 2)


def simplified(value: Expression) -> Expression:
    (definition,) = simplify(program(Definition("kept", value)), ("kept",)).definitions
    return definition.value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (of(Operator.MULTIPLY, ONE, ANY), ANY),
        (of(Operator.MULTIPLY, ANY, ONE), ANY),
        (of(Operator.MULTIPLY, ONE, ONE), ONE),
        (add(ZERO, N), N),
        (add(N, ZERO), N),
        (add(WIDTH, ZERO), WIDTH),
        (add(GOOD, ZERO), GOOD),
        (add(ZERO, Cell("good", N)), Cell("good", N)),
        # Within others.
        (of(Operator.FLOOR, add(N, ZERO)), of(Operator.FLOOR, N)),
        (Lookup("good", add(N, ZERO)), GOOD),
        (Cell("mixed", of(Operator.MULTIPLY, N, ONE)), Cell("mixed", N)),
        (of(Operator.CHOICE, ONE, add(N, ZERO), ZERO), of(Operator.CHOICE, ONE, N, ZERO)),
    ],
)
def test_what_changes_nothing_goes(value: Expression, expected: Expression) -> None:
    assert simplified(value) == expected


@pytest.mark.parametrize(
    "operator",
    [
        Operator.ADD, Operator.MULTIPLY, Operator.DIVIDE, Operator.MIN, Operator.MAX,
        Operator.LESS, Operator.LESS_EQUAL, Operator.EQUAL,
    ],
)  # fmt: skip
def test_a_zero_goes_where_all_operands_are_above(operator: Operator) -> None:
    above = of(operator, N, WIDTH)
    assert simplified(add(above, ZERO)) == above
    for operands in ((N, ANY), (ANY, N)):
        perhaps = add(of(operator, *operands), ZERO)
        assert simplified(perhaps) == perhaps


@pytest.mark.parametrize(
    "value",
    [
        # -0 + 0 is 0, so a zero stays beside what may be -0.
        add(ANY, ZERO),
        add(ZERO, MIXED),
        add(ZERO, MINUS_ZERO),
        add(of(Operator.SUBTRACT, N, N), ZERO),
        add(of(Operator.REMAINDER, N, N), ZERO),
        add(of(Operator.CEILING, N), ZERO),
        add(Reference("elsewhere"), ZERO),
        # Not equal to the last bit, or of another kind.
        of(Operator.MULTIPLY, N, ZERO),
        of(Operator.MULTIPLY, N, number(2)),
        of(Operator.DIVIDE, ONE, N),
        of(Operator.DIVIDE, N, ONE),
        of(Operator.SUBTRACT, N, ZERO),
        add(N, ONE),
        # Constants that the machine computes itself.
        of(Operator.DIVIDE, ONE, ZERO),
        of(Operator.DIVIDE, ONE, number(-2)),
        of(Operator.SUBTRACT, ONE, number(3)),
        of(Operator.MULTIPLY, number(-1), ZERO),
        of(Operator.MULTIPLY, ZERO, number(-1)),
        of(Operator.MULTIPLY, number(10**200), number(10**200)),
        add(number(-1), ZERO),
        add(number(1), number(-3)),
        of(Operator.FLOOR, number("5/2")),
        of(Operator.MAX, ONE, number(2)),
    ],
)
def test_all_else_stays(value: Expression) -> None:
    assert simplified(value) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (add(number("1/10"), number("1/5")), Constant(Fraction(0.1 + 0.2))),
        (of(Operator.MULTIPLY, number("1/10"), number(3)), Constant(Fraction(0.1 * 3))),
        (of(Operator.DIVIDE, ONE, number(3)), Constant(Fraction(1 / 3))),
        (of(Operator.MULTIPLY, number(-2), number(-3)), number(6)),
        (add(number(-2), number(3)), ONE),
        (add(ZERO, ZERO), ZERO),
        (of(Operator.DIVIDE, ZERO, number(3)), ZERO),
        (add(add(ONE, ONE), of(Operator.MULTIPLY, ONE, number(5))), number(7)),
    ],
)
def test_constants_are_folded_as_the_machine_does(value: Expression, expected: Expression) -> None:
    assert simplified(value) == expected


def test_a_definition_that_is_constant_stands_where_it_is_used() -> None:
    first = Definition("first", add(ONE, ONE))
    second = Definition("second", add(N, Reference("first")))
    found = simplify(program(first, second), ("second",))
    assert found.definitions == (Definition("second", add(N, number(2))),)
    # One that is asked for stays.
    assert [d.name for d in simplify(program(first, second), ("first",)).definitions] == [
        "first",
        "second",
    ]


def test_definitions_are_known_to_be_above() -> None:
    definitions = (
        Definition("above", add(N, WIDTH)),
        Definition("perhaps", of(Operator.SUBTRACT, N, WIDTH)),
        Definition("first", add(Reference("above"), ZERO)),
        Definition("second", add(Reference("perhaps"), ZERO)),
    )
    found = {d.name: d.value for d in simplify(program(*definitions), ()).definitions}
    assert found["first"] == Reference("above")
    assert found["second"] == add(Reference("perhaps"), ZERO)
