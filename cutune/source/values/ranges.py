"""Variables that only grow, or only shrink. Takes their assignments, gives their limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pycparser import c_ast

from cutune.source.function.bindings import DeviceVariable
from cutune.source.values.guards import Range
from cutune.source.values.polynomial import BLOCK_SIZE, GRID_SIZE, STRIDE, IntegerPolynomial

_POSITIVE = frozenset({STRIDE, GRID_SIZE, BLOCK_SIZE})


def limits(
    variable: DeviceVariable,
    first_values: Sequence[IntegerPolynomial],
    is_positive_step: Callable[[c_ast.Node], bool],
) -> Range:
    """The lower limit of a growing variable, the upper of a shrinking one: its first value.

    `first_values` are those plain assignments that have been evaluated; all of them must have
    been, and agree.
    """
    if variable.escapes or variable.type is None or variable.is_parameter or not variable.steps:
        return Range()
    if len(first_values) != len(variable.values) or len(set(first_values)) != 1:
        return Range()
    directions = {_direction(op, step, is_positive_step) for op, step in variable.steps}
    if directions == {1}:
        return Range(lower=first_values[0])
    return Range(upper=first_values[0]) if directions == {-1} else Range()


def _direction(
    op: str, step: c_ast.Node | None, is_positive_step: Callable[[c_ast.Node], bool]
) -> int:
    """1 where the step makes the variable larger, -1 where smaller, 0 where that is not certain."""
    if step is None:
        return 1 if op == "++" else -1
    sign = {"+=": 1, "-=": -1}.get(op, 0)
    return sign if sign and is_positive_step(step) else 0


def is_positive(polynomial: IntegerPolynomial) -> bool:
    """Is it a sum of positive literals and products of sizes?"""
    return bool(polynomial.terms) and all(
        coefficient > 0 and all(atom.kind in _POSITIVE for atom in monomial)
        for monomial, coefficient in polynomial.terms
    )
