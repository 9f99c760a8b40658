"""Kernels as their text declares them. Takes a unit, gives `Kernel`s of which nothing is proven.

The text supplies names: of kernels, parameters, template parameters and members of structures. What
may change about a launch is proven on the compiled code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from cutune.core.codes import Code
from cutune.source.program import DimensionProof, Impurity, Kernel, KernelParameter, MemberParameter
from cutune.source.syntax.functions import SourceFunction
from cutune.source.unit.launch_bounds import LaunchBounds
from cutune.source.unit.parameters import DeclaredParameter, parameter_of
from cutune.source.unit.structures import Structures
from cutune.source.unit.unit import FunctionText, Unit, UnitPart

_UNKNOWN = DimensionProof(False)
#: What the extents of a launch are called: `T.x`, `G.x`.
_EXTENT = re.compile(r"[TG]\.[xyz]")


def declared_kernels(unit: Unit, structures: Structures) -> Iterator[Kernel]:
    """Every kernel definition of a unit, in the order of the texts."""
    bounds = LaunchBounds(unit)
    for part in unit.parts:
        for function in part.syntax.kernels:
            yield _kernel(unit, structures, part, function, bounds)


def _kernel(
    unit: Unit,
    structures: Structures,
    part: UnitPart,
    function: SourceFunction,
    bounds: LaunchBounds,
) -> Kernel:
    text = unit.text(part, function)
    declared = list(map(parameter_of, text.parameters))
    of_each = (_members(structures, text, *numbered) for numbered in enumerate(declared))
    return Kernel(
        function.name,
        part.source,
        text.span,
        tuple(KernelParameter(one.name, one.type) for one in declared),
        text.template_parameters,
        (_UNKNOWN, _UNKNOWN, _UNKNOWN),
        Impurity(Code.NO_COMPILED_CODE, Code.NO_COMPILED_CODE.template, text.span),
        max_threads=bounds.of(function.name, text.head),
        members=tuple(chain.from_iterable(of_each)),
    )


def _members(
    structures: Structures, text: FunctionText, position: int, parameter: DeclaredParameter
) -> Iterator[MemberParameter]:
    """The integers in a parameter that is a structure."""
    # The type of a template parameter is not known.
    is_known = not text.type_parameters & {*parameter.value}
    structure = structures.of(parameter.value) if is_known else None
    if structure is None:
        return
    for member in structures.integers(structure):
        name = f"{parameter.name}.{member.name}"
        if not _EXTENT.fullmatch(name):
            yield MemberParameter(name, member.type, position, structure.path, member.steps)
