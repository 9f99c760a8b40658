"""Polynomials and their quotients over data parameters. `exact_fit` fits them to counted totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product, starmap
from math import lcm, prod

import numpy as np
from numpy.typing import NDArray

from cutune.model.rational.program import Expression, Reference, expression, size_name

Exponents = tuple[int, ...]
Floats = NDArray[np.float64]

MAX_DEGREE_PER_VARIABLE = 3
#: Singular values up to this, relative to the largest, count as 0.
SINGULAR = 1e-10


@dataclass(frozen=True)
class Polynomial:
    """A sum of coefficient * product(variable ** exponent)."""

    variables: tuple[str, ...]
    terms: tuple[tuple[Exponents, Fraction], ...]

    def __call__(self, values: Mapping[str, int]) -> Fraction:
        point = [values[name] for name in self.variables]
        denominator, terms = self._over_one_denominator
        return Fraction(sum(c * monomial(point, e) for e, c in terms), denominator)

    @cached_property
    def _over_one_denominator(self) -> tuple[int, list[tuple[Exponents, int]]]:
        """Its value is the sum of these terms, by this number: integers are added quickly."""
        denominator = lcm(*(c.denominator for _, c in self.terms))
        return denominator, [(e, int(c * denominator)) for e, c in self.terms]

    def __mul__(self, other: Polynomial) -> Polynomial:
        terms: dict[Exponents, Fraction] = {}
        for (one, a), (two, b) in product(self.terms, other.terms):
            powers = tuple(map(sum, zip(one, two, strict=True)))
            terms[powers] = terms.get(powers, Fraction(0)) + a * b
        return Polynomial(self.variables, tuple(term for term in sorted(terms.items()) if term[1]))

    def expression(self, names: Sequence[str] | None = None) -> Expression:
        """A node of a rational program with the same value, in nested (Horner) form.

        `names`: of the variables there; by default all are sizes.
        """
        return _horner(tuple(names or map(size_name, self.variables)), self.terms)


@dataclass(frozen=True)
class RationalFunction:
    """numerator / denominator, and the evidence for it.

    Attributes:
        exact: is every sample met exactly, also the held-out ones?
        held_out_error: the largest relative error at the largest sizes, which the fit did not use.
        residual: the largest relative error at the samples that it used.
        rank, unknowns: of the system of equations, without the unknown that scales all others.
    """

    numerator: Polynomial
    denominator: Polynomial
    exact: bool
    held_out_error: float
    residual: float = 0.0
    rank: int = 1
    unknowns: int = 1

    @property
    def is_zero(self) -> bool:
        return not any(coefficient for _, coefficient in self.numerator.terms)

    def __call__(self, values: Mapping[str, int]) -> Fraction:
        """The value at a point; raises ZeroDivisionError where the denominator is 0."""
        return self.numerator(values) / self.denominator(values)

    def expression(self, names: Sequence[str] | None = None) -> Expression:
        """A node of a rational program with the same value; `names` as in `Polynomial`."""
        if all(not any(e) for e, _ in self.denominator.terms):
            return self.numerator.expression(names)
        return self.numerator.expression(names) / self.denominator.expression(names)


def constant_function(variables: tuple[str, ...], value: int | Fraction) -> RationalFunction:
    """The function that is `value` everywhere."""
    powers = (0,) * len(variables)
    top = Polynomial(variables, ((powers, Fraction(value)),) if value else ())
    return RationalFunction(top, Polynomial(variables, ((powers, Fraction(1)),)), True, 0.0)


def exponents_up_to(
    points: Sequence[Sequence[int]], used: Sequence[int], degree: int
) -> list[Exponents]:
    """Monomials of bounded total degree, no variable higher than its distinct samples determine."""
    width = len(points[0])
    levels = [len({points[s][v] for s in used}) - 1 for v in range(width)]
    ranges = [range(min(level, MAX_DEGREE_PER_VARIABLE) + 1) for level in levels]
    return sorted((e for e in product(*ranges) if sum(e) <= degree), key=lambda e: (sum(e), e))


def monomial(point: Sequence[int], exponents: Exponents) -> int:
    return prod(starmap(pow, zip(point, exponents, strict=True)))


def monomials(points: Floats, exponents: list[Exponents]) -> Floats:
    """Products of powers, a row per point and a column per monomial."""
    columns = [np.prod(points ** np.array(exponent), axis=1) for exponent in exponents]
    return np.stack(columns, axis=1)


def _horner(names: tuple[str, ...], terms: Sequence[tuple[Exponents, Fraction]]) -> Expression:
    if not terms:
        return expression(0)
    if not names:
        return expression(terms[0][1])
    by_power: dict[int, list[tuple[Exponents, Fraction]]] = {}
    for exponents, coefficient in terms:
        by_power.setdefault(exponents[0], []).append((exponents[1:], coefficient))
    variable = Reference(names[0])
    powers = sorted(by_power, reverse=True)
    result = _horner(names[1:], by_power[powers[0]])
    for power in range(powers[0] - 1, -1, -1):
        result = result * variable
        if power in by_power:
            result = result + _horner(names[1:], by_power[power])
    return result
