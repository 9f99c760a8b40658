"""Textual macros. Takes the `#define`s of the sources that were read, expands token lists.

Used where nvcc is absent. A macro's value is uncertain where it lies under `#if` or is defined
twice. It is then expanded only where it cannot hide a built-in; otherwise the function that uses it
is not proven.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cutune.core.source import Source
from cutune.source.syntax.directives import Macro
from cutune.source.syntax.tokens import Token
from cutune.source.unit.integers import QUALIFIERS

_MAXIMAL_TOKENS = 100_000
_DEFINE = re.compile(r"#[ \t]*define[ \t]+(\w+)((?:[^\\\n]|\\\r?\n|\\.)*)")
_TYPE_WORDS = QUALIFIERS | {"int", "char", "short", "long", "unsigned", "signed", "float", "double"}


class Unexpandable(Exception):
    """The use of a macro whose expansion is not certain."""

    def __init__(self, token: Token) -> None:
        super().__init__(token.text)
        self.token = token


@dataclass(frozen=True)
class MacroTable:
    """All macros by name."""

    definitions: Mapping[str, Sequence[Macro]]

    @staticmethod
    def of(macros: Iterable[Macro]) -> MacroTable:
        """Collect the definitions of each name."""
        table: defaultdict[str, list[Macro]] = defaultdict(list)
        for macro in macros:
            table[macro.name].append(macro)
        return MacroTable(table)

    @property
    def symbols(self) -> frozenset[str]:
        """Macros that are numbers of uncertain value, or uncertain types."""
        return frozenset(n for n, d in self.definitions.items() if self._is_symbol(n, d, 0))

    def is_formula(self, name: str) -> bool:
        """Is every definition of it arithmetic over the macro's own parameters?"""
        found = self.definitions.get(name, ())
        return bool(found) and all(map(_is_formula, found))

    def expand(self, tokens: Sequence[Token]) -> list[Token]:
        """Replace all macros. Tokens of a replacement stand at the place of the macro's use.

        Raises:
            Unexpandable: the replacement is not certain.
        """
        budget = [_MAXIMAL_TOKENS]
        return self._expand(list(tokens), frozenset(), budget)

    def _expand(
        self, tokens: list[Token], hidden: frozenset[str], budget: list[int]
    ) -> list[Token]:
        out: list[Token] = []
        index = 0
        while index < len(tokens):
            token = tokens[index]
            index += 1
            macro = self._macro(token, hidden)
            if macro is None:
                out.append(token)
                continue
            arguments: list[list[Token]] = []
            if macro.parameters is not None:
                if index >= len(tokens) or tokens[index].text != "(":
                    out.append(token)
                    continue
                arguments, index = _arguments(tokens, index, token)
            body = self._substituted(macro, arguments, token, hidden, budget)
            budget[0] -= len(body)
            if budget[0] < 0 or len(hidden) > 100:
                raise Unexpandable(token)
            out += self._expand(body, hidden | {macro.name}, budget)
        return out

    def _macro(self, token: Token, hidden: frozenset[str]) -> Macro | None:
        if token.kind != "IDENTIFIER" or token.text in hidden:
            return None
        definitions = self.definitions.get(token.text, ())
        if not definitions or self._is_symbol(token.text, definitions, 0):
            return None
        if _is_varied(definitions):
            if all(map(_is_formula, definitions)):
                return None
            raise Unexpandable(token)
        return definitions[0]

    def _is_symbol(self, name: str, definitions: Sequence[Macro], depth: int) -> bool:
        """Is it a number (or a type) that another definition may replace?"""
        uncertain = _is_varied(definitions) or definitions[0].conditional
        if not uncertain:
            return False
        if all(map(_is_type, definitions)):
            return _is_varied(definitions)
        return all(self._is_number(macro, depth) for macro in definitions)

    def _is_number(self, macro: Macro, depth: int) -> bool:
        if macro.parameters is not None or not macro.body or depth > 10:
            return False
        return all(
            token.kind == "NUMBER"
            or token.text in ("+", "-", "*", "/", "(", ")", "%", "<<")
            or (
                token.kind == "IDENTIFIER"
                and token.text in self.definitions
                and all(self._is_number(m, depth + 1) for m in self.definitions[token.text])
            )
            for token in macro.body
        )

    def _substituted(
        self,
        macro: Macro,
        arguments: list[list[Token]],
        use: Token,
        hidden: frozenset[str],
        budget: list[int],
    ) -> list[Token]:
        """The body with parameters replaced; `#` and `##` are beyond this expansion."""
        if any(token.text in ("#", "##", "__VA_ARGS__", "__VA_OPT__") for token in macro.body):
            raise Unexpandable(use)
        parameters = macro.parameters or ()
        if parameters and parameters[-1].endswith("..."):
            raise Unexpandable(use)
        if len(arguments) != len(parameters) and not (not parameters and arguments == [[]]):
            raise Unexpandable(use)
        values = {
            name: self._expand(argument, hidden, budget)
            for name, argument in zip(parameters, arguments, strict=False)
        }
        body: list[Token] = []
        for token in macro.body:
            if token.kind == "IDENTIFIER" and token.text in values:
                body += values[token.text]
            else:
                body.append(token._replace(start=use.start))
        return body


def macros_of(words: Iterable[str], sources: Iterable[Source]) -> frozenset[str]:
    """These words, and macros that lead to one of them."""
    found = {*words}
    sources = tuple(sources)
    if not any(word in source.text for source in sources for word in found):
        return frozenset(found)
    bodies = [
        (m[1], {*re.findall(r"\w+", m[2])}) for s in sources for m in _DEFINE.finditer(s.text)
    ]
    count = 0
    while count < len(found):
        count = len(found)
        found |= {name for name, used in bodies if used & found}
    return frozenset(found)


def _is_varied(definitions: Sequence[Macro]) -> bool:
    bodies = {(m.parameters, tuple(token.text for token in m.body)) for m in definitions}
    return len(bodies) > 1


def _is_type(macro: Macro) -> bool:
    words = [token.text for token in macro.body]
    return bool(words) and macro.parameters is None and set(words) <= _TYPE_WORDS


def _is_formula(macro: Macro) -> bool:
    """Is the body arithmetic over the macro's own parameters?"""
    return macro.parameters is not None and all(
        token.kind == "NUMBER"
        or token.text in ("+", "-", "*", "/", "(", ")", "%", "?", ":", "<", ">", *macro.parameters)
        for token in macro.body
    )


def _arguments(tokens: list[Token], opener: int, use: Token) -> tuple[list[list[Token]], int]:
    """arguments = "(" [argument ("," argument)*] ")"; gives them and the index behind."""
    arguments: list[list[Token]] = [[]]
    depth = 0
    for index in range(opener, len(tokens)):
        text = tokens[index].text
        if text in ("(", "[", "{"):
            depth += 1
            if depth == 1:
                continue
        elif text in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                return arguments, index + 1
        elif text == "," and depth == 1:
            arguments.append([])
            continue
        arguments[-1].append(tokens[index])
    raise Unexpandable(use)
