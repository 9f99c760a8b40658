"""Searches all that help knows: verbs, options, pages, codes. Takes words, gives lines.

A word stands for those that begin with it. Everything that is found is given with the words that
show it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from textwrap import shorten

from cutune.cli.usage.parser import (
    PAGES,
    QUICK_START,
    WIDTH,
    Parser,
    help_of,
    name_of,
    title_of,
    topics,
)
from cutune.core.codes import Code

#: Lines of each kind that are shown.
MOST_SHOWN = 8
_Found = Iterator[tuple[str, str]]
_Count = Callable[[str], int]
#: The page of what is found as messages.
_OF_MESSAGES = "diagnostics"


def found_for(words: Sequence[str], whole: Parser) -> list[str]:
    """Lines for whatever holds all words; none where nothing does."""
    patterns = [re.compile(rf"(?<![a-z]){re.escape(word.lower())}") for word in words]

    def count(text: str) -> int:
        return min(len(pattern.findall(text.lower())) for pattern in patterns)

    kinds = {
        "verbs, and their options": [*_options(count, whole)],
        "pages": _pages(count),
        "messages": [*_codes(count)],
    }
    return [line for kind, rows in kinds.items() if rows for line in _lines(kind, rows)]


def _lines(kind: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    more = len(rows) - MOST_SHOWN
    yield f"{kind}, {MOST_SHOWN} of {len(rows)}:" if more > 0 else f"{kind}:"
    shown = rows[:MOST_SHOWN]
    width = max(len(name) for name, _ in shown)
    for name, text in shown:
        room = WIDTH - width - 4
        yield f"  {name:{width}}  {shorten(text, room, placeholder=' …')}"


def _options(count: _Count, whole: Parser) -> _Found:
    for verb, parser in whole.verbs().items():
        if count(f"{verb} {parser.description}"):
            yield f"cutune {verb}", str(parser.description).partition("\n\n")[2]
    # Verbs share most of their options: each is named once.
    named: dict[tuple[str, str], str] = {}
    for verb, parser in whole.verbs().items():
        for action in parser.actions:
            if count(f"{name_of(action)} {help_of(action)}"):
                named.setdefault((name_of(action), help_of(action)), verb)
    yield from ((f"cutune {verb} {name}", text) for (name, text), verb in named.items())


def _pages(count: _Count) -> list[tuple[str, str]]:
    """Pages whose titles hold the words first, then those for users; by how often they do."""
    found = []
    for topic, page in topics().items():
        title = title_of(page)
        often = count(page.read_text(encoding="utf-8"))
        if often and topic != _OF_MESSAGES:
            is_behind = page.parent == PAGES and topic != QUICK_START
            rank = -count(f"{topic} {title}"), is_behind, -often
            found.append((rank, f"cutune help {topic}", title))
    return [(line, title) for _, line, title in sorted(found)]


def _codes(count: _Count) -> _Found:
    said = [code for code in Code if count(code.template)]
    meant = [code for code in Code if code not in said and count(code.meaning)]
    return ((code.number, code.template) for code in [*said, *meant])
