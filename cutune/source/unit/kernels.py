"""Kernels as their text declares them, and structures that they get. Takes a unit, gives `Kernel`s.

The text supplies names: of kernels, parameters, template parameters and members of structures. What
may change about a launch is proven on the compiled code, and the compiler decides where members
lie. A structure is plain if its text shows all its members: CUDA's vector types, and each `struct`
at namespace scope without bases, unions, virtual functions and members that are not public.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, product, takewhile
from typing import NamedTuple

from cutune.core.codes import Code
from cutune.source.program import DimensionProof, Impurity, Kernel, KernelParameter, MemberParameter
from cutune.source.syntax.directives import CLOSERS, OPENERS, closing
from cutune.source.syntax.parse import Syntax
from cutune.source.syntax.tokens import Token, word_set
from cutune.source.unit.integers import (
    QUALIFIERS,
    REAL_BYTES,
    SCOPE,
    PassedMember,
    PassedStructure,
    integer_type,
    literal_value,
)
from cutune.source.unit.unit import FunctionText, Unit, scope_around, split_commas

_REFUSED = word_set("union class enum struct private protected volatile")
_ALIGNING = word_set("alignas __align__ __attribute__ _Alignas")
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
_ALL_OF_IT = "(an aligned structure)"


@dataclass(frozen=True)
class Structure:
    """A plain structure: its name anywhere, and the words of its members' types in their order.

    `tag`: its name in compiled code, where `path` is one that a `typedef` gives it. `held`: all
    that it holds, with the texts between type and name, and behind the name.
    """

    path: str
    members: Mapping[str, tuple[str, ...]]
    tag: str = field(default="", compare=False)
    held: tuple[tuple[str, tuple[str, ...], str, str], ...] = field(default=(), compare=False)


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

    def integers(
        self, structure: Structure, depth: int = 0
    ) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """Yield name, type and pointers to members for its integers, also in inner structures."""
        for name, words in structure.members.items():
            step = f"&{structure.path}::{name}"
            integer = integer_type(words, self.unit.typedefs)
            inner = self.of(words) if integer is None and depth < _DEEPEST else None
            if integer is not None:
                yield name, " ".join(words), (step,)
            elif inner is not None:
                for path, type_, steps in self.integers(inner, depth + 1):
                    yield f"{name}.{path}", type_, (step, *steps)

    @cached_property
    def enumerations(self) -> Mapping[str, tuple[str, ...]]:
        """The integers that enumerators of the unit are, by the names of their types."""
        found: dict[str, tuple[str, ...]] = {}
        for part in self.unit.parts:
            for name, words in _enumerations(part.syntax):
                found[name] = () if name in found else words
        return {name: words for name, words in found.items() if words}

    @cached_property
    def _by_name(self) -> Mapping[str, Structure | None]:
        """Structures by the last part of their names; None where that means several."""
        found: dict[str, Structure | None] = {}
        vectors = {structure.path.removeprefix("::"): structure for structure in _VECTORS}
        macros = self.unit.macros.definitions
        bodies = (macro.body_text for same in macros.values() for macro in same)
        if not self.unit.is_expanded and any("namespace" in text for text in bodies):
            return vectors  # A macro may open a namespace that is not seen.
        for part in self.unit.parts:
            for name, structure in _defined(part.syntax):
                used = structure and {*structure.members, *structure.path.split("::")}
                is_certain = used and name not in found and macros.keys().isdisjoint(used)
                found[name] = structure if is_certain else None
        return {**found, **vectors}


_VECTORS = (
    *(
        Structure(f"::{base}{width}", {name: tuple(words.split()) for name in "xyzw"[:width]})
        for base, words in _BASES.items()
        for width in range(1, 5)
    ),
    Structure("::dim3", dict.fromkeys("xyz", ("unsigned", "int"))),
)


def _defined(syntax: Syntax) -> Iterator[tuple[str, Structure | None]]:
    """definition = "typedef"? ("struct" | …) attribute* NAME? (":" bases)? "{" … "}" NAME?.

    Gives types by each of their names; None for what is no plain structure.
    """
    tokens, partner = syntax.tokens, syntax.brackets.partner
    for index, token in enumerate(tokens):
        if token.text not in ("struct", "class", "union", "enum"):
            continue
        names, opener, is_derived = _tag(tokens, partner, index + 1)
        if opener is None or partner[opener] < 0:
            continue
        before = tokens[index - 1].text if index else ""
        alias = tokens[partner[opener] + 1 : partner[opener] + 3]
        is_alias = len(alias) > 1 and alias[1].text in (";", ",")
        if before == "typedef" and is_alias and alias[0].kind == "IDENTIFIER":
            names.append(alias[0].text)
        scope = None if syntax.functions_around(index) else scope_around(syntax, index)
        # No template, and without bases.
        is_plain = token.text == "struct" and before != ">" and not is_derived
        is_known = is_plain and scope is not None
        body = tokens[opener + 1 : partner[opener]]
        members = _members(body) if is_known else None
        paths = {name: "".join(f"::{part}" for part in (*(scope or ()), name)) for name in names}
        for name, path in paths.items():
            tag = paths[names[0]]
            # It may be aligned otherwise.
            around = (
                *tokens[index + 1 : opener],
                *tokens[partner[opener] + 1 : partner[opener] + 3],
            )
            is_aligned = not {"(", "["}.isdisjoint(one.text for one in around)
            held = ((_ALL_OF_IT, (), "", ""),) if is_aligned else (*_held(body),)
            known = members is not None and Structure(path, members, tag, held)
            yield name, known or None


def _enumerations(syntax: Syntax) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Enumerations by each of their names, with the words of their integers; none if unknown."""
    tokens, partner = syntax.tokens, syntax.brackets.partner
    for index, token in enumerate(tokens):
        if token.text != "enum":
            continue
        names, opener, is_derived = _tag(tokens, partner, index + 1)
        if opener is None or partner[opener] < 0:
            continue
        if index and tokens[index - 1].text == "typedef":
            names += [t.text for t in tokens[partner[opener] + 1 : partner[opener] + 2]]
        texts = [t.text for t in tokens[index:opener]]
        words = tuple(_folded(texts[texts.index(":") + 1 :])) if is_derived else ("unsigned", "int")
        for name in dict.fromkeys(names):
            yield name, words if integer_type(words) is not None else ()


