"""Rational programs, as which every performance model is written.

A program takes integer data parameters (sizes) and the integers that describe one candidate, and
evaluates named rational quantities by a straight line of definitions (Brandt et al., section 2).
Expressions are made of integers and rationals, + - * /, floor, ceil and comparison; a choice is a
branch node of the flow chart. Constant tables, too, because a candidate has entries in them.
Three readers: `evaluate` (numpy, all candidates at once), `emit` (C), and reports.

Numbers are IEEE doubles in both readers, with the same operations in the same order, so that
`evaluate` and the compiled C agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cutune.device.thread_block import EXTENTS
from cutune.fit.rational.nodes import CANDIDATE, Expression, parameters


@dataclass(frozen=True)
class Definition:
    """One line of a program: a name for the value of an expression over earlier definitions.

    `meaning`: a short description, or empty.
    """

    name: str
    value: Expression
    meaning: str = ""


def size_name(word: str) -> str:
    """The name of a data parameter or an extent in a program.

    The prefix avoids clashes: a kernel's parameter may be called `steps` or `blocks` as
    definitions.
    """
    return word if word in EXTENTS else f"size_{word}"


def point(sizes: Mapping[str, Any], extents: Sequence[Any]) -> dict[str, Any]:
    """The input of a program: data parameters by `size_name`, and the three extents."""
    named = {size_name(word): value for word, value in sizes.items()}
    return named | dict(zip(EXTENTS, extents, strict=True))


@dataclass(frozen=True)
class RationalProgram:
    """A straight line of definitions.

    Attributes:
        sizes: names of what is known once per launch, as `size_name` gives them.
        properties: per name one integer per candidate, a static table of the emitted code.
        tables: constant tables for `Lookup` and, row by row, for `Cell`; entries are exactly
            representable as C floats.
        definitions: in order of evaluation.
    """

    sizes: tuple[str, ...]
    properties: Mapping[str, tuple[int, ...]]
    tables: Mapping[str, tuple[float, ...]]
    definitions: tuple[Definition, ...]
    candidate_count: int = field(default=0)

    def per_candidate(self) -> frozenset[str]:
        """Names whose value differs between candidates; all others are known once per launch."""
        names = set(self.properties) | {CANDIDATE}
        for definition in self.definitions:
            if any(name in names for name in parameters(definition.value)):
                names.add(definition.name)
        return frozenset(names)


#: Prefix of definitions with the microseconds of one part of the work alone, for reports only.
TERM = "term_"
