"""The translation unit for analyses: its functions, types, constants and macros.

Takes the syntaxes that were read (the source and its headers, or the preprocessed text), gives a
`Unit`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cutune.core.source import Source, Span
from cutune.source.syntax.brackets import CLOSER
from cutune.source.syntax.functions import SourceFunction
from cutune.source.syntax.parse import Syntax
from cutune.source.syntax.tokens import Token
from cutune.source.unit.integers import IntegerType
from cutune.source.unit.location_macros import Unsteady
from cutune.source.unit.macros import MacroTable, Unexpandable
from cutune.source.unit.scope import constants, declared_names, typedef, until_semicolon


@dataclass(frozen=True)
class FunctionText:
    """The text before the body of a function definition, macros expanded."""

    #: The whole definition in its file.
    span: Span
    head: tuple[Token, ...]
    parameters: tuple[tuple[Token, ...], ...]
    template_parameters: tuple[str, ...]
    #: Those template parameters that are types.
    type_parameters: frozenset[str]


@dataclass(frozen=True)
class UnitPart:
    """One text that belongs to the unit.

    `place` turns a token of the text into one that stands in `source`, which may be another text
    (the file before preprocessing).
    """

    syntax: Syntax
    source: Source
    place: Callable[[Token], Token] | None = None

    def placed(self, tokens: Iterable[Token]) -> list[Token]:
        """Tokens of the text, moved to where they stand in `source`."""
        return list(tokens) if self.place is None else list(map(self.place, tokens))


@dataclass(frozen=True)
class Unit:
    """All texts of a translation unit. `is_expanded`: the preprocessor has expanded all macros."""

    parts: tuple[UnitPart, ...]
    macros: MacroTable
    is_expanded: bool
    unsteady: Unsteady = field(default_factory=Unsteady)

    @cached_property
    def functions(self) -> Mapping[str, Sequence[tuple[UnitPart, SourceFunction]]]:
        """SourceFunction definitions by name."""
        table: defaultdict[str, list[tuple[UnitPart, SourceFunction]]] = defaultdict(list)
        for part in self.parts:
            for function in part.syntax.functions:
                if function.body is not None:
                    table[function.name].append((part, function))
        return table

    @cached_property
    def typedefs(self) -> Mapping[str, Sequence[str]]:
        """Aliases of integer types; one that is defined in two ways is left out."""
        found: dict[str, Sequence[str]] = {}
        doubtful: set[str] = set()
        for name, words in self._aliases():
            if found.setdefault(name, words) != words:
                doubtful.add(name)
        return {name: words for name, words in found.items() if name not in doubtful}

    @cached_property
    def constants(self) -> Mapping[str, tuple[int, IntegerType]]:
        """`const int NAME = literal;` at file scope, where the name means nothing else."""
        found: dict[str, tuple[int, IntegerType]] = {}
        doubtful: set[str] = set()
        for tokens in self._scope_tokens:
            definitions: set[int] = set()
            for index, name, constant in constants(tokens):
                definitions.add(index)
                if found.setdefault(name, constant) != constant:
                    doubtful.add(name)
            doubtful |= {t.text for i, t in declared_names(tokens) if i not in definitions}
        return {name: value for name, value in found.items() if name not in doubtful}

    def text(self, part: UnitPart, function: SourceFunction) -> FunctionText:
        """Cut out one function and expand its macros."""
        syntax = part.syntax
        assert function.body is not None
        head = part.placed(syntax.tokens[function.first : function.parameters[0]])
        inner = syntax.tokens[function.parameters[0] + 1 : function.parameters[1]]
        parameters = part.placed(inner)
        (last,) = part.placed(syntax.tokens[function.body[1] : function.body[1] + 1])
        span = Span(head[0].start if head else parameters[0].start, last.end)
        if not self.is_expanded:
            head, parameters = map(self._expanded, (head, parameters))
        return FunctionText(
            span,
            tuple(head),
            tuple(tuple(p) for p in split_commas(parameters)),
            tuple(name for name, _ in template_parameters(head)),
            frozenset(name for name, is_type in template_parameters(head) if is_type),
        )

    def _expanded(self, tokens: list[Token]) -> list[Token]:
        try:
            return self.macros.expand(tokens)
        except Unexpandable:
            return tokens

    @cached_property
    def _scope_tokens(self) -> tuple[Sequence[Token], ...]:
        return tuple(list(outside_bodies(part.syntax)) for part in self.parts)

    def _aliases(self) -> Iterator[tuple[str, Sequence[str]]]:
        for tokens in self._scope_tokens:
            for index, token in enumerate(tokens):
                if token.text == "typedef":
                    yield from typedef(tokens, index + 1)
                elif token.text == "using" and _texts(tokens, index + 2, 1) == ["="]:
                    words = [t.text for t in until_semicolon(tokens, index + 3)]
                    yield tokens[index + 1].text, words
                elif token.text in ("typename", "class") and _is_type_parameter(tokens, index):
                    # It stands for many types.
                    yield tokens[index + 1].text, ("template parameter",)


def _texts(tokens: Sequence[Token], first: int, count: int) -> list[str]:
    return [token.text for token in tokens[first : first + count]]


def _is_type_parameter(tokens: Sequence[Token], index: int) -> bool:
    """("<" | ",") ("typename" | "class") NAME."""
    name = tokens[index + 1 : index + 2]
    return (
        index > 0
        and tokens[index - 1].text in ("<", ",")
        and bool(name)
        and (name[0].kind == "IDENTIFIER")
    )


def split_commas(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """list = item ("," item)*, brackets and template arguments being closed."""
    item: list[Token] = []
    depth = angle = 0
    for token in tokens:
        if token.text in CLOSER:
            depth += 1
        elif token.text in (")", "]", "}"):
            depth -= 1
        elif token.text == "<" and depth == 0:
            angle += 1
        elif token.text == ">" and depth == 0:
            angle -= 1
        elif token.text == "," and depth == 0 and angle <= 0:
            yield item
            item = []
            continue
        item.append(token)
    if item:
        yield item


def outside_bodies(syntax: Syntax) -> Iterator[Token]:
    position = 0
    for function in syntax.functions:
        if function.body is None or function.body[0] < position:
            continue
        yield from syntax.tokens[position : function.body[0]]
        position = function.body[1] + 1
    yield from syntax.tokens[position:]


def template_parameters(head: Iterable[Token]) -> Iterator[tuple[str, bool]]:
    """template = "template" "<" (type NAME default?)* ">"; gives names, and which are types."""
    tokens = list(head)
    if not tokens or tokens[0].text != "template":
        return
    depth = first = 0
    for index, token in enumerate(tokens):
        depth += {"<": 1, ">": -1}.get(token.text, 0)
        if depth == 1 and token.text in ("<", ","):
            first = index + 1
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        is_name = token.kind == "IDENTIFIER" and following in (",", ">", "=")
        if depth == 1 and is_name and index > first and tokens[index - 1].text != "=":
            yield token.text, tokens[first].text in ("typename", "class", "template")
        if depth == 0 and token.text == ">" and following != "template":
            return
