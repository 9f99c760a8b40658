"""Functions that a kernel may call. Takes files and a kernel, follows the names in its text.

A name leads to everything that is declared under it: functions and variables, macros, other names
of types, and classes as a whole, since constructors and operators are called without being named.
An operator outside of its class is reached by any name in its parameters. What instances of a
template are made of is told by their mangled names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby, pairwise

from cutune.source.syntax.parse import SourceFunction, Syntax
from cutune.source.syntax.tokens import Token, begin_of, word_set

_CLASSES = frozenset({"struct", "class", "union", "enum"})
#: They tell nothing: words of the language, and of types that are no classes.
_WORDS = _CLASSES | word_set("""
    alignas asm auto bool break case char const constexpr continue default delete do double else
    explicit extern false float for friend goto if inline int long mutable namespace new noexcept
    nullptr operator private protected public register return short signed sizeof static
    static_assert static_cast switch template this true typedef typename unsigned using void
    volatile while __device__ __host__ __global__ __constant__ __shared__ __forceinline__
    __restrict__ __inline__ __noinline__ __align__ std size_t threadIdx blockIdx blockDim gridDim
""")
#: Called by `for (x : all)`, by `auto [a, b] = …`, and by the library.
_UNNAMED = frozenset({"begin", "end", "get", "tuple_size", "tuple_element", "swap"})
#: Which function is called shows only when the program runs.
_VIRTUAL = frozenset({"virtual", "override"})
_DIGITS = re.compile(r"\d+")
_UNNAMED_TYPE = re.compile(r"U[lt]|__nv_h?dl_")
Function = tuple[Syntax, SourceFunction]


@dataclass(frozen=True)
class _Class:
    first: int
    brace: int
    last: int
    names: frozenset[str]

    def has(self, function: SourceFunction) -> bool:
        return self.brace < function.first <= self.last


@dataclass(frozen=True)
class _Region:
    """A piece of text. `names`: any of them leads here; `words`: it leads to them."""

    names: frozenset[str]
    words: frozenset[str]


@dataclass(frozen=True)
class Reach:
    """The functions that the text of these files may call.

    Attributes:
        files: as they are written.
        expanded: as the compiler sees them, where it was asked: macros may come from anywhere.
    """

    files: Sequence[Syntax]
    expanded: Sequence[Syntax] = ()

    def called(
        self, syntax: Syntax, kernel: SourceFunction, entries: Collection[str]
    ) -> Collection[Function]:
        """The functions that a kernel may call; `entries`: mangled names of its instances."""
        if self._is_open or any(_UNNAMED_TYPE.search(entry) for entry in entries):
            return self._functions
        namesakes = [(s, k) for s in self.expanded for k in s.kernels if k.name == kernel.name]
        texts = [_text(*found) for found in ((syntax, kernel), *namesakes)]
        names = self._reached(frozenset().union(*map(_words, texts)), entries)
        # Macros that make names of parts may lead anywhere.
        macros = (macro for file in self.files for macro in file.macros if macro.name in names)
        if any("##" in macro.body_text for macro in macros):
            return self._functions
        return [one for one in self._functions if self._leads_to(one, names)]

    def _reached(self, words: frozenset[str], entries: Iterable[str]) -> frozenset[str]:
        found = words | _UNNAMED | {name for entry in entries for name in _in_mangled(entry)}
        left = self._regions
        while reached := [region for region in left if region.names & found]:
            left = [region for region in left if not region.names & found]
            found = found.union(*(region.words for region in reached))
        return found

    def _leads_to(self, function: Function, names: frozenset[str]) -> bool:
        syntax, one = function
        around = [each for each in self._classes[id(syntax)] if each.has(one)]
        is_member_operator = around and one.name == "operator"
        own = frozenset[str]() if is_member_operator else _names_of(syntax, one)
        return not names.isdisjoint(own.union(*(each.names for each in around)))

    @cached_property
    def _functions(self) -> list[Function]:
        """All that a kernel might call; those that macros define are in the expanded text alone."""
        every = (*self.files, *self.expanded)
        found = ((syntax, one) for syntax in every for one in syntax.functions if one.body)
        return [
            (syntax, one)
            for syntax, one in found
            if not one.is_kernel and (one.is_device_code or "constexpr" in one.qualifiers)
        ]

    @cached_property
    def _is_open(self) -> bool:
        words = (token.text for syntax in self.files for token in syntax.tokens)
        return not _VIRTUAL.isdisjoint(words) or any(map(self._is_in_pieces, self.files))

    def _is_in_pieces(self, syntax: Syntax) -> bool:
        places = [d.index for d in syntax.directives if d.name == "include"]
        spans = [(one.first, one.body[1]) for one in syntax.functions if one.body is not None]
        spans += [(each.first, each.last) for each in self._classes[id(syntax)]]
        return any(first < place <= last for place in places for first, last in spans)

    @cached_property
    def _classes(self) -> dict[int, list[_Class]]:
        """The classes of each text, by its identity."""
        return {id(syntax): list(_classes(syntax)) for syntax in (*self.files, *self.expanded)}

    @cached_property
    def _regions(self) -> list[_Region]:
        every = (*self.files, *self.expanded)
        return [region for syntax in every for region in self._regions_of(syntax)]

    def _regions_of(self, syntax: Syntax) -> Iterator[_Region]:
        for macro in syntax.macros:
            yield _Region(frozenset({macro.name}), _words(macro.body))
        classes, spans = self._classes[id(syntax)], []
        for each in classes:
            spans.append((each.first, each.last))
            yield _Region(each.names, _words(syntax.tokens[each.first : each.last + 1]))
        for one in syntax.functions:
            is_member = any(each.has(one) for each in classes)
            spans.append((one.first, _last(one)))
            if not one.is_kernel and not (is_member and one.name == "operator"):
                yield _Region(_names_of(syntax, one), _words(_text(syntax, one)))
        for statement in _others(syntax, spans):
            yield _Region(_declared(statement), _words(statement))


def _last(function: SourceFunction) -> int:
    return (function.body or function.parameters)[1]


def _text(syntax: Syntax, function: SourceFunction) -> Sequence[Token]:
    return syntax.tokens[function.first : _last(function) + 1]


def _words(tokens: Iterable[Token]) -> frozenset[str]:
    return frozenset(t.text for t in tokens if t.kind == "IDENTIFIER" and t.text not in _WORDS)


def _names_of(syntax: Syntax, function: SourceFunction) -> frozenset[str]:
    """The names that lead to a function: its own, and that of its class; of operators all types."""
    opener, closer = function.parameters
    head = syntax.tokens[function.first : opener]
    scopes = _words(t for t, behind in pairwise(head) if behind.text in ("::", "<"))
    if function.name != "operator":
        return scopes | {function.name}
    # One of a literal, or of any type, is called whatever the names are.
    if head[0].text == "template" or any(token.kind == "STRING" for token in head):
        return _UNNAMED
    # One without any is a member of a class that was not recognised.
    return scopes | _types(syntax.tokens[opener + 1 : closer]) or _UNNAMED


def _types(parameters: Sequence[Token]) -> frozenset[str]:
    types: list[Token] = []
    for is_comma, tokens in groupby(parameters, lambda token: token.text == ","):
        named = [token for token in tokens if token.kind == "IDENTIFIER"]
        types += [] if is_comma else named[:-1] or named
    return _words(types)


def _classes(syntax: Syntax) -> Iterator[_Class]:
    tokens, partner = syntax.tokens, syntax.brackets.partner
    bodies = {one.body[0] for one in syntax.functions if one.body is not None}
    for first, token in enumerate(tokens):
        if token.text not in _CLASSES:
            continue
        brace = first + 1
        while brace < len(tokens) and tokens[brace].text not in ("{", ";", ")", "="):
            # `alignas(16)`, or the parameters of a function that returns a class.
            is_group = tokens[brace].text == "(" and partner[brace] > brace
            brace = partner[brace] + 1 if is_group else brace + 1
        is_brace = brace < len(tokens) and tokens[brace].text == "{" and partner[brace] > brace
        if not is_brace or brace in bodies:
            continue
        last = partner[brace]
        while last + 1 < len(tokens) and tokens[last].text != ";":
            last += 1
        head = next((i for i in range(first, brace) if tokens[i].text == ":"), brace)
        names = _words(tokens[first:head]) | _words(tokens[partner[brace] : last])
        if token.text == "enum" or not names:
            names = _words(tokens[first:last])
        yield _Class(begin_of(tokens, first), brace, last, names)


def _others(syntax: Syntax, spans: Iterable[tuple[int, int]]) -> Iterator[list[Token]]:
    statement: list[Token] = []
    index, ends = 0, dict(sorted(spans))  # of those that begin alike the last
    while index < len(syntax.tokens):
        token = syntax.tokens[index]
        if index in ends or token.text == ";":
            yield statement
            statement = []
        else:
            statement.append(token)
        index = ends.get(index, index) + 1
    yield statement


def _declared(statement: Sequence[Token]) -> frozenset[str]:
    """The names that a statement may declare; where it names a type, only that name."""
    texts = [token.text for token in statement]
    if "using" in texts and "=" in texts:
        return _words(statement[: texts.index("=")])
    if "typedef" in texts and "(" not in texts and "[" not in texts:
        return _words(statement[-1:])
    depths = accumulate((text in ("(", "[")) - (text in (")", "]")) for text in texts)
    return _words(token for token, depth in zip(statement, depths, strict=True) if depth == 0)


def _in_mangled(name: str) -> Iterator[str]:
    """Names within a mangled one: each is preceded by its length, and perhaps by other digits."""
    for digits in _DIGITS.finditer(name):
        for begin in range(digits.start(), digits.end()):
            size = int(name[begin : digits.end()])
            if 0 < size <= len(name) - digits.end():
                yield name[digits.end() : digits.end() + size]
