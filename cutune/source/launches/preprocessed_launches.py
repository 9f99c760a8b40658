"""Launches as the compiler sees them. Takes a syntax and its unit, finds each launch again.

Launches are matched by line. A launch in an argument of a macro is not touched: its text may be
used twice, printed, or split at its commas.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from cutune.source.syntax.parse import Launch, Syntax
from cutune.source.unit.unit import Unit

Shown = tuple[Syntax, Launch]
"""A launch in the text that is compiled, and that text."""


@dataclass(frozen=True)
class ShownLaunches:
    """Answers for the launches of one file."""

    syntax: Syntax
    unit: Unit

    def of(self, launch: Launch) -> list[Shown]:
        """A launch in the preprocessed text; one per time that its header is included."""
        return self._matched[0].get(launch.callee[0], [])

    def is_hidden(self, launch: Launch) -> bool:
        """Is it uncertain that it is compiled exactly once, at its place and as written?"""
        openers = self._openers(self.syntax, launch)
        heads = [head for bracket, head in openers if bracket == "("]
        if not self.unit.is_expanded:
            return any(head in self.unit.macros.definitions for head in heads)
        shown = self.of(launch)
        if not shown:
            # Under an #if it may not be compiled at all.
            is_uneven = launch.callee[0] in self._matched[1]
            return bool(heads) or is_uneven or not self._is_optional(launch)
        return any(
            not seen.is_statement
            or not _agrees(openers, self._openers(syntax, seen))
            or not _begins_alike((self.syntax, launch), (syntax, seen))
            for syntax, seen in shown
        )

    def _is_optional(self, launch: Launch) -> bool:
        index = launch.callee[0]
        depth = 0
        for directive in self.syntax.directives:
            if directive.index > index:
                break
            depth += directive.name in ("if", "ifdef", "ifndef")
            depth -= directive.name == "endif"
        return depth > 0

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

    def _openers(self, syntax: Syntax, launch: Launch) -> list[tuple[str, str]]:
        """The brackets around a launch, from the innermost, each with the word before it."""
        found = []
        place = syntax.innermost(launch.callee[0])
        while place >= 0:
            before = syntax.tokens[place - 1].text if place else ""
            found.append((syntax.tokens[place].text, before))
            place = syntax.innermost(place)
        return found


def _agrees(written: list[tuple[str, str]], shown: list[tuple[str, str]]) -> bool:
    last = max((i for i, (bracket, _) in enumerate(written) if bracket == "("), default=-1)
    brackets = [bracket for bracket, _ in written[: last + 1]]
    heads = [head for bracket, head in written if bracket == "("]
    return (
        brackets == [bracket for bracket, _ in shown[: last + 1]]
        and heads == [head for bracket, head in shown[: last + 1] if bracket == "("]
        and not any(bracket == "(" for bracket, _ in shown[last + 1 :])
    )


def _begins_alike(written: Shown, shown: Shown) -> bool:
    """Is what a macro at the beginning of the callee stands for a part of the callee alone?

    In `ELSE ::k<<<…>>>` it is the end of what stands before.
    """
    (before, first), (seen_before, seen) = _beginning(*written), _beginning(*shown)
    if first == seen:
        return True
    rest = first[1:]
    return before == seen_before and len(seen) > len(rest) and seen[len(seen) - len(rest) :] == rest


def _beginning(syntax: Syntax, launch: Launch) -> tuple[str, list[str]]:
    first, last = launch.callee
    texts = [token.text for token in syntax.tokens[first : last + 1]]
    end = texts.index("<") if "<" in texts else len(texts)
    return syntax.tokens[first - 1].text if first else "", texts[:end]


def _by_line(syntax: Syntax) -> dict[int, list[Launch]]:
    lines: defaultdict[int, list[Launch]] = defaultdict(list)
    for launch in syntax.launches:
        lines[syntax.source.location(syntax.tokens[launch.callee[1]].start).line].append(launch)
    return lines