def _tag(
    tokens: Sequence[Token], partner: Sequence[int], index: int
) -> tuple[list[str], int | None, bool]:
    """The tag of a type, the `{` of its definition if it is one, and whether it has bases."""
    names: list[str] = []
    while index < len(tokens) and tokens[index].kind == "IDENTIFIER":
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if following == "(" and tokens[index].text.startswith(("__", "alignas")):
            index = partner[index + 1] + 1 if partner[index + 1] > 0 else len(tokens)
            continue
        if tokens[index].text not in ("class", "struct", "final"):
            names.append(tokens[index].text)
        index += 1
    is_derived = index < len(tokens) and tokens[index].text == ":"
    while is_derived and index < len(tokens) and tokens[index].text not in ("{", ";", "?"):
        index += 1
    is_definition = index < len(tokens) and tokens[index].text == "{" and len(names) <= 1
    return names, index if is_definition else None, is_derived


def _members(body: Sequence[Token]) -> dict[str, tuple[str, ...]] | None:
    """The data members with the words of their types; those that are left out are not plain."""
    members: dict[str, tuple[str, ...]] = {}
    for statement in _statements(body):
        texts = [token.text for token in statement]
        if "virtual" in texts and texts[0] not in _NO_MEMBERS:
            return None
        if not _is_data(statement):
            continue
        # `struct Grid inner;` is a member, a structure without a name of its own is not.
        is_elaborated = texts[0] == "struct" and "{" not in texts
        if set(texts[1:] if is_elaborated else texts) & _REFUSED:
            return None
        members |= dict(_declared(statement))
    return members


def _is_data(statement: Sequence[Token]) -> bool:
    texts = [token.text for token in statement]
    is_function = "operator" in texts or _has_parameters(statement)
    return texts[0] not in _NO_MEMBERS and not is_function


