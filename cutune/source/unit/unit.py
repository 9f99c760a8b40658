"""The translation unit: its functions, and the types, constants and macros that text declares.

Takes the syntaxes that were read (the source and its headers, or the preprocessed text), gives a
`Unit`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from operator import attrgetter
from typing import TypeVar

from cutune.core.source import Source, Span
from cutune.source.syntax.directives import CLOSERS, OPENERS
from cutune.source.syntax.parse import SourceFunction, Syntax, attribute_opener
from cutune.source.syntax.tokens import Token
from cutune.source.unit.integers import integer_type, literal_value
from cutune.source.unit.macros import MacroTable, Unexpandable, Unsteady


def until_semicolon(tokens: Sequence[Token], index: int) -> Iterator[Token]:
    while index < len(tokens) and tokens[index].text != ";":
        yield tokens[index]
        index += 1


def typedef(tokens: Sequence[Token], index: int) -> Iterator[tuple[str, Sequence[str]]]:
    """typedef = "typedef" type NAME ";" (of functions and structs only the name is kept)."""
    whole = list(until_semicolon(tokens, index))
    words = list(takewhile(lambda token: token.text != "}", reversed(whole)))[::-1]
    names = [token.text for token in words if token.kind == "IDENTIFIER"]
    texts = [token.text for token in words]
    if "(" in texts:
        # A pointer to a function: the name is the last one in the first parentheses.
        inner = texts[texts.index("(") + 1 : texts.index(")")] if ")" in texts else []
        names = [text for text in inner if text.isidentifier()]
    if not names:
        return
    if set(texts) <= set(names) and len(words) == len(whole):
        yield names[-1], names[:-1]
    else:
        for name in names if "," in texts else names[-1:]:
            yield name, ("not a simple type",)


def using_alias(tokens: Sequence[Token], index: int) -> Iterator[tuple[str, list[Token]]]:
    """alias = "using" NAME "=" type ";"; `index`: of "using"."""
    if [token.text for token in tokens[index + 2 : index + 3]] == ["="]:
        yield tokens[index + 1].text, [*until_semicolon(tokens, index + 3)]


def constants(tokens: Sequence[Token]) -> Iterator[tuple[int, str, int]]:
    """constant = ("const" | "constexpr") integer-type NAME "=" NUMBER ";"; with NAME's index."""
    for index in range(len(tokens) - 3):
        if tokens[index].text not in ("const", "constexpr"):
            continue
        words = list(until_semicolon(tokens, index))
        texts = [token.text for token in words]
        if len(words) < 5 or texts[-2] != "=" or words[-1].kind != "NUMBER":
            continue
        value = literal_value(texts[-1])
        if value is not None and integer_type(texts[:-3]) is not None:
            yield index + len(words) - 3, texts[-3], value


def computed_constants(tokens: Sequence[Token]) -> Iterator[tuple[int, str, list[Token]]]:
    """constant = ("const" | "constexpr") integer-type NAME "=" formula ";"; with NAME's index."""
    for index in range(len(tokens) - 3):
        if tokens[index].text not in ("const", "constexpr"):
            continue
        words = list(until_semicolon(tokens, index))
        texts = [token.text for token in words]
        equals = texts.index("=") if "=" in texts else 0
        is_named = equals > 1 and words[equals - 1].kind == "IDENTIFIER"
        known = integer_type(texts[: equals - 1]) if is_named else None
        if known is not None and known.bits >= _WIDE and len(words) > equals + 2:
            yield index + equals - 1, texts[equals - 1], words[equals + 1 :]


