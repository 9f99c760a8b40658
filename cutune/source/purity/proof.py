"""The result of a proof about one function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pycparser import c_ast

from cutune.source.function.bindings import Bindings
from cutune.source.function.members import NO_MEMBERS, BoundMembers
from cutune.source.program import DimensionProof, Impurity, KernelParameter
from cutune.source.unit.unit import FunctionText
from cutune.source.values.polynomial import IntegerPolynomial
from cutune.source.values.values import Value


@dataclass(frozen=True)
class Proof:
    """What is proven about one function."""

    text: FunctionText
    parameters: tuple[KernelParameter, ...]
    impurity: Impurity | None
    dimensions: tuple[DimensionProof, DimensionProof, DimensionProof]
    has_effects: bool = False
    #: Does it read memory that is the same for all threads if its arguments are?
    reads: bool = False
    result: Value | None = None
    #: The guards as polynomials, by dimension.
    limits: Mapping[str, IntegerPolynomial] = field(default_factory=dict)
    #: The tree and its bindings, for further analyses; None if it was not understood.
    tree: c_ast.FuncDef | None = None
    bindings: Bindings | None = None
    #: Integers in structures that are parameters, which `bindings` has as parameters, too.
    bound: BoundMembers = NO_MEMBERS
    #: What makes a dimension impure, as its message names it; perhaps in a function that it calls.
    raw: Mapping[str, str] = field(default_factory=dict)


NO_DIMENSIONS = (DimensionProof(False), DimensionProof(False), DimensionProof(False))
