"""Arrays that two functions leave: do they agree? Takes arrays, gives how far they are apart.

Integers must be equal, real numbers up to a tolerance, relative to the terms that a result is made
of. How large these are is measured: when the reference's inputs move by the last bits that they
have, terms move the result by so much. A sum of large numbers that cancel is thus not asked for
digits that no order of adding gives; other results are, nearly, relative to themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutune.check.call_plan import NumberType

#: Terms count as so many times the largest result of the array at most.
_LARGEST_TERMS = 1000.0
#: Sums of more elements are given more, as roundings add up: with the root of their number.
_ELEMENTS = 4096


@dataclass(frozen=True)
class ArrayAgreement:
    """`worst`: the largest distance by what is allowed; more than 1: `count` elements differ."""

    worst: float
    index: int = 0
    expected: float = 0.0
    found: float = 0.0
    count: int = 0

    def said(self, name: str) -> str:
        expected, found = (f"{one:.9g}" for one in (self.expected, self.found))
        if expected == found:
            expected, found = repr(self.expected), repr(self.found)
        more = f", {self.count} elements differ" if self.count > 1 else ""
        return f"{name}[{self.index}] is {found} in place of {expected}{more}"


def array_agreement(
    type_: NumberType,
    expected: NDArray[Any],
    found: NDArray[Any],
    moved: Sequence[NDArray[Any]],
    tolerance: float | None,
    elements: int,
) -> ArrayAgreement:
    """Compare what lies in memory.

    `moved`: what inputs that are moved by `epsilon` lead to; `elements` of the largest array.
    """
    a, b = type_.numbers(expected), type_.numbers(found)
    with np.errstate(all="ignore"):
        distances = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.inf)
        if type_.is_real:
            relative = tolerance
            if relative is None:
                relative = type_.tolerance * max(1.0, (elements / _ELEMENTS) ** 0.5)
            allowed = relative * (np.abs(a) + _terms(type_, a, moved)) + np.finfo(np.float32).tiny
            is_finite = np.isfinite(a) & np.isfinite(b) & (distances > 0)
            distances = np.where(is_finite, np.abs(a - b) / allowed, distances)
    places = np.flatnonzero(distances > 1)
    worst = float(np.max(distances, initial=0.0))
    if not len(places):
        return ArrayAgreement(worst)
    first = int(places[0])
    return ArrayAgreement(worst, first, a[first].item(), b[first].item(), len(places))


def _terms(type_: NumberType, a: NDArray[Any], moved: Sequence[NDArray[Any]]) -> NDArray[Any]:
    others = [type_.numbers(one) for one in moved]
    steps = [np.where(np.isfinite(one), one - a, 0.0) ** 2 for one in others]
    largest = np.max(np.abs(a), initial=0.0, where=np.isfinite(a))
    terms = np.nan_to_num(np.sqrt(np.sum([np.zeros(a.shape), *steps], axis=0)) / type_.epsilon)
    most: NDArray[Any] = np.minimum(terms, _LARGEST_TERMS * largest)
    return most
