"""Deduced template arguments. Takes a kernel template and a launch, says where each comes from.

Where a parameter is of type `T`, `T *` or `const T *`, the type of its argument gives T. It may be
written out, because it does not depend on values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from cutune.frontend.deduced import Deduced, DeducedFrom
from cutune.frontend.syntax.parse import Launch, Syntax
from cutune.frontend.syntax.tokens import Token
from cutune.frontend.unit.unit import FunctionText
from cutune.frontend.unit.unsteady import Unsteady

_WORDS = frozenset({"const", "__restrict__", "__restrict", "restrict"})


@dataclass(frozen=True)
class Deduction:
    """Answers about one kernel template."""

    text: FunctionText
    unsteady: Unsteady

    def of(self, syntax: Syntax, launch: Launch, written: int) -> tuple[Deduced, ...] | None:
        """The template arguments behind the first few, which are written; None: not known."""
        found: list[Deduced] = []
        left_out = False
        for name in self.text.template_parameters[written:]:
            deduced = self._argument(name, syntax, launch)
            if deduced is None and self._has_default(name) and not self._is_named(name):
                left_out = True
                continue
            if deduced is None or left_out:
                return None
            found.append(deduced)
        return tuple(found)

    def _argument(self, name: str, syntax: Syntax, launch: Launch) -> Deduced | None:
        if name not in self.text.type_parameters:
            return None
        for position, parameter in enumerate(self.text.parameters):
            kind = _kind([token.text for token in parameter], name)
            if kind is None or position >= len(launch.arguments):
                continue
            first, last = launch.arguments[position]
            is_steady = self.unsteady.counted(syntax, (first, last)) is None
            if _is_plain(syntax.tokens[first : last + 1]) and is_steady:
                return Deduced(kind, position)
        return None

    def _has_default(self, name: str) -> bool:
        texts = [token.text for token in self.text.head]
        return any(pair == (name, "=") for pair in pairwise(texts))

    def _is_named(self, name: str) -> bool:
        """May it be deduced in an unknown way?"""
        return any(token.text == name for parameter in self.text.parameters for token in parameter)


def _is_plain(tokens: Sequence[Token]) -> bool:
    """May the argument stand where it is not evaluated? No list has a type, no lambda may."""
    texts = [token.text for token in tokens]
    is_lambda = any(
        text == "[" and (index == 0 or not _ends_operand(tokens[index - 1]))
        for index, text in enumerate(texts)
    )
    return not is_lambda and "{" not in texts


def _ends_operand(token: Token) -> bool:
    return token.kind == "IDENTIFIER" or token.text in ("]", ")")


def _kind(texts: Sequence[str], name: str) -> DeducedFrom | None:
    """What a parameter says of T: ("const"? T | T "const") "*"? NAME?."""
    if name not in texts or "=" in texts:
        return None
    rest = [text for text in texts if text not in _WORDS]
    star = texts.index("*") if "*" in texts else len(texts)
    own = rest.index(name)
    is_pattern = own == 0 and (
        rest[1:2] == ["*"] and len(rest) <= 3 if "*" in rest else len(rest) <= 2
    )
    if not is_pattern or any(not text.isidentifier() for text in rest if text != "*"):
        return None
    if "*" not in rest:
        return DeducedFrom.VALUE
    return DeducedFrom.CONSTANT if "const" in texts[:star] else DeducedFrom.POINTEE