def _held(body: Sequence[Token]) -> Iterator[tuple[str, tuple[str, ...], str, str]]:
    """Members with the words of their types, what stands before their names, and behind them.

    Words are missing where the declaration is none of `type * NAME [ … ]`.
    """
    for statement in _statements(body):
        head = [*takewhile(lambda t: t.text != "=", statement)]
        if not _is_data(head):
            # Of what has brackets, a pointer to a function and what is aligned are members.
            texts = [token.text for token in head]
            is_pointer = "(" in texts and texts[texts.index("(") + 1] == "*"
            if texts[0] not in _NO_MEMBERS and (is_pointer or not _ALIGNING.isdisjoint(texts)):
                behind = texts.index("(") if is_pointer else 0
                names = [token.text for token in head[behind:] if token.kind == "IDENTIFIER"]
                yield names[0 if is_pointer else -1], (), "", ""
            continue
        items = [[*takewhile(lambda t: t.text not in "={", i)] for i in split_commas(statement)]
        words: tuple[str, ...] = ()
        for item in items:
            texts = [token.text for token in item]
            end = texts.index("[") if "[" in texts else len(texts)
            stars = next((n for n, text in enumerate(texts) if text == "*"), end - 1)
            if item is items[0]:
                words = tuple(" ".join(texts[:stars]).replace(" :: ", SCOPE).split())
            before = texts[stars : end - 1] if "*" in texts else []
            rest = set(before) - {"*", "const", "__restrict__", "__restrict"}
            is_plain = end > 0 and item[end - 1].kind == "IDENTIFIER" and not rest
            is_plain &= {":", "&", "<", "("}.isdisjoint(texts)
            is_plain &= item is items[0] or stars in (0, end - 1)
            end = texts.index(":") if ":" in texts else end
            name = texts[end - 1] if end > 0 else "?"
            yield name, words if is_plain else (), " ".join(before), " ".join(texts[end:])


def _statements(body: Sequence[Token]) -> Iterator[list[Token]]:
    statement: list[Token] = []
    depth = 0
    for token, following in zip(body, [*(one.text for one in body[1:]), ""], strict=False):
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        last = statement[-1].text if statement else ""
        is_label = token.text == ":" and last in ("public", "private", "protected")
        is_end = depth == 0 and (token.text == ";" or is_label)
        ends_function = token.text == "}" and _has_parameters(statement)
        if not is_end:
            statement.append(token)
        if is_end or (depth == 0 and ends_function and following not in (",", "{", ";")):
            if statement and not (is_label and last == "public"):
                yield statement
            statement = []
    if statement:
        yield statement


def _has_parameters(statement: Sequence[Token]) -> bool:
    depth = 0
    for token in statement:
        if depth == 0 and token.text == "(":
            return True
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
    return False


