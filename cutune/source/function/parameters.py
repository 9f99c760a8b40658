"""Parameters of a function. Takes the tokens of one, gives its name, type and kind."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from cutune.source.function.bindings import ParameterType
from cutune.source.program import KernelParameter
from cutune.source.syntax.functions import SourceFunction
from cutune.source.syntax.tokens import Token, word_set
from cutune.source.unit.integers import QUALIFIERS, IntegerType, integer_type
from cutune.source.unit.unit import FunctionText, UnitPart, split_commas

#: Words before a function's name that say nothing about the type.
_SPECIFIERS = word_set("__host__ __forceinline__ __inline__ __noinline__ __inline friend virtual")


def parameter_of(
    tokens: Sequence[Token], typedefs: Mapping[str, Sequence[str]]
) -> tuple[KernelParameter, ParameterType]:
    """parameter = type NAME? ("[" … "]")* ("=" default)?."""
    tokens = _without_default(tokens)
    brackets = next((i for i, token in enumerate(tokens) if token.text == "["), len(tokens))
    is_named = _is_named(tokens[:brackets])
    name = tokens[brackets - 1].text if is_named else ""
    type_tokens = [*tokens[: brackets - 1 if is_named else brackets], *tokens[brackets:]]
    texts = [token.text for token in type_tokens]
    words = _folded(texts)
    is_pointer = not {"*", "[", "(", "..."}.isdisjoint(texts)
    is_reference = not {"&", "&&"}.isdisjoint(texts)
    integer = None if is_pointer or is_reference else integer_type(words, typedefs)
    is_value = not is_pointer and (not is_reference or "const" in texts)
    value = tuple(word for word in words if word != "&") if is_value else ()
    type_ = ParameterType(name, integer, is_pointer, is_reference, value)
    return KernelParameter(name, type_text(texts)), type_


def _is_named(tokens: Sequence[Token]) -> bool:
    """Is the last of these words the parameter's name, rather than one of its type?"""
    names = [token for token in tokens if token.kind == "IDENTIFIER"]
    return len(names) > 1 and tokens[-1] is names[-1] and tokens[-2].text != "::"


def takes(part: UnitPart, function: SourceFunction, count: int) -> bool:
    """Can a function be called with so many arguments?"""
    first, last = function.parameters
    tokens = part.syntax.tokens[first + 1 : last]
    parameters = [p for p in split_commas(tokens) if [t.text for t in p] != ["void"]]
    if any(token.text == "..." for token in tokens):
        return True
    optional = sum(any(token.text == "=" for token in parameter) for parameter in parameters)
    return len(parameters) - optional <= count <= len(parameters)


def returned_type(text: FunctionText, typedefs: Mapping[str, Sequence[str]]) -> IntegerType | None:
    """The integer type that a function returns; None for any other, and for `auto`."""
    texts = [token.text for token in text.head]
    if texts[:1] == ["template"]:
        depth, end = 0, 1
        for end in range(1, len(texts)):
            depth += {"<": 1, ">": -1}.get(texts[end], 0)
            if depth == 0:
                break
        texts = texts[end + 1 :]
    words = _folded([word for word in texts[:-1] if word not in _SPECIFIERS])
    return None if set(words) & text.type_parameters else integer_type(words, typedefs)


def type_text(texts: Sequence[str]) -> str:
    """The type as one would write it."""
    text = " ".join(texts)
    text = re.sub(r"\s*(::|<|>|\[|\]|\(|\))\s*", r"\1", text)
    text = re.sub(r"\* (?=\*)", "*", text)
    text = re.sub(r"\s+,", ",", text)
    return re.sub(r"([>\w])(?=[*&])|(>)(?=\w)", r"\1\2 ", text).strip()


def _without_default(tokens: Sequence[Token]) -> Sequence[Token]:
    equals = next((i for i, token in enumerate(tokens) if token.text == "="), len(tokens))
    return tokens[:equals]


def _folded(texts: Sequence[str]) -> list[str]:
    """`std :: size_t` as one word; a template argument list makes it no integer."""
    words: list[str] = []
    for index, text in enumerate(texts):
        if text in QUALIFIERS:
            continue
        if text == "::" and words:
            words[-1] += "$"
        elif index and texts[index - 1] == "::" and words:
            words[-1] += text
        else:
            words.append(text)
    return words