def declared_names(tokens: Sequence[Token]) -> Iterator[tuple[int, Token]]:
    """Variables, enumerators, template parameters: names that may hide others."""
    depth = 0
    for index, token in enumerate(tokens):
        depth = max(0, depth + {"(": 1, ")": -1}.get(token.text, 0))
        is_name = token.kind == "IDENTIFIER" and 0 < index < len(tokens) - 1
        if depth > 0 or not is_name:
            continue
        before, after = tokens[index - 1], tokens[index + 1].text
        is_declared = before.kind == "IDENTIFIER" or before.text in ("*", "&", ">", "{", ",")
        if is_declared and after in ("=", ";", ",", "[", ">", "}", "{"):
            yield index, token


#: Bits of types in which sums of sizes of blocks do not wrap around.
_WIDE = 32
#: Of one brace; no code has more.
_MOST_NAMES = 20


def _namespace(syntax: Syntax, opener: int) -> tuple[str, ...] | None:
    """("namespace" attribute* (NAME ("::" NAME)*)? attribute* | "extern" STRING) "{".

    None for other braces.
    """
    tokens, index = syntax.tokens, opener - 1
    if opener >= 2 and tokens[index].kind == "STRING":
        return () if tokens[opener - 2].text == "extern" else None
    names: list[str] = []
    while index >= 0 and len(names) < _MOST_NAMES:
        kind, text, _ = tokens[index]
        first = _attribute(syntax, index)
        if text == "namespace":
            return tuple(reversed(names))
        if kind == "IDENTIFIER" and text != "inline":
            names.append(text)
        if kind != "IDENTIFIER" and text != "::" and first is None:
            return None
        index = (index if first is None else first) - 1
    return None


def _attribute(syntax: Syntax, last: int) -> int | None:
    """The first token of ("[[" … "]]" | "__attribute__" "(" … ")") that ends with this one."""
    tokens, opener = syntax.tokens, syntax.brackets.partner[last]
    if 0 < opener < last and tokens[opener - 1].text == "__attribute__":
        return opener - 1
    opener = attribute_opener(tokens, syntax.brackets, last)
    return opener if opener > 0 else None


def scope_around(
    syntax: Syntax, index: int, through_classes: bool = False
) -> tuple[str, ...] | None:
    """The namespaces around a token; None within a class, unless that does not matter."""
    found: list[str] = []
    for place in syntax.around(index):
        inner = _namespace(syntax, place) if syntax.tokens[place].text == "{" else ()
        if inner is None and not (through_classes or syntax.functions_around(place + 1)):
            return None
        found = [*(inner or ()), *found]
    return tuple(found)


@dataclass(frozen=True)
class FunctionText:
    """The text before the body of a function definition, macros expanded."""

    span: Span
    head: tuple[Token, ...]
    parameters: tuple[tuple[Token, ...], ...]
    template_parameters: tuple[str, ...]
    type_parameters: frozenset[str]


@dataclass(frozen=True)
class UnitPart:
    """A text of the unit; `place`: the offset of a token in `source`, as the user wrote it."""

    syntax: Syntax
    source: Source
    place: Callable[[Token], int] = attrgetter("start")


