"""Values of expressions, and findings of their evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from pycparser import c_ast

from cutune.core.codes import Code
from cutune.source.unit.integers import IntegerType
from cutune.source.values.guards import NO_BOUNDS, GuardBounds
from cutune.source.values.polynomial import IntegerPolynomial


class Value(NamedTuple):
    """A polynomial; its type if it is an integer; is it the same in all threads?

    `if_true` and `if_false` are the bounds that hold after a test of the value.
    """

    polynomial: IntegerPolynomial
    type: IntegerType | None
    uniform: bool = False
    if_true: GuardBounds = NO_BOUNDS
    if_false: GuardBounds = NO_BOUNDS


class CalledFunction(NamedTuple):
    """The proof of a called function in short: does it touch memory, and its value if known."""

    has_effects: bool
    result: Value | None
    #: Does it read memory that is the same for all threads if its arguments are?
    reads: bool = False


@dataclass
class Findings:
    """Findings of the evaluation of one function."""

    #: The first rule that refuses the whole function.
    refusal: tuple[Code, str, c_ast.Node] | None = None
    #: Per dimension, the first use of a raw built-in: its name and where.
    raw: dict[str, tuple[str, c_ast.Node]] = field(default_factory=dict)
    indexed: set[str] = field(default_factory=set)
    strides: set[str] = field(default_factory=set)
    #: For each effect, the bounds under which it lies.
    effects: list[GuardBounds] = field(default_factory=list)
    #: Is memory read whose address is the same in all threads (or for the same arguments)?
    reads: bool = False

    def refuse(self, code: Code, what: str, node: c_ast.Node) -> None:
        """Keep the first refusal; one for warp-level code, which may be annotated, gives way."""
        is_kept = self.refusal is not None and (
            self.refusal[0] is not Code.WARP_LEVEL or code in (Code.WARP_LEVEL, Code.BARRIER)
        )
        if not is_kept:
            self.refusal = (code, what, node)
