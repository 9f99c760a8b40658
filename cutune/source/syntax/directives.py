"""Preprocessor lines, and brackets across them. Takes tokens, gives macros, pragmas, partners.

Branches of `#if` may each open or close a bracket: every branch starts from the state before the
`#if`, and the text behind `#endif` goes on from the state after the first branch that can be
compiled (not `#if 0`).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cutune.source.syntax.tokens import Token, lex, lex_significant

#: One comment, and no more than one.
COMMENT = r"/\*[^*]*(?:\*(?!/)[^*]*)*\*/"
_NAME = re.compile(rf"(?:\s|{COMMENT})*(?:#|%:)(?:[ \t]|\\\r?\n|{COMMENT})*(\w+)")
_DEFINE = re.compile(
    rf"(?:\s|\\\r?\n|{COMMENT})+(?P<name>[A-Za-z_$][\w$]*)(?P<parameters>\([^()]*\))?"
)
_CONTINUATION = re.compile(r"\\\r?\n")
#: Perhaps a line gets another number; the trigraph of `#` is not read as such anywhere else.
_RENUMBERED = re.compile(rf"(?:#|%:|(\?\?=))(?:\s|\\|{COMMENT})*(?:line\b|\d)")
_INCLUDE = re.compile(r'\s*"([^"\n]+)"')


@dataclass(frozen=True)
class Directive:
    """One preprocessor line, with continued ones; `index`: of the significant token behind it."""

    index: int
    token: Token

    @cached_property
    def name(self) -> str:
        """`if`, `define`, `pragma` … or nothing."""
        match = _NAME.match(self.token.text)
        return match[1] if match else ""

    @cached_property
    def rest(self) -> str:
        """The text behind the name, continuations still in it."""
        match = _NAME.match(self.token.text)
        return self.token.text[match.end() :] if match else ""

    @property
    def included(self) -> str | None:
        """The path of `#include "path"`."""
        match = _INCLUDE.match(self.rest) if self.name == "include" else None
        return match[1] if match else None


@dataclass(frozen=True)
class Macro:
    """A `#define` as it stands in the text.

    `conditional`: it lies under an `#if` (other than an include guard), so that it may not be in
    force, or not be the only definition.
    """

    name: str
    parameters: tuple[str, ...] | None
    body_text: str
    body_start: int
    conditional: bool

    @cached_property
    def body(self) -> tuple[Token, ...]:
        """The tokens of the replacement. Offsets are exact up to the first continuation."""
        tokens = lex_significant(_CONTINUATION.sub(" ", self.body_text))
        return tuple(token._replace(start=token.start + self.body_start) for token in tokens)


@dataclass(frozen=True)
class Pragma:
    """A `#pragma cutune …` line (or one of KLARAPTOR's); `text` begins behind `pragma`."""

    index: int
    token: Token
    text: str


def directives_of(text: str) -> Iterator[Directive]:
    """The preprocessor lines of a text, without the places among its tokens."""
    return (Directive(0, token) for token in lex(text) if token.kind == "DIRECTIVE")


def renumbers(text: str) -> bool:
    """Does a directive (`#line`) change the numbers of lines?"""
    found = [match[1] for match in _RENUMBERED.finditer(text)]
    names = (directive.name for directive in directives_of(text) if found)
    return any(found) or any(name == "line" or name.isdecimal() for name in names)


def macros(directives: Sequence[Directive]) -> tuple[Macro, ...]:
    """All `#define`s in order."""
    found: list[Macro] = []
    guard, depth = _include_guard(directives), 0
    for number, directive in enumerate(directives):
        if directive.name in ("if", "ifdef", "ifndef"):
            depth += number != guard
        elif directive.name == "endif":
            depth = max(0, depth - 1)
        elif directive.name == "define":
            found += _macro(directive, conditional=depth > 0)
    return tuple(found)


def pragmas(directives: Sequence[Directive]) -> tuple[Pragma, ...]:
    """The pragmas for cutune."""
    found = (
        Pragma(d.index, d.token, _CONTINUATION.sub(" ", d.rest).strip())
        for d in directives
        if d.name == "pragma"
    )
    return tuple(p for p in found if re.match(r"cutune\b|kernel_info_", p.text))


def _macro(directive: Directive, *, conditional: bool) -> Iterator[Macro]:
    match = _DEFINE.match(directive.rest)
    if match is None:
        return
    parameters = None
    if match["parameters"] is not None:
        inner = _CONTINUATION.sub(" ", match["parameters"][1:-1])
        parameters = tuple(name.strip() for name in inner.split(",")) if inner.strip() else ()
    body = directive.rest[match.end() :]
    yield Macro(match["name"], parameters, body, directive.token.end - len(body), conditional)


def _include_guard(directives: Sequence[Directive]) -> int:
    """The number of the `#ifndef` of an include guard, or -1."""
    if len(directives) < 2 or directives[0].name != "ifndef" or directives[1].name != "define":
        return -1
    return 0 if directives[0].rest.split()[:1] == directives[1].rest.split() else -1


CLOSER_OF = {"(": ")", "[": "]", "{": "}"}
OPENER_OF = {closer: opener for opener, closer in CLOSER_OF.items()}
OPENERS, CLOSERS = frozenset(CLOSER_OF), frozenset(OPENER_OF)
_BRACKETS = OPENERS | CLOSERS

#: Open brackets as a linked list, so that a branch remembers its state at no cost.
OpenBrackets = tuple[int, "OpenBrackets"] | None


@dataclass
class _Conditional:
    """An `#if`: what was open before it, and behind its first branch that is compiled."""

    before: OpenBrackets
    dead: bool
    behind_first: tuple[OpenBrackets] | None = None


@dataclass
class Brackets:
    """`partner[i]` is the index of the bracket that closes or opens token i, or -1.

    `around` gives, for each `<<<`, the open brackets, the innermost one first. `unbalanced` is the
    first bracket without a partner; behind it nothing is matched.
    """

    partner: list[int]
    around: dict[int, OpenBrackets] = field(default_factory=dict)
    unbalanced: Token | None = None
    _stack: OpenBrackets = None
    _conditionals: list[_Conditional] = field(default_factory=list)
    #: How many of them are in a branch that is not compiled.
    _dead: int = 0

    @staticmethod
    def of(tokens: Sequence[Token], directives: Sequence[Directive]) -> Brackets:
        """Find the partner of each bracket."""
        found, waiting = Brackets([-1] * len(tokens)), deque(directives)
        for index, token in enumerate(tokens):
            while waiting and waiting[0].index <= index:
                found._directive(waiting.popleft())
            if token.text in _BRACKETS:
                found._match(tokens, index)
                if found.unbalanced is not None:
                    return found
            elif token.kind == "LAUNCH_OPEN":
                found.around[index] = found._stack
        for directive in waiting:
            found._directive(directive)
        found.unbalanced = tokens[found._stack[0]] if found._stack else None
        return found

    def _directive(self, directive: Directive) -> None:
        name = directive.name
        if name in ("if", "ifdef", "ifndef"):
            dead = name == "if" and directive.rest.split()[:1] == ["0"]
            self._conditionals.append(_Conditional(self._stack, dead))
            self._dead += dead
        elif name in ("else", "elif", "elifdef", "elifndef") and self._conditionals:
            self._end_branch(self._conditionals[-1])
            self._stack = self._conditionals[-1].before
        elif name == "endif" and self._conditionals:
            conditional = self._conditionals.pop()
            self._end_branch(conditional)
            (self._stack,) = conditional.behind_first or (conditional.before,)

    def _end_branch(self, conditional: _Conditional) -> None:
        if conditional.behind_first is None and not conditional.dead:
            conditional.behind_first = (self._stack,)
        self._dead -= conditional.dead
        conditional.dead = False

    def _match(self, tokens: Sequence[Token], index: int) -> None:
        text, opener = tokens[index].text, self._stack[0] if self._stack is not None else -1
        if text in OPENERS:
            self._stack = (index, self._stack)
        elif self._stack is not None and tokens[opener].text == OPENER_OF[text]:
            self.partner[opener], self.partner[index] = index, opener
            self._stack = self._stack[1]
        elif not self._dead:
            self.unbalanced = tokens[opener if self._stack is not None else index]


def template_end(tokens: Sequence[Token], places: range, stops: Container[str]) -> int:
    """The `>` that closes the `<` at the first of these places; -1 where a stop is before it."""
    depth = 0
    for place in places:
        text = tokens[place].text
        depth += {"<": 1, ">": -1}.get(text, 0)
        if depth == 0:
            return place
        if text in stops:
            break
    return -1


def closing(texts: Sequence[str], opener: int) -> int:
    """The bracket that closes one; the number of texts where none does."""
    depth = 0
    for place in range(opener, len(texts)):
        depth += (texts[place] in OPENERS) - (texts[place] in CLOSERS)
        if depth == 0:
            return place
    return len(texts)


def behind_template(texts: Sequence[str]) -> int:
    """How many texts the `template <…>` has with which a declaration begins; 0 without it."""
    if tuple(texts[:2]) != ("template", "<"):
        return 0
    depth, place = 0, 1
    while place < len(texts):
        depth += {"<": 1, ">": -1, ">>": -2}.get(texts[place], 0)
        if depth == 0:
            return place + 1
        place = closing(texts, place) + 1 if texts[place] in OPENERS else place + 1
    return 0
