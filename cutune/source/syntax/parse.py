"""The shape of a CUDA source. Takes a `Source`, gives a `Syntax`.

Islands only: function definitions, launches, macros and pragmas over matched brackets. The text
between them is never parsed, so no construct of C++ can spoil a whole file.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.source import Source, Span
from cutune.source.syntax.directives import (
    CLOSER,
    Brackets,
    Directive,
    Macro,
    Pragma,
    macros,
    match_brackets,
    pragmas,
)
from cutune.source.syntax.functions import SourceFunction, attribute_opener, find_functions
from cutune.source.syntax.tokens import TRIVIA, Token, lex

Range = tuple[int, int]
"""Indices of the first and the last token of something; empty when the last is before the first."""

_CONTROL = frozenset({"if", "for", "while", "switch", "constexpr"})


@dataclass(frozen=True)
class Launch:
    """`callee<<<configuration>>>(arguments)`, as ranges of significant tokens."""

    callee: Range
    configuration: tuple[Range, ...]
    arguments: tuple[Range, ...]
    #: Index of the `)` that closes the arguments.
    end: int
    function: SourceFunction | None
    directive_inside: bool
    is_statement: bool


@dataclass(frozen=True)
class Syntax:
    """The islands recognised in one source. `tokens` are the significant ones."""

    source: Source
    tokens: Sequence[Token]
    directives: tuple[Directive, ...]
    brackets: Brackets
    macros: tuple[Macro, ...]
    functions: tuple[SourceFunction, ...]
    launches: tuple[Launch, ...]
    launch_macros: tuple[Macro, ...]
    pragmas: tuple[Pragma, ...]
    diagnostics: tuple[Diagnostic, ...] = field(default=())

    @property
    def kernels(self) -> tuple[SourceFunction, ...]:
        """Definitions of `__global__` functions."""
        return tuple(f for f in self.functions if f.is_kernel and f.body is not None)

    def innermost(self, index: int) -> int:
        """The innermost bracket that is open before a token, or -1."""
        return self._open[index]

    @cached_property
    def _open(self) -> Sequence[int]:
        partner, found = self.brackets.partner, [-1]
        for index, token in enumerate(self.tokens):
            if token.text in CLOSER:
                found.append(index)
            else:
                is_closed = token.text in (")", "]", "}") and partner[index] >= 0
                found.append(found[partner[index] if is_closed else index])
        return found

    def functions_around(self, index: int) -> list[SourceFunction]:
        """The functions whose bodies hold the place before a token, from the outermost inwards."""
        bodies = ((function, function.body) for function in self.functions)
        return [function for function, body in bodies if body and body[0] < index <= body[1]]

    def span(self, tokens: Range) -> Span:
        """The bytes from the first to the last token."""
        first, last = tokens
        if last < first:
            return Span(self.tokens[first].start, self.tokens[first].start)
        return Span(self.tokens[first].start, self.tokens[last].end)

    def text(self, tokens: Range) -> str:
        """The text from the first to the last token."""
        return self.source[self.span(tokens)]

    def part(self, tokens: Range) -> Sequence[Token]:
        """The tokens from the first to the last."""
        return self.tokens[tokens[0] : tokens[1] + 1]

    def outer(self, first: int) -> Iterator[int]:
        """Indices from a token on, what brackets hold left out; up to one that nothing closes."""
        index = first
        while first <= index < len(self.tokens):
            yield index
            is_opener = self.tokens[index].text in CLOSER
            index = (self.brackets.partner[index] if is_opener else index) + 1

    def directives_within(self, first: int, last: int) -> tuple[Directive, ...]:
        """The directives behind token `first` and before token `last`."""
        begin, end = (bisect_right(self.directives, i, key=_index) for i in (first, last))
        return self.directives[begin:end]


_index = attrgetter("index")


def parse(source: Source) -> Syntax:
    """Lex a source and recognise its islands. Never fails: errors are diagnostics."""
    tokens, directives = _significant(source.text)
    brackets = match_brackets(tokens, directives)
    all_macros = macros(directives)
    qualifiers = frozenset(m.name for m in all_macros if "__global__" in m.body_text)
    functions = tuple(find_functions(tokens, brackets, qualifiers))
    return Syntax(
        *(source, tokens, tuple(directives), brackets, all_macros, functions),
        tuple(_Launches(tokens, brackets, directives, functions).find()),
        tuple(macro for macro in all_macros if "<<<" in macro.body_text),
        pragmas(directives),
        _diagnostics(source, tokens, directives, brackets),
    )


def _significant(text: str) -> tuple[list[Token], list[Directive]]:
    every = list(lex(text, TRIVIA))
    places = [place for place, token in enumerate(every) if token[0] == "DIRECTIVE"]
    # Of n directives before a place in all tokens, n do not count.
    directives = [Directive(place - n, every[place]) for n, place in enumerate(places)]
    begins, ends = [0, *(place + 1 for place in places)], [*places, len(every)]
    pieces = (every[begin:end] for begin, end in zip(begins, ends, strict=True))
    return [token for piece in pieces for token in piece], directives


def _diagnostics(
    source: Source,
    tokens: Sequence[Token],
    directives: Sequence[Directive],
    brackets: Brackets,
) -> tuple[Diagnostic, ...]:
    bracket = brackets.unbalanced
    is_text = "\0" not in source.text
    if bracket is not None and is_text:
        return (Diagnostic.at(Code.UNBALANCED, source, bracket.span, bracket=bracket.text),)
    is_code = directives or any(token.text in (";", "{") for token in tokens)
    if not is_code or not is_text:
        return (Diagnostic.at(Code.NOT_CUDA, source, path=source.path),)
    return ()


@dataclass(frozen=True)
class _Launches:
    """launch = callee "<<<" list ">" ">" ">" "(" list? ")"."""

    tokens: Sequence[Token]
    brackets: Brackets
    directives: Sequence[Directive]
    functions: Sequence[SourceFunction]

    def find(self) -> Iterator[Launch]:
        bodies = deque((one.body, one) for one in self.functions if one.body is not None)
        around: list[tuple[Range, SourceFunction]] = []
        for opener in sorted(self.brackets.around):
            while bodies and bodies[0][0][0] < opener:
                around.append(bodies.popleft())
            while around and around[-1][0][1] <= opener:
                around.pop()
            callee, closer = self._callee(opener), self._closer(opener)
            end = self.brackets.partner[closer + 3] if closer is not None else -1
            if callee is None or closer is None or end < 0:
                continue
            before, within = (bisect_right(self.directives, i, key=_index) for i in (callee, end))
            yield Launch(
                (callee, opener - 1),
                tuple(self.split(opener + 1, closer - 1)),
                tuple(self.split(closer + 4, end - 1)),
                end,
                around[-1][1] if around else None,
                before < within,
                self._is_statement(callee, opener, end),
            )

    def _closer(self, opener: int) -> int | None:
        tokens, partner = self.tokens, self.brackets.partner
        index = opener + 1
        while index < len(tokens) - 3:
            text = tokens[index].text
            if text in CLOSER and partner[index] >= 0:
                index = partner[index] + 1
                continue
            if text in (";", "{", "}", ")", "]") or tokens[index].kind == "LAUNCH_OPEN":
                return None
            if text == ">" and [t.text for t in tokens[index + 1 : index + 4]] == [">", ">", "("]:
                return index
            index += 1
        return None

    def _callee(self, opener: int) -> int | None:
        """callee = [primary ("::" | "." | "->")] primary; gives the index of its first token."""
        first = self._primary(opener - 1)
        while first is not None and first > 0 and self.tokens[first - 1].text in ("::", ".", "->"):
            before = self._primary(first - 2) if first > 1 else None
            if before is None:
                # A global name: `::kernel<<<…>>>`.
                return first - 1
            first = before
        return first

    def _primary(self, last: int) -> int | None:
        """primary = NAME ["<" … ">"] | NAME? "(" … ")" | primary "[" … "]"; read backwards."""
        if last < 0:
            return None
        token, partner = self.tokens[last], self.brackets.partner
        if token.kind == "IDENTIFIER":
            return None if token.text in ("return", "else", "do") else last
        if token.text == ">":
            opener = template_opener(self.tokens, partner, last)
            if opener is None or opener == 0 or self.tokens[opener - 1].kind != "IDENTIFIER":
                return None
            return opener - 1
        if token.text == ")" and partner[last] >= 0:
            opener = partner[last]
            before = self.tokens[opener - 1] if opener > 0 else token
            is_call = before.kind == "IDENTIFIER" and before.text not in _CONTROL
            return opener - 1 if is_call else opener
        if token.text == "]" and partner[last] >= 0:
            return self._primary(partner[last] - 1)
        return None

    def split(self, first: int, last: int) -> Iterator[Range]:
        """list = expression ("," expression)*; template arguments hide their commas."""
        tokens, partner = self.tokens, self.brackets.partner
        closers = template_closers(tokens, partner, first, last)
        begin = index = first
        while index <= last:
            text = tokens[index].text
            if text in CLOSER and partner[index] >= 0:
                index = partner[index]
            elif text == "<" and index > first and tokens[index - 1].kind == "IDENTIFIER":
                closer = closers.get(index, last)
                if closer < last and tokens[closer + 1].text in ("(", "::", "{"):
                    index = closer
            elif text == ",":
                yield begin, index - 1
                begin = index + 1
            index += 1
        if first <= last:
            yield begin, last

    def _is_statement(self, callee: int, opener: int, end: int) -> bool:
        tokens, partner = self.tokens, self.brackets.partner
        around = self.brackets.around[opener]
        if around < 0 or tokens[around].text != "{" or end + 1 >= len(tokens):
            return False
        while (attribute := attribute_opener(tokens, self.brackets, callee - 1)) > 0:
            callee = attribute
        before = tokens[callee - 1].text
        if tokens[end + 1].text != ";":
            return False
        if before == ")":
            head = partner[callee - 1] - 1
            return head >= 0 and tokens[head].text in _CONTROL
        if before == ":":
            return self._ends_label(callee - 1, around)
        return before in (";", "{", "}", "else", "do")

    def _ends_label(self, colon: int, around: int) -> bool:
        """label = NAME ":" | "case" … ":" | "default" ":"; the colon of `? :` ends none."""
        index = colon - 1
        while index > around:
            text = self.tokens[index].text
            if text in (";", "{", "}"):
                return True
            if text == "?":
                return False
            is_closed = text in (")", "]") and self.brackets.partner[index] >= 0
            index = (self.brackets.partner[index] if is_closed else index) - 1
        return True


def template_opener(tokens: Sequence[Token], partner: Sequence[int], closer: int) -> int | None:
    """The `<` of the template arguments that end at `closer`.

    Stops at a launch, so that reading backwards from every launch takes linear time.
    """
    depth, index = 0, closer
    while index >= 0:
        text = tokens[index].text
        if text == ">":
            depth += 1
        elif text == "<":
            depth -= 1
            if depth == 0:
                return index
        elif text in (")", "]", "}"):
            if partner[index] < 0:
                return None
            index = partner[index]
        elif text in (";", "{", "(", "<<") or tokens[index].kind == "LAUNCH_OPEN":
            return None
        index -= 1
    return None


def template_closers(
    tokens: Sequence[Token], partner: Sequence[int], first: int, last: int
) -> dict[int, int]:
    """Each `<` in a range that may open template arguments, with the `>` that closes them."""
    found: dict[int, int] = {}
    openers: list[int] = []
    index = first
    while index <= last:
        text = tokens[index].text
        if text == "<":
            openers.append(index)
        elif text == ">" and openers:
            found[openers.pop()] = index
        elif text in CLOSER and partner[index] >= 0:
            index = partner[index]
        elif text in (";", ")", "}", "&&", "||", "?") or tokens[index].kind == "LAUNCH_OPEN":
            openers.clear()
        index += 1
    return found
