"""Textual macros. Takes the `#define`s of the user's files, expands token lists.

The value of a macro is uncertain where it lies under `#if` or is defined twice: it is not expanded.

Some macros give other text at each use (`__COUNTER__`), or on each line (`__LINE__`). One of a
header, or of an option, shows nothing in the user's files. So the preprocessor is asked once more
where macros are used, for text in which these two stand for themselves.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from cutune.core.source import Source
from cutune.source.syntax.directives import CLOSERS, OPENERS, Macro
from cutune.source.syntax.parse import Range, Syntax
from cutune.source.syntax.tokens import Token
from cutune.source.unit.integers import INTEGER_WORDS, QUALIFIERS

_MAXIMAL_TOKENS = 100_000
_DEFINE = re.compile(r"#[ \t]*define[ \t]+(\w+)((?:[^\\\n]|\\\r?\n|\\.)*)")
_TYPE_WORDS = QUALIFIERS | INTEGER_WORDS | {"float", "double"}


class Unexpandable(Exception):
    """The name of a macro whose expansion is not certain."""


@dataclass(frozen=True)
class MacroTable:
    """All macros by name."""

    definitions: Mapping[str, Sequence[Macro]]

    @staticmethod
    def of(macros: Iterable[Macro]) -> MacroTable:
        table: defaultdict[str, list[Macro]] = defaultdict(list)
        for macro in macros:
            table[macro.name].append(macro)
        return MacroTable(table)

    @property
    def symbols(self) -> frozenset[str]:
        """Macros that are numbers of uncertain value, or uncertain types."""
        return frozenset(n for n, d in self.definitions.items() if self._is_symbol(d))

    def is_formula(self, name: str) -> bool:
        """Is every definition of it arithmetic over the macro's own parameters?"""
        found = self.definitions.get(name, ())
        return bool(found) and all(map(_is_formula, found))

    def expand(self, tokens: Sequence[Token]) -> list[Token]:
        """Replace all macros; their tokens stand at the macro's use. Raises Unexpandable."""
        return self._expand(list(tokens), frozenset(), [_MAXIMAL_TOKENS])

    def _expand(
        self, tokens: list[Token], hidden: frozenset[str], budget: list[int]
    ) -> list[Token]:
        out: list[Token] = []
        index = 0
        while index < len(tokens):
            token = tokens[index]
            index += 1
            macro = self._macro(token, hidden)
            is_function = macro is not None and macro.parameters is not None
            is_called = index < len(tokens) and tokens[index].text == "("
            if macro is None or (is_function and not is_called):
                out.append(token)
                continue
            arguments: list[list[Token]] = []
            if is_function:
                arguments, index = _arguments(tokens, index, token)
            expand = partial(self._expand, hidden=hidden, budget=budget)
            body = _substituted(macro, arguments, token, expand)
            budget[0] -= len(body)
            if budget[0] < 0 or len(hidden) > 100:
                raise Unexpandable(token.text)
            out += self._expand(body, hidden | {macro.name}, budget)
        return out

    def _macro(self, token: Token, hidden: frozenset[str]) -> Macro | None:
        is_hidden = token.kind != "IDENTIFIER" or token.text in hidden
        definitions = self.definitions.get(token.text, ())
        if is_hidden or not definitions or self._is_symbol(definitions):
            return None
        if not _is_varied(definitions):
            return definitions[0]
        if all(map(_is_formula, definitions)):
            return None
        raise Unexpandable(token.text)

    def _is_symbol(self, definitions: Sequence[Macro]) -> bool:
        if all(map(_is_type, definitions)):
            return _is_varied(definitions)
        is_uncertain = definitions[0].conditional or _is_varied(definitions)
        return is_uncertain and all(map(self._is_number, definitions))

    def _is_number(self, macro: Macro, depth: int = 0) -> bool:
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


def macros_of(words: Iterable[str], sources: Iterable[Source]) -> frozenset[str]:
    """These words, and macros that lead to one of them."""
    found = {*words}
    sources = tuple(sources)
    if not any(word in source.text for source in sources for word in found):
        return frozenset(found)
    bodies = [
        (m[1], {*re.findall(r"\w+|##", m[2])}) for s in sources for m in _DEFINE.finditer(s.text)
    ]
    count = 0
    while count < len(found):
        count = len(found)
        found |= {name for name, used in bodies if used & found}
    return frozenset(found)


