"""Parameters of a function. Takes the tokens of one, gives its name, type and kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cutune.source.program import KernelParameter
from cutune.source.syntax.tokens import Token
from cutune.source.unit.integers import QUALIFIERS

#: Stands for `::` in a name.
SCOPE = "$"


@dataclass(frozen=True)
class DeclaredParameter(KernelParameter):
    """A parameter as it is declared.

    `value`: the words of the type where an object of it is passed, `a::b` as one word.
    """

    value: tuple[str, ...]


def parameter_of(tokens: Sequence[Token]) -> DeclaredParameter:
    """parameter = type NAME? ("[" … "]")* ("=" default)?."""
    tokens = _without_default(tokens)
    brackets = next((i for i, token in enumerate(tokens) if token.text == "["), len(tokens))
    is_named = _is_named(tokens[:brackets])
    name = tokens[brackets - 1].text if is_named else ""
    type_tokens = [*tokens[: brackets - 1 if is_named else brackets], *tokens[brackets:]]
    texts = [token.text for token in type_tokens]
    is_value = {"*", "[", "(", "...", "&", "&&"}.isdisjoint(texts)
    return DeclaredParameter(name, type_text(texts), tuple(_folded(texts)) if is_value else ())


def _is_named(tokens: Sequence[Token]) -> bool:
    """Is the last of these words the parameter's name, rather than one of its type?"""
    names = [token for token in tokens if token.kind == "IDENTIFIER"]
    return len(names) > 1 and tokens[-1] is names[-1] and tokens[-2].text != "::"


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
            words[-1] += SCOPE
        elif index and texts[index - 1] == "::" and words:
            words[-1] += text
        else:
            words.append(text)
    return words
