"""Matched brackets. Takes significant tokens and directives, gives each bracket its partner.

Branches of `#if` may each open or close a bracket: every branch starts from the state before the
`#if`, and the text behind `#endif` goes on from the state after the first branch that can be
compiled (not `#if 0`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from cutune.source.syntax.directives import Directive
from cutune.source.syntax.tokens import Token

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
