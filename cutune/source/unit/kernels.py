"""Kernels as their text declares them, and structures that they get. Takes a unit, gives `Kernel`s.

The text supplies names: of kernels, parameters, template parameters and members of structures. What
may change about a launch is proven on the compiled code, and the compiler decides where members
lie. A structure is plain if its text shows all its members: CUDA's vector types, and each `struct`
at namespace scope without bases, unions, virtual functions and members that are not public.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, takewhile
from typing import NamedTuple

from cutune.core.codes import Code
from cutune.source.program import DimensionProof, Impurity, Kernel, KernelParameter, MemberParameter
from cutune.source.syntax.directives import CLOSER
from cutune.source.syntax.parse import SourceFunction, Syntax
from cutune.source.syntax.tokens import Token, word_set
from cutune.source.unit.integers import QUALIFIERS, SCOPE, integer_type
from cutune.source.unit.unit import (
    FunctionText,
    Unit,
    UnitPart,
    defined_types,
    scope_around,
    split_commas,
)

_REFUSED = word_set("union class enum struct private protected volatile")
_NO_MEMBERS = word_set("static using typedef friend template static_assert")
_BASES = {
    "char": "signed char",
    "uchar": "unsigned char",
    "short": "short",
    "ushort": "unsigned short",
    "int": "int",
    "uint": "unsigned int",
    "float": "float",
    "double": "double",
}
_POINTER = ("*",)
_DEEPEST = 3


@dataclass(frozen=True)
class Structure:
    """A plain structure: its name anywhere, and the words of its members' types in their order."""

    path: str
    members: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class IntegerMember:
    """An integer within a structure: `name.name`, and the pointers to members that lead to it."""

    name: str
    type: str
    steps: tuple[str, ...]


@dataclass(frozen=True)
class Structures:
    """The plain structures that a unit knows."""

    unit: Unit

    def of(self, words: Sequence[str], depth: int = 0) -> Structure | None:
        """The structure that a type names, or None for any other type."""
        names = [word for word in words if word not in QUALIFIERS]
        if len(names) != 1 or depth > _DEEPEST:
            return None
        name = names[0].rsplit(SCOPE, 1)[-1]
        found = self._by_name.get(name)
        if found is not None:
            is_named = f"::{names[0].replace(SCOPE, '::')}".removeprefix("::::")
            return found if found.path.endswith(is_named) else None
        if name in self._by_name or SCOPE in names[0]:
            return None
        alias = self.unit.typedefs.get(name)
        return self.of(alias, depth + 1) if alias is not None else None

    def integers(self, structure: Structure, depth: int = 0) -> Iterator[IntegerMember]:
        """Its integer members, those of structures in it too."""
        for name, words in structure.members.items():
            step = f"&{structure.path}::{name}"
            integer = integer_type(words, self.unit.typedefs)
            inner = self.of(words) if integer is None and depth < _DEEPEST else None
            if integer is not None:
                yield IntegerMember(name, " ".join(words), (step,))
            elif inner is not None:
                for member in self.integers(inner, depth + 1):
                    steps = (step, *member.steps)
                    yield IntegerMember(f"{name}.{member.name}", member.type, steps)

    @cached_property
    def _by_name(self) -> Mapping[str, Structure | None]:
        """By the last part of their names; None where that is not plain, or means several."""
        found: dict[str, Structure | None] = {}
        vectors = {structure.path.removeprefix("::"): structure for structure in _VECTORS}
        macros = (m for same in self.unit.macros.definitions.values() for m in same)
        if not self.unit.is_expanded and any("namespace" in m.body_text for m in macros):
            return vectors  # A macro may open a namespace that is not seen.
        for part in self.unit.parts:
            for name, structure in _defined(part.syntax):
                found[name] = None if name in found else self._checked(structure)
        return {**found, **vectors}

    def _checked(self, structure: Structure | None) -> Structure | None:
        macros = self.unit.macros.definitions
        if structure is None or macros.keys() & {*structure.members, *structure.path.split("::")}:
            return None
        return structure


_VECTORS = (
    *(
        Structure(f"::{base}{width}", {name: tuple(words.split()) for name in "xyzw"[:width]})
        for base, words in _BASES.items()
        for width in range(1, 5)
    ),
    Structure("::dim3", dict.fromkeys("xyz", ("unsigned", "int"))),
)


def _defined(syntax: Syntax) -> Iterator[tuple[str, Structure | None]]:
    """Types with a body, by each of their names; None for what is no plain structure."""
    tokens, partner = syntax.tokens, syntax.brackets.partner
    for definition in defined_types(tokens, partner):
        opener, scope = definition.body, definition.scope
        is_plain = definition.is_plain and scope is not None
        members = _members(tokens[opener + 1 : partner[opener]]) if is_plain else None
        for name in definition.names:
            path = "".join(f"::{part}" for part in (*(scope or ()), name))
            yield name, Structure(path, members) if members is not None else None


def _members(body: Sequence[Token]) -> dict[str, tuple[str, ...]] | None:
    """The data members with the words of their types; those that are left out are not plain."""
    members: dict[str, tuple[str, ...]] = {}
    for statement in _statements(body):
        texts = [token.text for token in statement]
        if texts[0] in _NO_MEMBERS:
            continue
        if "virtual" in texts:
            return None
        if "operator" in texts or _has_parameters(statement):
            continue
        # `struct Grid inner;` is a member, a structure without a name of its own is not.
        is_elaborated = texts[0] == "struct" and "{" not in texts
        if set(texts[1:] if is_elaborated else texts) & _REFUSED:
            return None
        members |= dict(_declared(statement))
    return members


