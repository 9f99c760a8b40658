"""Formulas of integers in files, such as guard bounds. Takes C text and sizes, gives values."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from cutune.fit.rational.from_c import parse_expression
from cutune.fit.rational.nodes import parameters
from cutune.fit.rational.values import value_of

_LARGEST = 1 << 62
_TIE = re.compile(
    r"(?P<open>\()?(?P<name>[^\s()+*/-]+)(?: (?P<sign>[+-]) (?P<added>\d{1,6}))?(?(open)\))"
    r"(?: / (?P<divisor>[1-9]\d{0,5})| \* (?P<factor>[1-9]\d{0,5}))?",
    re.ASCII,
)


def is_formula(text: str, names: Collection[str] | None = None) -> bool:
    """Is it a formula that can be read, of these names?"""
    expression = parse_expression(text)
    return expression is not None and (names is None or {*parameters(expression)} <= {*names})


def whole_value(text: str, values: Mapping[str, int]) -> int | None:
    """The integer that a formula is; None where it divides by 0, or is too large for 64 bits.

    Raises:
        KeyError: a name has no value.
    """
    expression = parse_expression(text)
    value = math.nan if expression is None else value_of(expression, values)
    return int(value) if abs(value) < _LARGEST else None


@dataclass(frozen=True)
class Tie:
    """The way a size follows from another: (factor * source + added) / divisor, truncated."""

    source: str
    factor: int
    added: int
    divisor: int


def tie_of(text: str, names: Collection[str]) -> Tie | None:
    """The tie that C text states: `(n + 1) / 2`, `n * 4`, `n - 1`; None: it states something else.

    Numbers are so small that no size below 2^32 makes more than 64 bits of it.
    """
    match = _TIE.fullmatch(text)
    if match is None or match["name"] not in names:
        return None
    has_both = match["added"] and (match["divisor"] or match["factor"])
    if bool(match["open"]) != bool(has_both) or (match["open"] and match["factor"]):
        return None
    added = int(f"{match['sign'] or '+'}{match['added'] or 0}")
    return Tie(match["name"], int(match["factor"] or 1), added, int(match["divisor"] or 1))
