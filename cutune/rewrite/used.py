"""Declarations that a file needs. Takes tokens of cutune's own C++, gives those that are used.

Only what has a name of cutune's may go: functions that are inline or static, structures, and
aliases. A function that takes a structure which nothing else needs is never called.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cutune.rewrite.packed import CppToken

_CUTUNE_NAME = re.compile(r"cutune_\w*", re.IGNORECASE)
_OPENING, _CLOSING = {"(", "[", "{"}, {")", "]", "}"}
_INLINE = {"inline", "static", "CUTUNE_OP"}


@dataclass(frozen=True)
class _Declaration:
    """Tokens in a row; those without a name always stay."""

    tokens: tuple[CppToken, ...]
    name: str | None = None
    #: Names in the parameters of a function.
    taken: frozenset[str] = frozenset()

    def names(self) -> set[str]:
        """The names of cutune's in it, its own too."""
        return {name for token in self.tokens for name in _CUTUNE_NAME.findall(token.text)}


def without_unused(tokens: Sequence[CppToken], wanted: Iterable[str]) -> list[CppToken]:
    """Leave out declarations that neither `wanted` nor another one that stays needs.

    A function that takes a structure which nothing else needs is never called.
    """
    declarations = list(_declarations(tokens))
    optional = {one.name for one in declarations if one.name is not None}
    reached, waiting = set(wanted), declarations
    stay: set[int] = set()
    while True:
        needed = [
            one
            for one in waiting
            if one.name is None or (one.name in reached and one.taken & optional <= reached)
        ]
        if not needed:
            return [token for one in declarations if id(one) in stay for token in one.tokens]
        stay |= {id(one) for one in needed}
        waiting = [one for one in waiting if id(one) not in stay]
        reached = reached.union(*(one.names() for one in needed))


def _declarations(tokens: Sequence[CppToken]) -> Iterator[_Declaration]:
    start, depth = 0, 0
    for place, token in enumerate(tokens, 1):
        if token.is_directive:
            ends = start == place - 1
        elif token.text in _OPENING:
            depth += 1
            # What stands in a namespace stands alone.
            ends = depth == 1 and tokens[start].text in ("namespace", "extern")
            depth -= ends
        elif token.text in _CLOSING:
            # The brace of a namespace closes nothing that was counted.
            is_last = depth == 0
            depth -= not is_last
            followed = place < len(tokens) and tokens[place].text in (";", ",")
            ends = is_last or (token.text == "}" and depth == 0 and not followed)
        else:
            ends = token.text == ";" and depth == 0
        if ends:
            yield _named(tuple(tokens[start:place]))
            start = place
    if start < len(tokens):
        yield _Declaration(tuple(tokens[start:]))


def _named(tokens: tuple[CppToken, ...]) -> _Declaration:
    """A declaration with its name, if it may go."""
    every = [token.text for token in tokens]
    words = every[_behind_template(every) :]
    taken: list[str] = []
    name = ""
    if words and words[0] in ("struct", "class", "using") and words[-1] == ";":
        name = words[1]
    elif "(" in words and words[-1] == "}":
        head = words[: words.index("(")]
        if not _INLINE.isdisjoint(head) and "=" not in head:
            name, taken = head[-1], words[len(head) : words.index("{")]
    if not _CUTUNE_NAME.fullmatch(name) or tokens[0].is_directive:
        return _Declaration(tokens)
    return _Declaration(tokens, name, frozenset(taken))


def _behind_template(words: Sequence[str]) -> int:
    if not words or words[0] != "template":
        return 0
    depth = 0
    for place, word in enumerate(words[1:], 1):
        depth += {"<": 1, ">": -1, ">>": -2}.get(word, 0)
        if depth == 0:
            return place + 1
    return 0