def _substituted(
    macro: Macro,
    arguments: list[list[Token]],
    use: Token,
    expand: Callable[[list[Token]], list[Token]],
) -> list[Token]:
    """The body with parameters replaced; `#` and `##` are beyond this expansion."""
    parameters = macro.parameters or ()
    is_other = any(t.text in ("#", "##", "__VA_ARGS__", "__VA_OPT__") for t in macro.body)
    is_variadic = parameters[-1:] and parameters[-1].endswith("...")
    is_called = len(arguments) == len(parameters) or (not parameters and arguments == [[]])
    if is_other or is_variadic or not is_called:
        raise Unexpandable(use.text)
    values = dict(zip(parameters, map(expand, arguments), strict=False))
    body: list[Token] = []
    for token in macro.body:
        is_parameter = token.kind == "IDENTIFIER" and token.text in values
        body += values[token.text] if is_parameter else [token._replace(start=use.start)]
    return body


def _is_varied(definitions: Sequence[Macro]) -> bool:
    bodies = {(m.parameters, tuple(token.text for token in m.body)) for m in definitions}
    return len(bodies) > 1


def _is_type(macro: Macro) -> bool:
    words = [token.text for token in macro.body]
    return bool(words) and macro.parameters is None and set(words) <= _TYPE_WORDS


def _is_formula(macro: Macro) -> bool:
    return macro.parameters is not None and all(
        token.kind == "NUMBER"
        or token.text in ("+", "-", "*", "/", "(", ")", "%", "?", ":", "<", ">", *macro.parameters)
        for token in macro.body
    )


def _arguments(tokens: list[Token], opener: int, use: Token) -> tuple[list[list[Token]], int]:
    """arguments = "(" [argument ("," argument)*] ")"; gives them and the index behind."""
    arguments: list[list[Token]] = [[]]
    depth = 1
    for index in range(opener + 1, len(tokens)):
        text = tokens[index].text
        depth += (text in OPENERS) - (text in CLOSERS)
        if depth == 0:
            return arguments, index + 1
        if text == "," and depth == 1:
            arguments.append([])
        else:
            arguments[-1].append(tokens[index])
    raise Unexpandable(use.text)


COUNTER, LINE = "__COUNTER__", "__LINE__"
Seen = Sequence[tuple[Source, Syntax]]
"""The user's files: each as it is written, and as it is compiled."""
_Lines = Mapping[tuple[str, int], Sequence[str]]


@dataclass(frozen=True)
class Unsteady:
    """Macros of one unit that have other text at each use, or on each line.

    `sources`: the user's files. `expanded`: these as they are compiled. `marked`: asks for them
    with marks, and gives None where nobody knows.
    """

    sources: tuple[Source, ...] = ()
    expanded: Seen = ()
    marked: Callable[[], Seen | None] = lambda: None
    _written: dict[str, _Lines] = field(default_factory=dict, compare=False)

    def counted(self, syntax: Syntax, tokens: Range) -> str | None:
        """A macro among these tokens that has another value at each use."""
        first, last = (_line(syntax, syntax.tokens[index]) for index in tokens)
        return self._leading_to(COUNTER, syntax, tokens, range(first, last + 1))

    def moved(self, syntax: Syntax, tokens: Range) -> str | None:
        """A macro that has another value where all these tokens are on the line of the first."""
        first, last = (_line(syntax, syntax.tokens[index]) for index in tokens)
        return self._leading_to(LINE, syntax, tokens, range(first + 1, last + 1))

    def _leading_to(self, word: str, syntax: Syntax, tokens: Range, lines: range) -> str | None:
        """A name among the tokens of these lines from which the word comes."""
        path, part = syntax.source.path, syntax.part(tokens)
        named = [(t.text, _line(syntax, t)) for t in part if t.kind == "IDENTIFIER"]
        used = [(name, line) for name, line in named if line in lines]
        if not used or all(self._is_plain(syntax, line) for line in lines):
            return None
        if self._marks is None:
            names = macros_of((word,), self.sources)
            return next((name for name, _ in used if name in names), None)
        marked = [line for line in lines if word in self._marks.get((path, line), ())]
        replaced = (
            name
            for name, line in used
            if line in marked and name not in self._shown.get((path, line), ())
        )
        return next(replaced, word if marked else None)

    def _is_plain(self, syntax: Syntax, line: int) -> bool:
        path = syntax.source.path
        if path not in self._written:
            self._written[path] = _by_line([(syntax.source, syntax)])
        return self._written[path].get((path, line), ()) == self._shown.get((path, line), ())

    @cached_property
    def _shown(self) -> _Lines:
        return _by_line(self.expanded)

    @cached_property
    def _marks(self) -> _Lines | None:
        seen = self.marked()
        return None if seen is None else _by_line(seen)


def _by_line(seen: Seen) -> _Lines:
    found: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for written, syntax in seen:
        for token in syntax.tokens:
            found[written.path, _line(syntax, token)].append(token.text)
    return found


def _line(syntax: Syntax, token: Token) -> int:
    return syntax.source.location(token.start).line
