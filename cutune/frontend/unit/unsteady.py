"""Text that says something else at each use, or on each line. Takes tokens, names what does.

A macro of a header, or of an option, shows nothing in the user's files. So the preprocessor is
asked once more where macros are used, for text in which `__COUNTER__` and `__LINE__` stand for
themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cutune.core.source import Source
from cutune.frontend.syntax.parse import Range, Syntax
from cutune.frontend.syntax.tokens import Token
from cutune.frontend.unit.macros import macros_of

COUNTER, LINE = "__COUNTER__", "__LINE__"
Seen = Sequence[tuple[Source, Syntax]]
"""The user's files: each as it is written, and as it is compiled."""
_Lines = Mapping[tuple[str, int], Collection[str]]


@dataclass(frozen=True)
class Unsteady:
    """Answers for one unit. `sources`: the user's files. `expanded`: them as they are compiled.

    `marked`: asks for them with marks, and gives None where nobody knows.
    """

    sources: tuple[Source, ...] = ()
    expanded: Seen = ()
    marked: Callable[[], Seen | None] = lambda: None

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
        path, used = syntax.source.path, list[Token]()
        for token in syntax.tokens[tokens[0] : tokens[1] + 1] if lines else ():
            line = _line(syntax, token)
            is_macro = token.text not in self._shown.get((path, line), ())
            if token.kind == "IDENTIFIER" and is_macro and line in lines:
                used.append(token)
        if not used:
            return None
        if self._marks is None:
            names = macros_of((word,), self.sources)
            return next((token.text for token in used if token.text in names), None)
        marked = [line for line in lines if word in self._marks.get((path, line), ())]
        return next((t.text for t in used if _line(syntax, t) in marked), word if marked else None)

    @cached_property
    def _shown(self) -> _Lines:
        return _names_by_line(self.expanded)

    @cached_property
    def _marks(self) -> _Lines | None:
        seen = self.marked()
        return None if seen is None else _names_by_line(seen)


def _names_by_line(seen: Seen) -> _Lines:
    found: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    for written, syntax in seen:
        for token in syntax.tokens:
            if token.kind == "IDENTIFIER":
                found[written.path, _line(syntax, token)].add(token.text)
    return found


def _line(syntax: Syntax, token: Token) -> int:
    return syntax.source.location(token.start).line
