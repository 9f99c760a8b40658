"""Quotients, remainders, least and greatest ones of sums: equal to what registers hold, or None."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from itertools import product
from math import prod

import pytest

from cutune.proof.values.operations import chosen, divided
from cutune.proof.values.polynomial import Atom, IntegerPolynomial
from cutune.proof.values.terms import AtomProperties, Atoms, Interval

#: Ranges of `a` and `b`.
RANGES = {
    "a": Interval(0, 3),
    "b": Interval(0, 9),
    "far": Interval(0, 1 << 31),
    "c": Interval(-2, 2),
}
OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "shr": operator.rshift,
    "div": operator.floordiv,
    "rem": operator.mod,
    "and": operator.and_,
}


@pytest.fixture
def atoms() -> Atoms:
    return Atoms()


def named(atoms: Atoms, name: str) -> IntegerPolynomial:
    return atoms.named(name, AtomProperties(interval=RANGES[name]))


def number(value: int) -> IntegerPolynomial:
    return IntegerPolynomial.constant(value)


def value_of(polynomial: IntegerPolynomial, known: Mapping[str, int], atoms: Atoms) -> int:
    def of_atom(atom: Atom) -> int:
        operation = atoms.operation(atom)
        if operation is None:
            return known[atom.name]
        first, second = (value_of(one, known, atoms) for one in operation.numbers)
        return OPERATIONS[operation.name.split(".")[0]](first, second)

    return sum(
        coefficient * prod(of_atom(atom) for atom in monomial)
        for monomial, coefficient in polynomial.terms
    )


@pytest.mark.parametrize("opcode", ["shr", "div", "rem", "and"])
@pytest.mark.parametrize("constant", [0, 1, 3, 4, 31, 63])
@pytest.mark.parametrize("by", [1, 2, 3, 4, 7, 8, 12, 28, 96])
def test_parts_are_exact(atoms: Atoms, opcode: str, constant: int, by: int) -> None:
    a, b = named(atoms, "a"), named(atoms, "b")
    for first, second in product((1, 4, 12, 32), repeat=2):
        value = number(first) * a + number(second) * b + number(constant)
        found = divided(opcode, "u32", (value, number(by)), atoms)
        if found is None:
            continue
        for known in ({"a": x, "b": y} for x in range(4) for y in range(10)):
            expected = OPERATIONS[opcode](value_of(value, known, atoms), by)
            assert value_of(found, known, atoms) == expected


def test_what_is_known(atoms: Atoms) -> None:
    a, b = named(atoms, "a"), named(atoms, "b")
    value = number(4) * b + a
    assert divided("shr", "s32", (value, number(2)), atoms) == b
    assert divided("and", "b32", (value, number(3)), atoms) == a
    assert divided("and", "b64", (number(32) * value, number(96)), atoms) == number(32) * a
    assert divided("div", "u32", (value + number(4), number(4)), atoms) == b + number(1)
    bit = divided("and", "b32", (value, number(2)), atoms)
    assert bit is not None and [*bit.atoms] != [*a.atoms]
    assert bit == divided("and", "b32", (value + number(4), number(2)), atoms)
    assert atoms.interval(bit) == (0, 2)
    # Bits of the other factor are in the mask, and a rest alone is no simpler.
    assert divided("and", "b32", (value, number(4)), atoms) is None
    assert divided("and", "b32", (a, number(2)), atoms) is None
    assert divided("rem", "u32", (value, number(4)), atoms) == a
    assert chosen("max", "s32", (b, number(0)), atoms) == b
    assert chosen("min", "u32", (a, number(3)), atoms) == a


def test_what_is_not(atoms: Atoms) -> None:
    a, b, c, far = (named(atoms, name) for name in ("a", "b", "c", "far"))
    # The rest is too large, may be negative, or the sum may not fit.
    assert divided("shr", "u32", (number(4) * b + a + number(1), number(2)), atoms) is None
    assert divided("shr", "u32", (number(4) * b + c, number(2)), atoms) is None
    assert divided("shr", "s32", (number(4) * c + a, number(2)), atoms) is None
    assert divided("shr", "u32", (number(4) * far + a, number(2)), atoms) is None
    assert divided("and", "b32", (number(4) * b + a, number(5)), atoms) is None
    assert divided("div", "s32", (number(4) * b + a, number(-4)), atoms) is None
    assert divided("div", "u32", (number(4) * b + a, number(0)), atoms) is None
    # What the register holds of the number counts: 3, -3.
    assert divided("rem", "u32", (number(4) * b + a, number((1 << 32) + 3)), atoms) is None
    assert divided("div", "s32", (number(4) * b + a, number((1 << 32) - 3)), atoms) is None
    assert divided("and", "b32", (number(4) * b + a, number((1 << 32) + 3)), atoms) == a
    assert chosen("max", "s32", (b, number(1)), atoms) is None
    assert chosen("max", "u32", (c, number(0)), atoms) is None
    assert chosen("min", "s32", (a, number(2)), atoms) is None
