"""Kernels as their text declares them. Takes a unit, gives `Kernel`s of which nothing is proven.

The text supplies names: of kernels, parameters, template parameters and members of structures. What
may change about a launch is proven on the compiled code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile

from cutune.core.codes import Code
from cutune.source.program import DimensionProof, Impurity, Kernel, KernelParameter, MemberParameter
from cutune.source.syntax.functions import SourceFunction
from cutune.source.syntax.tokens import Token
from cutune.source.unit.integers import QUALIFIERS, SCOPE
from cutune.source.unit.structures import Structures
from cutune.source.unit.unit import FunctionText, Unit, UnitPart


@dataclass(frozen=True)
class DeclaredParameter(KernelParameter):
    """A parameter as it is declared.

    `value`: the words of the type where an object of it is passed, `a::b` as one word.
    """

    value: tuple[str, ...]


def parameter_of(tokens: Sequence[Token]) -> DeclaredParameter:
    """parameter = type NAME? ("[" … "]")* ("=" default)?."""
    tokens = list(takewhile(lambda token: token.text != "=", tokens))
    brackets = next((i for i, token in enumerate(tokens) if token.text == "["), len(tokens))
    is_named = _is_named(tokens[:brackets])
    name = tokens[brackets - 1].text if is_named else ""
    type_tokens = [*tokens[: brackets - 1 if is_named else brackets], *tokens[brackets:]]
    texts = [token.text for token in type_tokens]
    is_pointer = not {"*", "[", "(", "..."}.isdisjoint(texts)
    is_reference = not {"&", "&&"}.isdisjoint(texts)
    value = () if is_pointer or is_reference else tuple(_folded(texts))
    return DeclaredParameter(name, type_text(texts), value)


def _is_named(tokens: Sequence[Token]) -> bool:
    names = [token for token in tokens if token.kind == "IDENTIFIER"]
    return len(names) > 1 and tokens[-1] is names[-1] and tokens[-2].text != "::"


def type_text(texts: Sequence[str]) -> str:
    """The type as one would write it."""
    text = " ".join(texts)
    text = re.sub(r"\s*(::|<|>|\[|\]|\(|\))\s*", r"\1", text)
    text = re.sub(r"\* (?=\*)", "*", text)
    text = re.sub(r"\s+,", ",", text)
    return re.sub(r"([>\w])(?=[*&])|(>)(?=\w)", r"\1\2 ", text).strip()


def _folded(texts: Sequence[str]) -> list[str]:
    """`std :: size_t` as one word; a template argument list makes it no integer."""
    words: list[str] = []
    for index, text in enumerate(texts):
        if text in QUALIFIERS:
            continue
        if text == "::" and words:
            words[-1] += SCOPE
        elif index and texts[index - 1] == "::" and words:
            words[-1] += text
        else:
            words.append(text)
    return words


_UNKNOWN = DimensionProof(False)
#: What the extents of a launch are called: `T.x`, `G.x`.
_EXTENT = re.compile(r"[TG]\.[xyz]")


def declared_kernels(unit: Unit, structures: Structures) -> Iterator[Kernel]:
    """Every kernel definition of a unit, in the order of the texts."""
    for part in unit.parts:
        for function in part.syntax.kernels:
            yield _kernel(unit, structures, part, function)


def _kernel(unit: Unit, structures: Structures, part: UnitPart, function: SourceFunction) -> Kernel:
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
        members=tuple(chain.from_iterable(of_each)),
    )


def _members(
    structures: Structures, text: FunctionText, position: int, parameter: DeclaredParameter
) -> Iterator[MemberParameter]:
    # The type of a template parameter is not known.
    is_known = not text.type_parameters & {*parameter.value}
    structure = structures.of(parameter.value) if is_known else None
    if structure is None:
        return
    for member in structures.integers(structure):
        name = f"{parameter.name}.{member.name}"
        if not _EXTENT.fullmatch(name):
            yield MemberParameter(name, member.type, position, structure.path, member.steps)
