"""Preprocessor lines, and brackets across them. Takes tokens, gives macros, pragmas, partners.

What `#if 0` leaves out is no text at all. Other branches may each open or close a bracket: every
branch starts from the state before the `#if`, and the text behind `#endif` goes on from the state
after the branch that is compiled, where that is known; else after the first one.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

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
_IFS = frozenset({"if", "ifdef", "ifndef"})
_ELSES = frozenset({"else", "elif", "elifdef", "elifndef"})
#: Perhaps a condition is a number; without blanks, comments and parentheses around it.
_BY_NUMBER = re.compile(rf"(?:#|%:)(?:\s|\\|{COMMENT})*(?:el)?if(?:[\s(!\\]|{COMMENT})+\d")
_NO_CONDITION = re.compile(rf"{COMMENT}|//[^\n]*|\\\r?\n|[\s()]")
_NUMBER = re.compile(r"(!*)(\d[\d']*)[uUlLzZ]*")


@dataclass(frozen=True)
class Directive:
    """One preprocessor line, with continued ones; `index`: of the significant token behind it.

    `begins_dead`: is the branch that begins there known not to be compiled?
    """

    index: int
    token: Token
    begins_dead: bool = False

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

    @cached_property
    def truth(self) -> bool | None:
        """What the condition of `#if 0` or `#elif 1` says; None: that is not a number."""
        is_plain = self.name in ("if", "elif")
        match = _NUMBER.fullmatch(_NO_CONDITION.sub("", self.rest)) if is_plain else None
        return None if match is None else (int(match[2].replace("'", "")) > 0) != len(match[1]) % 2

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


def without_dead(text: str, tokens: list[Token]) -> tuple[list[Token], frozenset[int]]:
    """The tokens of a text, directives among them, without those that `#if 0` leaves out.

    Also the offsets of the directives before these.
    """
    if _BY_NUMBER.search(text) is None:
        return tokens, frozenset()
    kept, dead = list[Token](), set[int]()
    #: Of each open `#if`: is a branch of it certain? Is it in a dead one? How many are dead?
    certain, left_out, depth = list[bool](), list[bool](), 0
    for token in tokens:
        directive = Directive(0, token) if token.kind == "DIRECTIVE" else None
        name = directive.name if directive is not None else ""
        if name in _IFS:
            certain.append(False)
            left_out.append(False)
        elif name in (*_ELSES, "endif") and certain:
            depth -= left_out[-1]
            left_out[-1] = False
        is_within = depth > 0
        if directive is not None and certain and name in (_IFS | _ELSES):
            left_out[-1] = certain[-1] or directive.truth is False
            certain[-1] = certain[-1] or directive.truth is True
            depth += left_out[-1]
            dead |= {token.start} if left_out[-1] else set()
        elif name == "endif" and certain:
            certain.pop()
            left_out.pop()
        if not is_within:
            kept.append(token)
    return kept, frozenset(dead)


def _branches(directives: Sequence[Directive]) -> Iterator[tuple[int, int, bool]]:
    """Each branch of an `#if`: the position of its directive, and of the one that ends it.

    Also whether its `#if` has an `#else`. Those that nothing ends are left out.
    """
    waiting = list[list[int]]()
    for position, directive in enumerate(directives):
        if directive.name in _IFS:
            waiting.append([position])
        elif directive.name in _ELSES and waiting:
            waiting[-1].append(position)
        elif directive.name == "endif" and waiting:
            begins = waiting.pop()
            has_else = directives[begins[-1]].name == "else"
            for begin, end in pairwise([*begins, position]):
                yield begin, end, has_else


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
        if directive.name in _IFS:
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
    """An `#if`: what was open before it, and behind its first branch that is compiled.

    `dead`, `is_uneven`: of the branch that it is in. `floor`: of the branch around it.
    """

    before: OpenBrackets
    floor: OpenBrackets
    begin: int
    dead: bool
    is_uneven: bool = False
    behind_first: tuple[OpenBrackets] | None = None


@dataclass
class Brackets:
    """`partner[i]` is the index of the bracket that closes or opens token i, or -1.

    `open[i]` is the innermost one that is open before token i, or -1. `around` gives, for each
    `<<<`, the open brackets, the innermost one first. `unbalanced` is the first bracket without a
    partner; behind it nothing is matched. `is_uneven`: does a branch of an `#if` open or close a
    bracket that it does not close or open itself? `holes`: such branches, from the first token to
    the one behind the last, where they are known not to be compiled: they match nothing outside.
    """

    partner: list[int]
    open: list[int] = field(default_factory=list)
    around: dict[int, OpenBrackets] = field(default_factory=dict)
    unbalanced: Token | None = None
    is_uneven: bool = False
    holes: list[tuple[int, int]] = field(default_factory=list)
    _stack: OpenBrackets = None
    #: What was open before the dead branch that it is in, of which that closes nothing.
    _floor: OpenBrackets = None
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
            found.open.append(found._stack[0] if found._stack is not None else -1)
            if token.text in _BRACKETS:
                found._match(tokens, index)
                if found.unbalanced is not None:
                    found.open += [-1] * (len(tokens) - index)
                    return found
            elif token.kind == "LAUNCH_OPEN":
                found.around[index] = found._stack
        for directive in waiting:
            found._directive(directive)
        found.open.append(found._stack[0] if found._stack is not None else -1)
        found.unbalanced = tokens[found._stack[0]] if found._stack else None
        return found

    def _directive(self, directive: Directive) -> None:
        name, dead = directive.name, directive.begins_dead
        if name in _IFS:
            self._conditionals.append(_Conditional(self._stack, self._floor, directive.index, dead))
        elif name in _ELSES and self._conditionals:
            self._end_branch(conditional := self._conditionals[-1], directive.index)
            self._stack, conditional.begin = conditional.before, directive.index
            conditional.dead = dead
        elif name == "endif" and self._conditionals:
            self._end_branch(conditional := self._conditionals.pop(), directive.index)
            (self._stack,) = conditional.behind_first or (conditional.before,)
            return
        else:
            return
        self._dead += dead
        self._floor = self._stack if dead else self._conditionals[-1].floor

    def _end_branch(self, conditional: _Conditional, end: int) -> None:
        is_uneven = conditional.is_uneven or self._stack is not conditional.before
        self.is_uneven = self.is_uneven or is_uneven
        if conditional.dead and is_uneven:
            self.holes.append((conditional.begin, end))
        if conditional.behind_first is None and not conditional.dead:
            conditional.behind_first = (self._stack,)
        self._dead -= conditional.dead
        conditional.dead = conditional.is_uneven = False
        self._floor = conditional.floor

    def _match(self, tokens: Sequence[Token], index: int) -> None:
        text, opener = tokens[index].text, self._stack[0] if self._stack is not None else -1
        if text in OPENERS:
            self._stack = (index, self._stack)
        elif (
            self._stack is not None
            and tokens[opener].text == OPENER_OF[text]
            and not (self._dead and self._stack is self._floor)
        ):
            self.partner[opener], self.partner[index] = index, opener
            self._stack = self._stack[1]
        elif self._dead:
            self._conditionals[-1].is_uneven = True
        else:
            self.is_uneven = bool(self._conditionals) or self.is_uneven
            self.unbalanced = tokens[opener if self._stack is not None else index]


def matched(
    tokens: Sequence[Token],
    directives: list[Directive],
    lines: Iterable[int],
    compiled: Container[int] | None,
) -> tuple[Brackets, list[Directive]]:
    """The brackets of a text, and its directives as they are read for that.

    Where branches open or close what they do not close or open themselves, those that are compiled
    decide; where nobody knows, an `#if` without `#else` may leave its branch out.

    Args:
        tokens, directives: of the text.
        lines: of each token.
        compiled: the lines of which the compiler sees any text, where they are known.
    """
    brackets = Brackets.of(tokens, directives)
    is_unknown = compiled is None and brackets.unbalanced is None
    if not brackets.is_uneven or is_unknown:
        return brackets, directives
    is_seen = [compiled is not None and line in compiled for line in lines]
    is_dead = [False] * len(directives)
    for begin, end, has_else in _branches(directives):
        seen = any(is_seen[directives[begin].index : directives[end].index])
        is_dead[begin] = not (has_else if compiled is None else seen)
    marked = [
        replace(one, begins_dead=one.begins_dead or dead)
        for one, dead in zip(directives, is_dead, strict=True)
    ]
    found = Brackets.of(tokens, marked)
    return (found, marked) if found.unbalanced is None else (brackets, directives)


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
