"""Which numbers are never negative: of values whose ranges are known."""

from __future__ import annotations

import pytest

from cutune.proof.flow.graph import Graph
from cutune.proof.flow.ranges import Ranges
from cutune.proof.flow.walk import Walk
from cutune.proof.values.operations import Operations
from cutune.proof.values.polynomial import IntegerPolynomial
from cutune.proof.values.terms import AtomOperation, AtomProperties, Atoms, Interval
from cutune.ptx.control_flow import control_flow
from cutune.ptx.parse import parse

EMPTY = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry kernel() { ret; }\n"
ATOMS = Atoms()
SMALL, OTHER, SIGNED = (
    ATOMS.named(name, AtomProperties(interval=interval))
    for name, interval in (
        ("small", Interval(0, 7)),
        ("other", Interval(1, 7)),
        ("signed", Interval(-3, 7)),
    )
)
LEAST = ATOMS.computed(AtomOperation("min.s32", (SMALL, OTHER)), AtomProperties())


def of(value: int) -> IntegerPolynomial:
    return IntegerPolynomial.constant(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (SMALL, True),
        (SIGNED, False),
        (SIGNED + of(3), True),
        # Products: by the ends of both.
        (SMALL * OTHER, True),
        (SMALL * SIGNED, False),
        (SMALL * SIGNED + of(21), True),
        (SMALL * SIGNED + of(20), False),
        (of(49) - SMALL * OTHER, True),
        (of(48) - SMALL * OTHER, False),
        # A minimum is at most both.
        (OTHER - LEAST, True),
        (of(7) - LEAST, True),
        (SMALL - LEAST, True),
        (SMALL - of(2) * LEAST, False),
        (of(7) - of(2) * LEAST, False),
    ],
)
def test_what_is_never_negative(value: IntegerPolynomial, expected: bool) -> None:
    (function,) = parse(EMPTY).functions.values()
    graph = Graph(control_flow(function, lambda name: True))
    walk = Walk(graph, ATOMS, Operations(ATOMS), {}, frozenset(), lambda moment: False)
    assert (Ranges(walk).not_negative(value, frozenset()) is not None) is expected
