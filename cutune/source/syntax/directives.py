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


CLOSER = {"(": ")", "[": "]", "{": "}"}
OPENER = {closer: opener for opener, closer in CLOSER.items()}
_BRACKETS = CLOSER.keys() | OPENER.keys()

#: Open brackets as a linked list, so that a branch remembers its state at no cost.
_Stack = tuple[int, "_Stack"] | None


@dataclass(frozen=True)
class Brackets:
    """`partner[i]` is the index of the bracket that closes or opens token i, or -1.

    `around` gives, for each `<<<`, the innermost open bracket. `unbalanced` is the first bracket
    without a partner; behind it nothing is matched.
    """

    partner: list[int]
    around: dict[int, int]
    unbalanced: Token | None


@dataclass
class _Conditional:
    before: _Stack
    dead: bool
    after_first: _Stack = None
    has_first: bool = False


@dataclass
class _Matcher:
    tokens: Sequence[Token]
    partner: list[int]
    around: dict[int, int] = field(default_factory=dict)
    stack: _Stack = None
    conditionals: list[_Conditional] = field(default_factory=list)
    #: How many of them are in a branch that is not compiled.
    dead: int = 0

    def directive(self, directive: Directive) -> None:
        name = directive.name
        if name in ("if", "ifdef", "ifndef"):
            dead = name == "if" and directive.rest.split()[:1] == ["0"]
            self.conditionals.append(_Conditional(self.stack, dead))
            self.dead += dead
        elif name in ("else", "elif", "elifdef", "elifndef") and self.conditionals:
            self._end_branch(self.conditionals[-1])
            self.stack = self.conditionals[-1].before
        elif name == "endif" and self.conditionals:
            conditional = self.conditionals.pop()
            self._end_branch(conditional)
            self.stack = conditional.after_first if conditional.has_first else conditional.before

    def _end_branch(self, conditional: _Conditional) -> None:
        if not conditional.has_first and not conditional.dead:
            conditional.after_first, conditional.has_first = self.stack, True
        self.dead -= conditional.dead
        conditional.dead = False

    def token(self, index: int, text: str) -> Token | None:
        """Match one bracket; gives the bracket that turns out to have no partner."""
        if text in CLOSER:
            self.stack = (index, self.stack)
            return None
        if self.stack is None:
            return None if self.dead else self.tokens[index]
        opener = self.stack[0]
        if self.tokens[opener].text != OPENER[text]:
            return None if self.dead else self.tokens[opener]
        self.partner[opener], self.partner[index] = index, opener
        self.stack = self.stack[1]
        return None


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


def match_brackets(tokens: Sequence[Token], directives: Sequence[Directive]) -> Brackets:
    """Find the partner of each bracket."""
    matcher = _Matcher(tokens, [-1] * len(tokens))
    waiting = deque(directives)
    for index, token in enumerate(tokens):
        while waiting and waiting[0].index <= index:
            matcher.directive(waiting.popleft())
        text = token.text
        if text in _BRACKETS:
            unbalanced = matcher.token(index, text)
            if unbalanced is not None:
                return Brackets(matcher.partner, matcher.around, unbalanced)
        elif token.kind == "LAUNCH_OPEN":
            matcher.around[index] = matcher.stack[0] if matcher.stack else -1
    for directive in waiting:
        matcher.directive(directive)
    unclosed = tokens[matcher.stack[0]] if matcher.stack else None
    return Brackets(matcher.partner, matcher.around, unclosed)
