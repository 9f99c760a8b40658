"""Launches in the text that is compiled. Takes a file as it is written, finds its launches there.

In preprocessed text a launch is found again by its line. One in an argument of a macro is found by
its tokens: the macro may repeat the argument, as one that makes a case of it for each type. It is
not touched where its text is printed or changed, or where the macro may give its names another
meaning.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import attrgetter

from cutune.source.syntax.parse import Launch, Range, Syntax
from cutune.source.syntax.tokens import Token, word_set
from cutune.source.unit.macros import Unexpandable
from cutune.source.unit.unit import Unit

#: Words that no declaration can give another meaning.
_KEYWORDS = word_set("""
    auto bool case char const constexpr default do double else false float for if int long nullptr
    return short signed sizeof static static_cast switch template true typename unsigned using while
""")
#: What `[[maybe_unused]]` consists of.
_OF_ATTRIBUTES = frozenset({"[", "]", "[[", "]]", "maybe_unused"})

_WITH_PARAMETERS = re.compile(r"(?:#|%:)[ \t]*define[ \t]+(\w+)\(")

Shown = tuple[Syntax, Launch]
"""A launch in the text that is compiled, and that text."""


@dataclass(frozen=True)
class ShownLaunches:
    """Where the launches of one file stand in the text that is compiled."""

    syntax: Syntax
    unit: Unit

    def of(self, launch: Launch) -> list[Shown]:
        """A launch in the preprocessed text; one per time that the text around it is repeated."""
        first = launch.callee[0]
        return self._repeated.get(first) or self._matched[0].get(first, [])

    def is_hidden(self, launch: Launch) -> bool:
        """Is it uncertain that it is compiled at its place and as written?"""
        around = _calls_around(self.syntax, launch)
        heads = [head for bracket, head in around if bracket == "("]
        if not self.unit.is_expanded:
            return any(head in self.unit.macros.definitions for head in heads)
        if launch.callee[0] in self._repeated:
            return False
        shown = self.of(launch)
        if not shown:
            # Under an #if it may not be compiled at all.
            before = [d.name for d in self.syntax.directives if d.index <= launch.callee[0]]
            is_optional = sum(map(("if", "ifdef", "ifndef").__contains__, before))
            is_uneven = launch.callee[0] in self._matched[1]
            return bool(heads) or is_uneven or is_optional <= before.count("endif")
        return not all(self._is_as_written(launch, *seen) for seen in shown)

    def is_given_to_macro(self, launch: Launch) -> bool:
        """Is it, and nothing else, an argument of a macro of the user?"""
        argument = _MacroArgument.around(self.syntax, launch)
        if argument is None or not self.unit.is_expanded:
            return False
        tokens, (opener, _) = self.syntax.tokens, argument.call
        before, behind = (argument.first, launch.callee[0]), (launch.end + 1, argument.last + 1)
        is_whole = all(token.text == "(" for token in tokens[slice(*before)])
        is_whole = is_whole and all(token.text == ")" for token in tokens[slice(*behind)])
        return is_whole and tokens[opener - 1].text in self._macros

    @cached_property
    def _macros(self) -> frozenset[str]:
        texts = (source.text for source in self.unit.unsteady.sources)
        return frozenset(name for text in texts for name in _WITH_PARAMETERS.findall(text))

    def macro_line(self, launch: Launch) -> int | None:
        """The line at which its copies stand, if it is an argument of a macro."""
        copies = self._repeated.get(launch.callee[0], ())
        return next((_line(syntax, seen.callee[1]) for syntax, seen in copies), None)

    def _is_as_written(self, launch: Launch, syntax: Syntax, seen: Launch) -> bool:
        around = _calls_around(self.syntax, launch)
        return (
            seen.is_statement
            and around == _calls_around(syntax, seen)
            and _begins_alike((self.syntax, launch), (syntax, seen))
        )

    @cached_property
    def _repeated(self) -> Mapping[int, list[Shown]]:
        """Launches in arguments of macros, by first token, as they are shown."""
        if not self.unit.is_expanded:
            return {}
        parts = [p.syntax for p in self.unit.parts if p.source is self.syntax.source]
        found = {}
        for launch in self.syntax.launches:
            matched = self._matched[0].get(launch.callee[0], [])
            if matched and all(self._is_as_written(launch, *seen) for seen in matched):
                continue
            argument = _MacroArgument.around(self.syntax, launch)
            of_parts = (argument.shown_in(part, self.unit) for part in parts if argument)
            if shown := [one for of_part in of_parts for one in of_part]:
                found[launch.callee[0]] = shown
        return found

    @cached_property
    def _matched(self) -> tuple[Mapping[int, list[Shown]], frozenset[int]]:
        """Launches by first token, as they are shown; and those of lines where some are missing.

        A header that is included twice has each of its launches twice.
        """
        if not self.unit.is_expanded:
            return {}, frozenset()
        written = _by_line(self.syntax)
        shown: defaultdict[int, list[Shown]] = defaultdict(list)
        uneven: set[int] = set()
        for part in self.unit.parts:
            if part.source is not self.syntax.source:
                continue
            for line, found in _by_line(part.syntax).items():
                places = [launch.callee[0] for launch in written.get(line, ())]
                if len(places) != len(found):
                    uneven |= {*places}
                    continue
                for place, seen in zip(places, found, strict=True):
                    shown[place].append((part.syntax, seen))
        for place in uneven:
            shown.pop(place, None)
        return shown, frozenset(uneven)


@dataclass(frozen=True)
class _MacroArgument:
    """A launch in an argument of what may be a macro.

    Attributes:
        call: the indices of the brackets around the arguments.
        first, last: the tokens of the argument.
    """

    syntax: Syntax
    launch: Launch
    call: tuple[int, int]
    first: int
    last: int

    @classmethod
    def around(cls, syntax: Syntax, launch: Launch) -> _MacroArgument | None:
        """The argument of the outermost call around a launch."""
        start = launch.callee[0]
        calls = [p for p in syntax.around(start) if _is_call(syntax, p)]
        if not calls:
            return None
        opener, closer = calls[-1], syntax.brackets.partner[calls[-1]]
        inside = (i for i in syntax.outer(opener + 1) if i < closer)
        commas = [i for i in inside if syntax.tokens[i].text == ","]
        first = max((i for i in commas if i < start), default=opener) + 1
        last = min((i for i in commas if i > launch.end), default=closer) - 1
        return cls(syntax, launch, (opener, closer), first, last)

    def shown_in(self, expanded: Syntax, unit: Unit) -> list[Shown]:
        """The launch as a text has it; none where that is not certainly the one that is written."""
        tokens = _tokens_on(expanded, self._lines)
        text = _words(self._compiled(unit, self.launch.callee[0], self.launch.end))
        found = [
            seen
            for seen in expanded.launches
            if _line(expanded, seen.callee[1]) in self._lines
            and _texts(expanded, (seen.callee[0], seen.end)) == text
            # The kernel is the one whose name is written, not what a macro makes of it.
            and _beginning(expanded, seen)[1] == _beginning(self.syntax, self.launch)[1]
        ]
        is_certain = all(
            seen.is_statement and self._stands_alike(expanded, seen) for seen in found
        ) and not any(token.kind == "STRING" and "<<<" in token.text for token in tokens)
        if not is_certain or self._is_shadowed(tokens, len(found), unit):
            return []
        return [(expanded, seen) for seen in found]

    @cached_property
    def _lines(self) -> range:
        opener, closer = self.call
        return range(_line(self.syntax, opener - 1), _line(self.syntax, closer) + 1)

    def _compiled(self, unit: Unit, first: int, last: int) -> Sequence[Token]:
        """Tokens of the argument as they are compiled: it may hold macros, such as a width.

        Where they are not certain the tokens are as they are written, and nothing is found. What
        is compiled has to be the same, so that no macro is taken for another one of its name.
        """
        tokens = self.syntax.part((first, last))
        try:
            return unit.macros.expand(tokens)
        except Unexpandable:
            return tokens

    def _stands_alike(self, expanded: Syntax, seen: Launch) -> bool:
        """Do the brackets of the argument stand around the launch there, too?"""
        written = [p for p in self.syntax.around(self.launch.callee[0]) if p >= self.first]
        shown = [*expanded.around(seen.callee[0])][: len(written)]
        return len(shown) == len(written) and all(
            self.syntax.tokens[one].text == expanded.tokens[other].text
            and (one == self.first or _before(self.syntax, one) == _before(expanded, other))
            for one, other in zip(written, shown, strict=True)
        )

    def _is_shadowed(self, shown: Sequence[Token], copies: int, unit: Unit) -> bool:
        """May the macro give another meaning to a name that tells the launch's configuration?

        It may if it has the name in what it adds, other than as a type that it names there.
        """
        argument = self._compiled(unit, self.first, self.last)
        grid, block = self.launch.configuration[:2]
        configuration = self._compiled(unit, grid[0], block[1])
        names, written, seen = map(_names, (configuration, argument, shown))
        if any(written[name] > count for name, count in names.items()):
            names = written  # variables of the argument may tell it
        aliases = Counter(_aliases(shown))
        return any(
            seen[name] - aliases[name] * (name not in unit.typedefs) != copies * written[name]
            for name in names
        )


def _is_call(syntax: Syntax, opener: int) -> bool:
    is_named = opener > 0 and syntax.tokens[opener - 1].kind == "IDENTIFIER"
    return syntax.tokens[opener].text == "(" and is_named


def _line(syntax: Syntax, index: int) -> int:
    return syntax.source.location(syntax.tokens[index].start).line


def _tokens_on(syntax: Syntax, lines: range) -> Sequence[Token]:
    source, start = syntax.source, attrgetter("start")
    if lines.start > source.line_count:
        return ()
    begin = bisect_left(syntax.tokens, source.line_start(lines.start), key=start)
    if lines.stop > source.line_count:
        return syntax.tokens[begin:]
    return syntax.tokens[
        begin : bisect_left(syntax.tokens, source.line_start(lines.stop), key=start)
    ]


def _texts(syntax: Syntax, tokens: Range) -> list[str]:
    return _words(syntax.part(tokens))


def _words(tokens: Iterable[Token]) -> list[str]:
    return [token.text for token in tokens]


def _names(tokens: Iterable[Token]) -> Counter[str]:
    words = (token.text for token in tokens if token.kind == "IDENTIFIER")
    return Counter(word for word in words if word not in _KEYWORDS)


def _before(syntax: Syntax, index: int) -> str:
    return syntax.tokens[index - 1].text if index else ""


def _aliases(tokens: Sequence[Token]) -> Iterator[str]:
    """Names of types in `using NAME =`; attributes may follow the name."""
    for index, (token, following) in enumerate(pairwise(tokens)):
        if token.text == "using" and following.kind == "IDENTIFIER":
            rest = (t.text for t in tokens[index + 2 :])
            if next((text for text in rest if text not in _OF_ATTRIBUTES), "") == "=":
                yield following.text


def _calls_around(syntax: Syntax, launch: Launch) -> list[tuple[str, str]]:
    """The brackets around a launch up to the last `(`: braces further out may be of macros."""
    found = []
    for place in syntax.around(launch.callee[0]):
        text = syntax.tokens[place].text
        found.append((text, syntax.tokens[place - 1].text if text == "(" and place else ""))
    while found and found[-1][0] != "(":
        found.pop()
    return found


def _begins_alike(written: Shown, shown: Shown) -> bool:
    """Is a macro at its beginning a part of the callee? In `ELSE ::k<<<…>>>` it is none."""
    (before, first), (seen_before, seen) = _beginning(*written), _beginning(*shown)
    rest = first[1:]
    ends_alike = len(seen) > len(rest) and seen[len(seen) - len(rest) :] == rest
    return first == seen or (before == seen_before and ends_alike)


def _beginning(syntax: Syntax, launch: Launch) -> tuple[str, list[str]]:
    texts = _texts(syntax, launch.callee)
    first, end = launch.callee[0], texts.index("<") if "<" in texts else len(texts)
    return syntax.tokens[first - 1].text if first else "", texts[:end]


def _by_line(syntax: Syntax) -> dict[int, list[Launch]]:
    lines: defaultdict[int, list[Launch]] = defaultdict(list)
    for launch in syntax.launches:
        lines[_line(syntax, launch.callee[1])].append(launch)
    return lines
