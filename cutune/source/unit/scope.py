"""Declarations outside functions and before a function's body. Takes tokens, gives names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cutune.source.syntax.tokens import Token
from cutune.source.unit.integers import IntegerType, integer_type, literal_value


def until_semicolon(tokens: Sequence[Token], index: int) -> Iterator[Token]:
    while index < len(tokens) and tokens[index].text != ";":
        yield tokens[index]
        index += 1


def typedef(tokens: Sequence[Token], index: int) -> Iterator[tuple[str, Sequence[str]]]:
    """typedef = "typedef" type NAME ";" (of functions and structs only the name is kept)."""
    words = list(until_semicolon(tokens, index))
    braces = [number for number, token in enumerate(words) if token.text == "}"]
    words = words[braces[-1] + 1 :] if braces else words
    names = [token.text for token in words if token.kind == "IDENTIFIER"]
    texts = [token.text for token in words]
    if "(" in texts:
        # A pointer to a function: the name is the last one in the first parentheses.
        inner = texts[texts.index("(") + 1 : texts.index(")")] if ")" in texts else []
        names = [text for text in inner if text.isidentifier()]
    if not names:
        return
    if set(texts) <= set(names) and not braces:
        yield names[-1], names[:-1]
    else:
        for name in names if "," in texts else names[-1:]:
            yield name, ("not a simple type",)


def constants(tokens: Sequence[Token]) -> Iterator[tuple[int, str, tuple[int, IntegerType]]]:
    """constant = ("const" | "constexpr") integer-type NAME "=" NUMBER ";"; with NAME's index."""
    for index in range(len(tokens) - 3):
        if tokens[index].text not in ("const", "constexpr"):
            continue
        words = list(until_semicolon(tokens, index))
        texts = [token.text for token in words]
        if len(words) < 5 or texts[-2] != "=" or words[-1].kind != "NUMBER":
            continue
        value, type_ = literal_value(texts[-1]), integer_type(texts[:-3])
        if value is not None and type_ is not None:
            yield index + len(words) - 3, texts[-3], (value, type_)


def _outside_parentheses(tokens: Sequence[Token]) -> Iterator[int]:
    depth = 0
    for index, token in enumerate(tokens):
        depth = max(0, depth + {"(": 1, ")": -1}.get(token.text, 0))
        if depth == 0:
            yield index


def declared_names(tokens: Sequence[Token]) -> Iterator[tuple[int, Token]]:
    """Variables, enumerators, template parameters: names that may hide others."""
    for index in _outside_parentheses(tokens):
        if index == 0 or index + 1 >= len(tokens) or tokens[index].kind != "IDENTIFIER":
            continue
        before, after = tokens[index - 1], tokens[index + 1].text
        is_declared = before.kind == "IDENTIFIER" or before.text in ("*", "&", ">", "{", ",")
        if is_declared and after in ("=", ";", ",", "[", ">", "}", "{"):
            yield index, tokens[index]


@dataclass(frozen=True)
class TypeDefinition:
    """A type with a body. `scope`: the namespaces around it, or None where it is in none.

    `is_plain`: a `struct` that is no template and has no bases.
    """

    names: tuple[str, ...]
    scope: tuple[str, ...] | None
    #: Index of its `{`.
    body: int
    is_plain: bool


def defined_types(tokens: Sequence[Token], partner: Sequence[int]) -> Iterator[TypeDefinition]:
    """definition = "typedef"? ("struct" | …) attribute* NAME? (":" bases)? "{" … "}" NAME?."""
    around: list[tuple[int, tuple[str, ...] | None]] = []
    for index, token in enumerate(tokens):
        while around and index > around[-1][0]:
            around.pop()
        if token.text == "{":
            end = partner[index] if partner[index] >= 0 else len(tokens)
            around.append((end, namespace(tokens, index)))
        elif token.text in ("struct", "class", "union", "enum"):
            names, opener, is_derived = _head(tokens, partner, index + 1)
            if opener is None or partner[opener] < 0:
                continue
            before = tokens[index - 1].text if index else ""
            if before == "typedef":
                names += _alias(tokens, partner[opener] + 1)
            scope: tuple[str, ...] | None = ()
            for _, inner in around:
                scope = None if scope is None or inner is None else (*scope, *inner)
            is_plain = token.text == "struct" and before != ">" and not is_derived
            yield TypeDefinition(tuple(dict.fromkeys(names)), scope, opener, is_plain)


def namespace(tokens: Sequence[Token], opener: int) -> tuple[str, ...] | None:
    """("namespace" (NAME ("::" NAME)*)? | "extern" STRING) "{"; None for other braces."""
    if opener >= 2 and tokens[opener - 1].kind == "STRING":
        return () if tokens[opener - 2].text == "extern" else None
    names: list[str] = []
    for token in reversed(tokens[max(0, opener - 20) : opener]):
        if token.text == "namespace":
            return tuple(reversed(names))
        if token.text not in ("::", "inline"):
            names.append(token.text)
        if token.kind != "IDENTIFIER" and token.text != "::":
            return None
    return None


def _head(
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


def _alias(tokens: Sequence[Token], index: int) -> list[str]:
    """The name behind the body of a `typedef`, if it is a plain one."""
    texts = [token.text for token in tokens[index : index + 2]]
    is_plain = len(texts) > 1 and tokens[index].kind == "IDENTIFIER" and texts[1] in (";", ",")
    return texts[:1] if is_plain else []
