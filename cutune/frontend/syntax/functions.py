"""SourceFunction definitions. Takes tokens with matched brackets, gives each function's parts.

A walk over declarations: file, namespace and class scope are entered, function bodies and
initialisers are skipped. Names and qualifiers are read from the head before the `{`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cutune.frontend.syntax.brackets import CLOSER, Brackets
from cutune.frontend.syntax.tokens import Token

_CLASSES = frozenset({"class", "struct", "union"})
_SCOPES = _CLASSES | {"namespace"}
#: A brace behind one of these opens no scope.
_NO_SCOPE = frozenset({"enum", "="})
_NOT_A_NAME = frozenset(
    [
        "__launch_bounds__",
        "__attribute__",
        "__align__",
        "__cluster_dims__",
        "__block_size__",
        "__maxnreg__",
        "__declspec",
        "alignas",
        "decltype",
        "noexcept",
        "throw",
        "requires",
        "explicit",
        "__annotate__",
        "__location__",
    ]
)
KERNEL_QUALIFIER = "__global__"


@dataclass(frozen=True)
class SourceFunction:
    """A function definition (or, without body, a declared kernel), as indices of tokens."""

    name: str
    #: The first token of the declaration, template head included.
    first: int
    parameters: tuple[int, int]
    body: tuple[int, int] | None
    #: Identifiers of the head before the name: qualifiers and return type.
    qualifiers: tuple[str, ...]
    is_kernel: bool

    @property
    def is_device_code(self) -> bool:
        """Does it run on the device (perhaps on the host, too)?"""
        return self.is_kernel or "__device__" in self.qualifiers


def find_functions(
    tokens: Sequence[Token], brackets: Brackets, kernel_qualifiers: frozenset[str]
) -> Iterator[SourceFunction]:
    """All function definitions in order, and kernels that only `__global__` shows."""
    scan = _Scan(tokens, brackets, kernel_qualifiers | {KERNEL_QUALIFIER})
    functions = list(scan.definitions())
    known = {f.parameters[0] for f in functions}
    functions += (f for f in scan.stray_kernels() if f.parameters[0] not in known)
    return iter(sorted(functions, key=lambda function: function.parameters[0]))


@dataclass
class _Head:
    """How far the tokens before a brace have been read; the next brace goes on from there."""

    start: int
    index: int
    #: The `(` that may open a parameter list.
    groups: list[int] = field(default_factory=list)
    #: Where the head proper ends, and whether it can be that of a function.
    end: int | None = None
    is_none: bool = False


@dataclass
class _Scan:
    tokens: Sequence[Token]
    brackets: Brackets
    kernel_qualifiers: frozenset[str]
    _head: _Head | None = None
    _template_ends: dict[int, int | None] = field(default_factory=dict)

    def definitions(self) -> Iterator[SourceFunction]:
        """declaration = head (";" | body | "{" declaration* "}")."""
        tokens, partner = self.tokens, self.brackets.partner
        index = first = 0
        while index < len(tokens):
            text = tokens[index].text
            if text in ("(", "["):
                index = max(index, partner[index]) + 1
                continue
            if text == "{":
                function = self._function(first, index)
                if function is not None and self._is_initialiser(index):
                    index = partner[index] + 1
                    continue
                if function is not None:
                    yield function
                    first = index = max(index, partner[index]) + 1
                    continue
                if self._is_scope(first, index):
                    first = index = index + 1
                    continue
                index = max(index, partner[index]) + 1
                continue
            is_access = text == ":" and tokens[index - 1].text in ("public", "private", "protected")
            if text in (";", "}") or is_access:
                first = index + 1
            index += 1

    def _is_initialiser(self, brace: int) -> bool:
        """constructor = … ":" (NAME ("(" … ")" | "{" … "}") "..."? ","?)* body."""
        head, partner = self._head, self.brackets.partner
        assert head is not None, "a function was found"
        is_member = head.end is not None and self.tokens[head.end].text == ":"
        is_named = self.tokens[brace - 1].kind == "IDENTIFIER" or self.tokens[brace - 1].text == ">"
        end = partner[brace] + 1  # 0 where nothing closes it
        following = self.tokens[end].text if 0 < end < len(self.tokens) else ""
        return is_member and is_named and following in (",", "{", "...")

    def stray_kernels(self) -> Iterator[SourceFunction]:
        """Kernels that the walk missed, because `#if` branches share a body."""
        for index, token in enumerate(self.tokens):
            if token.text in self.kernel_qualifiers and token.kind == "IDENTIFIER":
                yield from self._kernel_from(index)

    def _kernel_from(self, first: int) -> Iterator[SourceFunction]:
        tokens, partner = self.tokens, self.brackets.partner
        index = first + 1
        while index < min(len(tokens), first + 200):
            text = tokens[index].text
            if text in (";", "}", "="):
                return
            if text == "{":
                function = self._function(first, index)
                if function is not None:
                    yield function
                return
            index = (partner[index] if text in ("(", "[") and partner[index] > 0 else index) + 1

    def _function(self, first: int, brace: int) -> SourceFunction | None:
        """head = template? qualifier* NAME "(" … ")" trailer*; gives None for other braces."""
        head = self._head_before(self._after_template(first, brace), brace)
        if head.is_none or not head.groups:
            return None
        start, is_constructor = (
            head.start,
            head.end is not None and self.tokens[head.end].text == ":",
        )
        opener = head.groups[0 if is_constructor else -1]
        name_index, name = self._name(opener)
        qualifiers = tuple(t.text for t in self.tokens[start:name_index] if t.kind == "IDENTIFIER")
        return SourceFunction(
            name,
            first,
            (opener, self.brackets.partner[opener]),
            (brace, self.brackets.partner[brace]) if self.brackets.partner[brace] >= 0 else None,
            qualifiers,
            any(q in self.kernel_qualifiers for q in qualifiers),
        )

    def _head_before(self, start: int, brace: int) -> _Head:
        """What stands between the start of a declaration and one of its braces."""
        head = self._head
        if head is None or head.start != start or head.index > brace:
            head = self._head = _Head(start, start)
        tokens, partner = self.tokens, self.brackets.partner
        while head.index < brace and head.end is None and not head.is_none:
            text = tokens[head.index].text
            if text == "operator":
                head.index = self._operator_end(head.index, brace)
                if head.index >= brace:
                    return head
                head.groups.append(head.index)
            elif text == "=" or text in ("enum", "namespace"):
                head.is_none = True
            elif head.groups and text in ("->", ":"):
                head.end = head.index
            if tokens[head.index].text in CLOSER:
                if tokens[head.index].text == "(" and self._may_name(head.index - 1, start):
                    head.groups.append(head.index)
                if partner[head.index] < head.index:
                    head.is_none = True
                head.index = max(head.index, partner[head.index])
            head.index += 1
        return head

    def _before_attributes(self, index: int) -> int:
        """The last token that is not one of `[[…]]`."""
        opener = self.brackets.partner[index] if self.tokens[index].text == "]" else -1
        while 0 < opener < index and self.tokens[opener + 1].text == "[":
            index = opener - 1
            opener = self.brackets.partner[index] if self.tokens[index].text == "]" else -1
        return index

    def _may_name(self, index: int, start: int) -> bool:
        index = self._before_attributes(index)
        if index < start:
            return False
        token = self.tokens[index]
        return token.text == ">" or (token.kind == "IDENTIFIER" and token.text not in _NOT_A_NAME)

    def _operator_end(self, index: int, brace: int) -> int:
        """The `(` behind `operator()`, `operator+`, `operator float` …"""
        index += 1
        if self.tokens[index].text == "(" and self.brackets.partner[index] == index + 1:
            index += 2
        while index < brace and self.tokens[index].text != "(":
            index += 1
        return index

    def _name(self, opener: int) -> tuple[int, str]:
        index = self._before_attributes(opener - 1)
        while index > 0 and self.tokens[index].kind != "IDENTIFIER":
            if self.tokens[index].text == ">":
                depth = 0
                while index > 0:
                    depth += {">": 1, "<": -1}.get(self.tokens[index].text, 0)
                    if depth == 0:
                        break
                    index -= 1
            index -= 1
        for before in range(index, max(-1, index - 3), -1):
            if before >= 0 and self.tokens[before].text == "operator":
                return before, "operator"
        name = self.tokens[index].text
        is_destructor = index > 0 and self.tokens[index - 1].text == "~"
        return index, f"~{name}" if is_destructor else name

    def _after_template(self, first: int, brace: int) -> int:
        """template = ("template" "<" … ">")*."""
        tokens = self.tokens
        while (
            first + 1 < brace and tokens[first].text == "template" and tokens[first + 1].text == "<"
        ):
            closer = self._template_end(first + 1)
            if closer is None or closer >= brace:
                return first
            first = closer + 1
        return first

    def _template_end(self, opener: int) -> int | None:
        """The `>` that closes a template head."""
        if opener not in self._template_ends:
            self._template_ends[opener] = self._find_template_end(opener)
        return self._template_ends[opener]

    def _find_template_end(self, opener: int) -> int | None:
        depth, index = 0, opener
        while index < len(self.tokens):
            text = self.tokens[index].text
            if text in CLOSER:
                index = max(index, self.brackets.partner[index])
            elif text in (";", "}"):
                return None
            depth += {"<": 1, ">": -1}.get(text, 0)
            if depth == 0:
                return index
            index += 1
        return None

    def _is_scope(self, first: int, brace: int) -> bool:
        start = self._after_template(first, brace)
        if _has(self._no_scope_words, start, brace):
            return False
        is_linkage = self.tokens[brace - 1].kind == "STRING" and brace > 1
        return is_linkage or _has(self._scope_words, start, brace)

    @cached_property
    def _no_scope_words(self) -> list[int]:
        return self._places(_NO_SCOPE)

    @cached_property
    def _scope_words(self) -> list[int]:
        return self._places(_SCOPES)

    def _places(self, words: frozenset[str]) -> list[int]:
        return [index for index, token in enumerate(self.tokens) if token.text in words]


def _has(places: Sequence[int], first: int, end: int) -> bool:
    """Does one of the sorted places lie from `first` on and before `end`?"""
    number = bisect_left(places, first)
    return number < len(places) and places[number] < end
