"""Text that says something else at each use, or on each line. Takes tokens, names what does.

A macro of a header, or of an option, shows nothing in the user's files. So the preprocessor is
asked once more where macros are used, for text in which `__COUNTER__` and `__LINE__` stand for
themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cutune.core.source import Source
from cutune.source.syntax.parse import Range, Syntax
from cutune.source.syntax.tokens import Token
from cutune.source.unit.macros import macros_of

COUNTER, LINE = "__COUNTER__", "__LINE__"
Seen = Sequence[tuple[Source, Syntax]]
"""The user's files: each as it is written, and as it is compiled."""
_Lines = Mapping[tuple[str, int], Sequence[str]]


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
        path = syntax.source.path
        used = [
            token
            for token in syntax.tokens[tokens[0] : tokens[1] + 1]
            if token.kind == "IDENTIFIER" and _line(syntax, token) in lines
        ]
        if not used or all(self._is_plain(syntax, line) for line in lines):
            return None
        if self._marks is None:
            names = macros_of((word,), self.sources)
            return next((token.text for token in used if token.text in names), None)
        marked = [line for line in lines if word in self._marks.get((path, line), ())]
        replaced = (
            token.text
            for token in used
            if (line := _line(syntax, token)) in marked
            and token.text not in self._shown.get((path, line), ())
        )
        return next(replaced, word if marked else None)

    def _is_plain(self, syntax: Syntax, line: int) -> bool:
        """Is the line compiled as it is written? A macro may stand for its own name and more."""
        path = syntax.source.path
        if path not in self._written:
            self._written[path] = _by_line([(syntax.source, syntax)])
        return self._written[path].get((path, line), ()) == self._shown.get((path, line), ())

    @cached_property
    def _written(self) -> dict[str, _Lines]:
        return {}

    @cached_property
    def _shown(self) -> _Lines:
        return _by_line(self.expanded)

    @cached_property
    def _marks(self) -> _Lines | None:
        seen = self.marked()
        return None if seen is None else _by_line(seen)


def _by_line(seen: Seen) -> _Lines:
    """The texts of the tokens of each line."""
    found: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for written, syntax in seen:
        for token in syntax.tokens:
            found[written.path, _line(syntax, token)].append(token.text)
    return found


def _line(syntax: Syntax, token: Token) -> int:
    return syntax.source.location(token.start).line