@dataclass(frozen=True)
class Unit:
    """All texts of a translation unit. `is_expanded`: the preprocessor has expanded all macros."""

    parts: tuple[UnitPart, ...]
    macros: MacroTable
    is_expanded: bool
    unsteady: Unsteady = field(default_factory=Unsteady)

    @cached_property
    def functions(self) -> Mapping[str, Sequence[tuple[UnitPart, SourceFunction]]]:
        table: defaultdict[str, list[tuple[UnitPart, SourceFunction]]] = defaultdict(list)
        for part in self.parts:
            for function in part.syntax.functions:
                if function.body is not None:
                    table[function.name].append((part, function))
        return table

    @cached_property
    def typedefs(self) -> Mapping[str, Sequence[str]]:
        """Aliases of integer types; one that is defined in two ways is left out."""
        aliases = [*self._aliases()]
        certain = _unambiguous((name, integer_type(words) or words) for name, words in aliases)
        return {name: words for name, words in aliases if name in certain}

    @cached_property
    def constants(self) -> Mapping[str, int]:
        """`const int NAME = literal;` at file scope, where the name means nothing else."""
        found: list[tuple[str, int | None]] = []
        for tokens in self._scope_tokens:
            known = {index: (name, value) for index, name, value in constants(tokens)}
            found += known.values()
            found += ((t.text, None) for i, t in declared_names(tokens) if i not in known)
        return {n: value for n, value in _unambiguous(found).items() if value is not None}

    @cached_property
    def computed_constants(self) -> Mapping[str, Sequence[Token]]:
        """`constexpr int NAME = formula;` at file scope, where the name means nothing else."""
        found: list[tuple[str, tuple[Token, ...]]] = []
        for tokens in self._scope_tokens:
            known = {index: (name, (*value,)) for index, name, value in computed_constants(tokens)}
            found += known.values()
            found += ((t.text, ()) for i, t in declared_names(tokens) if i not in known)
        return {name: value for name, value in _unambiguous(found).items() if value}

    def text(self, part: UnitPart, function: SourceFunction) -> FunctionText:
        """Cut out one function and expand its macros."""
        tokens, (opener, closer) = part.syntax.tokens, function.parameters
        first, last = (part.place(tokens[i]) for i in (function.first, function.braces[1]))
        head = self.with_macros(tokens[function.first : opener])
        parameters = split_commas(self.with_macros(tokens[opener + 1 : closer]))
        named = dict(template_parameters(head))
        return FunctionText(
            Span(first, last + 1),
            tuple(head),
            tuple(map(tuple, parameters)),
            tuple(named),
            frozenset(name for name, is_type in named.items() if is_type),
        )

    def with_macros(self, tokens: Sequence[Token]) -> Sequence[Token]:
        """The tokens with macros expanded, where that is certain."""
        try:
            return tokens if self.is_expanded else self.macros.expand(tokens)
        except Unexpandable:
            return tokens

    @cached_property
    def _scope_tokens(self) -> list[list[Token]]:
        syntaxes = (part.syntax for part in self.parts)
        return [[one.tokens[i] for i in outside_bodies(one)] for one in syntaxes]

    def _aliases(self) -> Iterator[tuple[str, Sequence[str]]]:
        for tokens in self._scope_tokens:
            for index, token in enumerate(tokens):
                if token.text == "typedef":
                    yield from typedef(tokens, index + 1)
                elif token.text == "using":
                    for name, words in using_alias(tokens, index):
                        yield name, [word.text for word in words]
                elif token.text in ("typename", "class") and 0 < index < len(tokens) - 1:
                    before, named = tokens[index - 1], tokens[index + 1]
                    if before.text in ("<", ",") and named.kind == "IDENTIFIER":
                        yield named.text, ("template parameter",)  # It stands for many types.


_Meaning = TypeVar("_Meaning")


def _unambiguous(meanings: Iterable[tuple[str, _Meaning]]) -> dict[str, _Meaning]:
    """The names that have only one meaning."""
    found: dict[str, _Meaning] = {}
    several = {name for name, one in meanings if found.setdefault(name, one) != one}
    return {name: one for name, one in found.items() if name not in several}


def split_commas(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """list = item ("," item)*, brackets and template arguments being closed."""
    item: list[Token] = []
    depth = angle = 0
    for token in tokens:
        text = token.text
        depth += (text in OPENERS) - (text in CLOSERS)
        angle += {"<": 1, ">": -1}.get(text, 0) if depth == 0 else 0
        if text == "," and depth == 0 and angle <= 0:
            yield item
            item = []
        else:
            item.append(token)
    if item:
        yield item


def outside_bodies(syntax: Syntax) -> Iterator[int]:
    """Indices of the tokens outside function bodies."""
    position = 0
    for function in syntax.functions:
        if function.body is None or function.body[0] < position:
            continue
        yield from range(position, function.body[0])
        position = function.body[1] + 1
    yield from range(position, len(syntax.tokens))


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