def _statements(body: Sequence[Token]) -> Iterator[list[Token]]:
    statement: list[Token] = []
    depth = 0
    for index, token in enumerate(body):
        depth += (token.text in CLOSER) - (token.text in CLOSER.values())
        is_label = statement and statement[-1].text in ("public", "private", "protected")
        following = body[index + 1].text if index + 1 < len(body) else ""
        ends_function = token.text == "}" and _has_parameters(statement) and following != ";"
        if depth == 0 and token.text == ";":
            if statement:
                yield statement
            statement = []
            continue
        if depth == 0 and is_label and token.text == ":":
            if statement[-1].text != "public":
                yield statement
            statement = []
            continue
        statement.append(token)
        if depth == 0 and ends_function and following not in (",", "{"):
            yield statement
            statement = []
    if statement:
        yield statement


def _has_parameters(statement: Sequence[Token]) -> bool:
    depth = 0
    for token in statement:
        if depth == 0 and token.text == "(":
            return True
        depth += (token.text in CLOSER) - (token.text in CLOSER.values())
    return False


def _declared(statement: Sequence[Token]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """declaration = type NAME initialiser? ("," NAME initialiser?)*; without bit-fields, arrays."""
    items = list(split_commas(statement))
    first = _without_initialiser(items[0])
    words = _type_words(first[:-1])
    for item in (first, *(_without_initialiser(item) for item in items[1:])):
        texts = [token.text for token in item]
        if not item or item[-1].kind != "IDENTIFIER" or {":", "[", "&", "<"} & {*texts}:
            continue
        is_pointer = "*" in texts
        if words and (item is first or len(item) == 1 or is_pointer):
            yield item[-1].text, _POINTER if is_pointer else words


def _without_initialiser(item: Sequence[Token]) -> list[Token]:
    return [*takewhile(lambda token: token.text not in ("=", "{"), item)]


def _type_words(tokens: Sequence[Token]) -> tuple[str, ...]:
    """The words of a type, a qualified name as one."""
    text = " ".join(token.text for token in tokens if token.text != "*")
    return tuple(text.replace(" :: ", SCOPE).removeprefix(":: ").split())


_REAL_BYTES = {"float": 4, "double": 8, "half": 2, "__half": 2, "__nv_bfloat16": 2}
_REAL_BYTES |= {"nv_bfloat16": 2, "__half2": 4}
_POINTER_BYTES = 8
#: CUDA's vectors of two and four are aligned as a whole, up to so many bytes.
_MOST_ALIGNMENT = 16


class Layout(NamedTuple):
    """Size and alignment of a type, and where its scalar members lie: offset and bytes by name."""

    bytes: int
    alignment: int
    members: dict[str, tuple[int, int]]


def layout_at(structures: Structures, path: str) -> Layout | None:
    """The layout of a structure by its name anywhere; None where it is not known."""
    return layout(structures, [path.removeprefix("::").replace("::", SCOPE)])


def layout(structures: Structures, words: Sequence[str]) -> Layout | None:
    """The layout of a type; None where it is not known."""
    if "*" in words:
        return Layout(_POINTER_BYTES, _POINTER_BYTES, {})
    integer = integer_type(words, structures.unit.typedefs)
    if integer is not None:
        return Layout(integer.bits // 8, integer.bits // 8, {})
    if len(words) == 1 and words[0] in _REAL_BYTES:
        size = _REAL_BYTES[words[0]]
        return Layout(size, size, {})
    structure = structures.of(words)
    return _structure(structures, structure) if structure is not None else None


def _structure(structures: Structures, structure: Structure) -> Layout | None:
    offset, alignment = 0, 1
    members: dict[str, tuple[int, int]] = {}
    for name, words in structure.members.items():
        inner = layout(structures, words)
        if inner is None:
            return None
        offset += -offset % inner.alignment
        if not inner.members:
            members[name] = offset, inner.bytes
        for path, (place, size) in inner.members.items():
            members[f"{name}.{path}"] = offset + place, size
        offset += inner.bytes
        alignment = max(alignment, inner.alignment)
    is_global = structure.path.count("::") == 1 and structure.path[-1] in "24"
    if is_global and [*structure.members] == [*"xyzw"[: len(structure.members)]]:
        alignment = max(alignment, min(offset, _MOST_ALIGNMENT))
    return Layout(offset + -offset % alignment, alignment, members)


@dataclass(frozen=True)
class DeclaredParameter(KernelParameter):
    """As declared; `value`: the words of its type if it is passed by value, `a::b` as one."""

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
    of_each = (_integer_members(structures, text, *numbered) for numbered in enumerate(declared))
    return Kernel(
        function.name,
        part.source,
        text.span,
        tuple(KernelParameter(one.name, one.type) for one in declared),
        text.template_parameters,
        (_UNKNOWN, _UNKNOWN, _UNKNOWN),
        Impurity(Code.NO_COMPILED_CODE, Code.NO_COMPILED_CODE.template, text.span),
        members=tuple(chain.from_iterable(of_each)),
        scope=scope_around(part.syntax, function.first),
    )


def _integer_members(
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
