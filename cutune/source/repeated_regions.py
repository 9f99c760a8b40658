"""Regions that may run again. Takes a region, gives the host integers that get their next values.

`#pragma cutune region begin repeat` asserts that the region may run again with other values. A host
integer that is declared before the region gets its next value where the region ends. A variable
that was computed from it before the region would keep its first value, so the region does not
repeat where the text has one. Calls before the region may take the integer: the pragma asserts that
they are harmless.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.source.syntax.brackets import CLOSER
from cutune.source.syntax.directives import Pragma
from cutune.source.syntax.functions import SourceFunction
from cutune.source.syntax.parse import Syntax
from cutune.source.syntax.tokens import word_set
from cutune.source.tunable import HostTunable

STATEMENT_ENDS = frozenset({";", "{", "}"})
_LOOPS = frozenset({"for", "while", "switch"})
_CONTROL = _LOOPS | {"if", "constexpr", "catch"}
_BEFORE_STATEMENTS = STATEMENT_ENDS | {"else", "do", "try"}
_BEFORE_BLOCKS = _BEFORE_STATEMENTS | {":"}
#: What stands before a name in no declaration, and before a parenthesis in no call.
_NO_TYPE = word_set("return else throw delete goto case new do co_return co_await co_yield sizeof")
#: The end of a type, beside a name.
_TYPE_ENDS = frozenset({">", "*", "&"})
CHANGES = word_set("++ -- = += -= *= /= %= &= |= ^= <<= >>=")


def assigned_names(
    syntax: Syntax,
    function: SourceFunction,
    begin: Pragma,
    end: Pragma,
    tunables: Iterable[HostTunable],
) -> tuple[str, ...]:
    """The host integers of the function that are given values before the region runs again.

    Raises:
        CutuneError: CT266 where one of them cannot be.
    """
    region = _RepeatedRegion(syntax, function, begin, end)
    before = [tunable for tunable in tunables if region.is_before(tunable)]
    for reason in filter(None, map(region.reason_against, before)):
        span = begin.token.span
        raise CutuneError(Diagnostic.at(Code.NOT_REPEATED, syntax.source, span, reason=reason))
    return tuple(tunable.name for tunable in before)


@dataclass(frozen=True)
class _RepeatedRegion:
    syntax: Syntax
    function: SourceFunction
    begin: Pragma
    end: Pragma

    def is_before(self, tunable: HostTunable) -> bool:
        if tunable.source is not self.syntax.source or self.function.body is None:
            return False
        first, last = self.function.body
        return first < self._index(tunable.value.start) <= min(last, self.begin.index)

    def reason_against(self, tunable: HostTunable) -> str:
        """Why it cannot be given another value; empty if it can."""
        name, value = tunable.name, self._index(tunable.value.start)
        first, _ = self._statement(value - 2)
        head = [token.text for token in self.syntax.tokens[first : value - 2]]
        around = self.syntax.innermost(value)
        inner = self._blocks_between(around)
        is_declared = bool(head) and self._text(value - 2) == name
        if not is_declared or inner is None or not all(map(self._is_plain, inner)):
            return (
                f"'{name}' is not declared in a block around it; write int {name} = VALUE; there, "
                "before the region"
            )
        if "const" in head:
            return f"'{name}' is const; drop const"
        behind = self._index(tunable.value.end)
        for use in self._uses(name, behind, inner):
            if not self._is_harmless(use):
                line = self.syntax.source.location(self.syntax.tokens[use].start).line
                return (
                    f"line {line} computes with '{name}' outside of it; move that statement into "
                    "the region"
                )
        return ""

    # ---- blocks

    def _blocks_between(self, outer: int) -> list[int] | None:
        """The brackets that are open at the region, within another; None if that is closed."""
        found, index = [], self.begin.index
        while (index := self.syntax.innermost(index)) > outer:
            found.append(index)
        return found if index == outer else None

    def _is_plain(self, opener: int) -> bool:
        before = self._text(opener - 1)
        if before == ")":
            return self._text(self._partner(opener - 1) - 1) in _CONTROL
        return self._text(opener) == "{" and before in _BEFORE_BLOCKS

    def _loop_end(self, opener: int) -> int:
        """The last token of the loop whose block this is; -1 for another block."""
        index, closer = opener, self._partner(opener)
        while self._text(index - 1) == ")":
            index = self._partner(index - 1) - 1
            if self._text(index) in _LOOPS:
                return closer
        # do { … } while (…)
        return self._partner(closer + 2) if self._text(index - 1) == "do" else -1

    # ---- uses

    def _uses(self, name: str, first: int, inner: Sequence[int]) -> Iterator[int]:
        # In a loop, what stands behind the region comes before it, too.
        last = max([self.begin.index, *map(self._loop_end, inner)])
        names = self._with_macros(name)
        for index in range(first, last):
            is_within = self.begin.index <= index < self.end.index
            is_member = self._text(index - 1) in (".", "->", "::")
            if self._text(index) in names and not is_within and not is_member:
                yield index

    def _with_macros(self, name: str) -> frozenset[str]:
        names, before = frozenset({name}), 0
        while len(names) > before:
            before = len(names)
            for macro in self.syntax.macros:
                if any(token.text in names for token in macro.body):
                    names |= {macro.name}
        return names

    def _is_harmless(self, use: int) -> bool:
        """Is it only an argument of a call that is a statement, or a condition that is over?"""
        if self._text(use - 1) == "&":  # by its address it may be changed
            return False
        place, is_argument = use, False
        while self._is_nested(opener := self.syntax.innermost(place)):
            before = self._text(opener - 1)
            if self._text(opener) == "(" and before in _CONTROL:
                return is_argument and before == "if" and self._is_over(self._partner(opener))
            is_argument = is_argument or self._is_call(opener)
            place = opener
        first, last = self._statement(place)
        words = {token.text for token in self.syntax.tokens[first:last]}
        is_argument = is_argument or not words.isdisjoint(("<<<", "<< <"))
        if not is_argument or self._text(last) != ";" or words & CHANGES:
            return False
        return not self._is_declaration(first, last)

    def _is_nested(self, opener: int) -> bool:
        if opener < 0:
            return False
        if self._text(opener) != "{":
            return True
        before = self._text(opener - 1)
        return before not in _BEFORE_BLOCKS and before != ")"

    def _is_call(self, opener: int) -> bool:
        before = self.syntax.tokens[opener - 1]
        is_named = before.kind == "IDENTIFIER" and before.text not in _NO_TYPE
        return self._text(opener) == "(" and (is_named or before.text in (">", ")", "]"))

    def _is_over(self, closer: int) -> bool:
        index = closer + 1
        if self._text(index) in _CONTROL | {"do", "try"}:
            return False
        is_block = self._text(index) == "{"
        last = self._partner(index) if is_block else self._statement(index)[1]
        is_around = index <= self.begin.index <= last
        return not is_around and self._text(last + 1) != "else"

    def _is_declaration(self, first: int, last: int) -> bool:
        """Does a type stand beside a name? `dim3 block(m)` is no call."""
        index = first
        while index < last - 1:
            if self._text(index) in CLOSER:
                index = max(index, self._partner(index)) + 1
                continue
            one, other = self.syntax.tokens[index : index + 2]
            is_type = one.kind == "IDENTIFIER" and one.text not in _NO_TYPE
            if (is_type or one.text in _TYPE_ENDS) and other.kind == "IDENTIFIER":
                return True
            index += 1
        return False

    # ---- tokens

    def _statement(self, place: int) -> tuple[int, int]:
        """First and last token of the statement around a place outside of its brackets."""
        first = place
        while self._text(first - 1) not in _BEFORE_STATEMENTS:
            before = first - 1
            if self._text(before) in (")", "]"):
                before = self._partner(before)
                if self._text(before - 1) in _CONTROL:
                    break
            first = before
        last = place
        while self._text(last) not in STATEMENT_ENDS:
            is_open = self._text(last) in CLOSER and self._partner(last) >= 0
            last = (self._partner(last) if is_open else last) + 1
        return first, last

    def _partner(self, index: int) -> int:
        return self.syntax.brackets.partner[index]

    def _text(self, index: int) -> str:
        """The text of a token; `;` behind the end of the file, since that ends what is open."""
        tokens = self.syntax.tokens
        return tokens[index].text if 0 <= index < len(tokens) else ";"

    def _index(self, offset: int) -> int:
        return bisect_left(self._starts, offset)

    @cached_property
    def _starts(self) -> list[int]:
        return [token.start for token in self.syntax.tokens]