def _declared(statement: Sequence[Token]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """declaration = type NAME initialiser? ("," NAME initialiser?)*; without bit-fields, arrays."""
    items = [[*takewhile(lambda t: t.text not in "={", item)] for item in split_commas(statement)]
    first = items[0]
    type_ = " ".join(token.text for token in first[:-1] if token.text != "*")
    # A qualified name is one word.
    words = tuple(type_.replace(" :: ", SCOPE).removeprefix(":: ").split())
    for item in items:
        texts = [token.text for token in item]
        if not item or item[-1].kind != "IDENTIFIER" or {":", "[", "&", "<"} & {*texts}:
            continue
        is_pointer = "*" in texts
        if words and (item is first or len(item) == 1 or is_pointer):
            yield item[-1].text, _POINTER if is_pointer else words


_REAL_BYTES = REAL_BYTES | {"__half2": 4}
_POINTER_BYTES = 8
#: CUDA's vectors of two and four are aligned as a whole, up to so many bytes.
_MOST_ALIGNMENT = 16
#: Numbers and pointers that a structure holds.
_MOST_HELD = 256


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
    integer = integer_type(words, structures.unit.typedefs)
    size = integer.bits // 8 if integer is not None else _REAL_BYTES.get(" ".join(words))
    size = _POINTER_BYTES if "*" in words else size
    if size is not None:
        return Layout(size, size, {})
    structure = structures.of(words)
    if structure is None:
        return None
    offset, alignment = 0, 1
    members: dict[str, tuple[int, int]] = {}
    for name, type_ in structure.members.items():
        inner = layout(structures, type_)
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


class _Unknown(Exception):
    """The member whose type is not known."""


def passed_structure(
    structures: Structures, argument: int, parameter: DeclaredParameter
) -> PassedStructure | None:
    """All that a structure holds, an argument of a kernel by value; None: it is not known."""
    structure = structures.of(parameter.value)
    if structure is None:
        return None
    try:
        members, size, _ = _passed(structures, structure, "", ())
        for one in members:
            if EXTENT.fullmatch(f"{parameter.name}.{one.path}"):
                raise _Unknown(one.path)
    except _Unknown as unknown:
        return PassedStructure(argument, structure.path, unknown=str(unknown))
    return PassedStructure(argument, structure.path, size, tuple(members))


def _passed(
    structures: Structures, structure: Structure, path: str, steps: tuple[str, ...] | None
) -> tuple[list[PassedMember], int, int]:
    """The members of a structure from its own first byte on, its size and its alignment."""
    found, offset, alignment = list[PassedMember](), 0, 1
    held = structure.held or tuple((n, w, "", "") for n, w in structure.members.items())
    for name, words, stars, behind in held:
        own = f"{path}{name}"
        lengths = [_length(structures, one) for one in re.findall(r"\[ ?(.*?) ?\]", behind)]
        if not words or None in lengths:
            raise _Unknown(own)
        for place in product(*(range(one or 0) for one in lengths)):
            step = f"&{structure.path}::{name}"
            if len(place) == 1:
                step = f"cutune_item<decltype({step}), {step}, {place[0]}>"
            own_steps = (*steps, step) if steps is not None and len(place) < 2 else None
            # As a name may be: `w_2` is w[2].
            element = "_".join(map(str, (own, *place)))
            parts, size, own_alignment = _passed_type(structures, words, stars, element, own_steps)
            offset += -offset % own_alignment
            alignment = max(alignment, own_alignment)
            found += [part._replace(offset=offset + part.offset) for part in parts]
            offset += size
            if len(found) > _MOST_HELD:
                raise _Unknown(own)
    if len({one.path for one in found}) < len(found):
        raise _Unknown(path.rstrip(".") or structure.path)
    if not offset:
        raise _Unknown(path.rstrip(".") or structure.path)
    if structure in _VECTORS and structure.path[-1] in "24":
        alignment = max(alignment, min(offset, _MOST_ALIGNMENT))
    return found, offset + -offset % alignment, alignment


def _passed_type(
    structures: Structures,
    words: Sequence[str],
    stars: str,
    path: str,
    steps: tuple[str, ...] | None,
) -> tuple[list[PassedMember], int, int]:
    """Likewise of a member of some type."""
    typedefs = structures.unit.typedefs
    named = tuple(unaliased(words, typedefs))
    written = " ".join(words).replace(SCOPE, "::")
    if stars or "*" in named:
        text = f"{written} {stars}" if stars else " ".join(typedefs.get(words[-1], named))
        return [PassedMember(path, text, (), 0, _POINTER_BYTES, ())], _POINTER_BYTES, _POINTER_BYTES
    named = structures.enumerations.get(" ".join(named), named)
    integer = integer_type(named)
    bits = 0 if integer is None else integer.bits
    if size := bits // 8 or _REAL_BYTES.get(" ".join(named), 0):
        own_steps = steps if integer is not None and steps is not None else ()
        return [PassedMember(path, written, named, 0, size, own_steps)], size, size
    inner = structures.of(words)
    if inner is None or path.count(".") >= _DEEPEST:
        raise _Unknown(path)
    return _passed(structures, inner, f"{path}.", steps)


def _length(structures: Structures, text: str) -> int | None:
    """The elements of an array: a literal, or a macro that is one."""
    macros = structures.unit.macros.definitions.get(text, ())
    bodies = {macro.body_text.strip() for macro in macros}
    text = bodies.pop() if len(bodies) == 1 else text
    value = literal_value(text)
    return value if value is not None and 0 < value <= _MOST_HELD else None


@dataclass(frozen=True)
class DeclaredParameter(KernelParameter):
    """As declared; `value`: the words of its type if it is passed by value, `a::b` as one."""

    value: tuple[str, ...]


def parameter_of(tokens: Sequence[Token]) -> DeclaredParameter:
    """parameter = attribute* type NAME? attribute* ("[" … "]")* ("=" default)?."""
    tokens = _without_attributes([*takewhile(lambda token: token.text != "=", tokens)])
    bracket = next((i for i, token in enumerate(tokens) if token.text == "["), len(tokens))
    names = [token for token in tokens[:bracket] if token.kind == "IDENTIFIER"]
    is_named = (
        len(names) > 1 and tokens[bracket - 1] is names[-1] and tokens[bracket - 2].text != "::"
    )
    name = tokens[bracket - 1].text if is_named else ""
    type_tokens = [*tokens[: bracket - 1 if is_named else bracket], *tokens[bracket:]]
    texts = [token.text for token in type_tokens]
    is_pointer = not {"*", "[", "(", "..."}.isdisjoint(texts)
    is_reference = not {"&", "&&"}.isdisjoint(texts)
    value = () if is_pointer or is_reference else tuple(_folded(texts))
    return DeclaredParameter(name, type_text(texts), value)


def _without_attributes(tokens: Sequence[Token]) -> list[Token]:
    """Tokens without ("[[" … "]]" | "__attribute__" "((" … "))")."""
    kept, texts, place = list[Token](), [token.text for token in tokens], 0
    while place < len(tokens):
        if texts[place : place + 2] == ["[", "["]:
            place = closing(texts, place)
        elif texts[place : place + 2] == ["__attribute__", "("]:
            place = closing(texts, place + 1)
        else:
            kept.append(tokens[place])
        place += 1
    return kept


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
EXTENT = re.compile(r"[TG]\.[xyz]")


def declared_kernels(unit: Unit, structures: Structures) -> Iterator[Kernel]:
    """Every kernel definition of a unit, in the order of the texts."""
    for part, function in ((p, one) for p in unit.parts for one in p.syntax.kernels):
        text = unit.text(part, function)
        declared = list(map(parameter_of, text.parameters))
        of_each = (_integer_members(structures, text, *one) for one in enumerate(declared))
        yield Kernel(
            function.name,
            part.source,
            text.span,
            tuple(
                KernelParameter(
                    one.name,
                    one.type,
                    alias_of=structures.enumerations.get(
                        " ".join(one.value), _alias_of(one.value, unit.typedefs)
                    ),
                )
                for one in declared
            ),
            text.template_parameters,
            (_UNKNOWN, _UNKNOWN, _UNKNOWN),
            Impurity(Code.NO_COMPILED_CODE, Code.NO_COMPILED_CODE.template, text.span),
            members=tuple(chain.from_iterable(of_each)),
            passed=tuple(
                found
                for place, one in enumerate(declared)
                if not text.type_parameters & {*one.value}
                if (found := passed_structure(structures, place, one)) is not None
            ),
            scope=scope_around(part.syntax, function.first),
        )


def unaliased(words: Sequence[str], typedefs: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return the words of the type for which a name may stand, without qualifiers."""
    named = words
    for _ in range(_DEEPEST):
        known = typedefs.get(named[0]) if len(named) == 1 else None
        named = [word for word in known or named if word not in QUALIFIERS]
    return named


def _alias_of(words: Sequence[str], typedefs: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The words of the arithmetic type that a word is another name of; none where it is no such."""
    named = unaliased(words, typedefs)
    is_number = " ".join(named) in _REAL_BYTES or integer_type(named) is not None
    return tuple(named) if is_number and [*named] != [*words] else ()


def _integer_members(
    structures: Structures, text: FunctionText, position: int, parameter: DeclaredParameter
) -> Iterator[MemberParameter]:
    # The type of a template parameter is not known.
    is_known = not text.type_parameters & {*parameter.value}
    structure = structures.of(parameter.value) if is_known else None
    if structure is None:
        return
    for path, type_, steps in structures.integers(structure):
        name = f"{parameter.name}.{path}"
        if not EXTENT.fullmatch(name):
            yield MemberParameter(name, type_, position, structure.path, steps)
