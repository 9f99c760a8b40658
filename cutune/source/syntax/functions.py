"""Function definitions. Takes tokens with matched brackets, gives each function's parts.

A walk over declarations: file, namespace and class scope are entered, function bodies and
initialisers are skipped. Names and qualifiers are read from the head before the `{`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cutune.source.syntax.directives import CLOSER, Brackets
from cutune.source.syntax.tokens import Token, word_set

_CLASSES = frozenset({"class", "struct", "union"})
_SCOPES = _CLASSES | {"namespace"}
#: A brace behind one of these opens no scope.
_NO_SCOPE = frozenset({"enum", "="})
_NOT_A_NAME = word_set(
    """
    __launch_bounds__ __attribute__ __align__ __cluster_dims__ __block_size__ __maxnreg__ __declspec
    alignas decltype noexcept throw requires explicit __annotate__ __location__
    """
)
_HEAD_ENDS = frozenset({";", "{", "}", "="})
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
            behind = max(index, partner[index]) + 1 if text in ("(", "[", "{") else index + 1
            is_access = text == ":" and tokens[index - 1].text in ("public", "private", "protected")
            if text == "{":
                function = self._function(first, index)
                if function is not None and not self._is_initialiser(index):
                    yield function
                    first = behind
                elif function is None and self._is_scope(first, index):
                    first = behind = index + 1
            elif text in (";", "}") or is_access:
                first = behind
            index = behind

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
        tokens, partner = self.tokens, self.brackets.partner
        for first, token in enumerate(tokens):
            if token.text not in self.kernel_qualifiers or token.kind != "IDENTIFIER":
                continue
            index, end = first + 1, min(len(tokens), first + 200)
            while index < end and tokens[index].text not in _HEAD_ENDS:
                is_group = tokens[index].text in ("(", "[") and partner[index] > 0
                index = (partner[index] if is_group else index) + 1
            is_defined = index < end and tokens[index].text == "{"
            if is_defined and (function := self._function(first, index)) is not None:
                yield function

    def _function(self, first: int, brace: int) -> SourceFunction | None:
        """head = template? qualifier* NAME "(" … ")" trailer*; gives None for other braces."""
        head = self._head_before(self._after_template(first, brace), brace)
        if head.is_none or not head.groups:
            return None
        is_constructor = head.end is not None and self.tokens[head.end].text == ":"
        opener = head.groups[0 if is_constructor else -1]
        name_index, name = self._name(opener)
        before = self.tokens[head.start : name_index]
        qualifiers = tuple(token.text for token in before if token.kind == "IDENTIFIER")
        is_kernel = not self.kernel_qualifiers.isdisjoint(qualifiers)
        closer, last = self.brackets.partner[opener], self.brackets.partner[brace]
        body = (brace, last) if last >= 0 else None
        return SourceFunction(name, first, (opener, closer), body, qualifiers, is_kernel)

    def _head_before(self, start: int, brace: int) -> _Head:
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
        while (opener := attribute_opener(self.tokens, self.brackets, index)) > 0:
            index = opener - 1
        return index

    def _may_name(self, index: int, start: int) -> bool:
        index = self._before_attributes(index)
        if index < start:
            return False
        token = self.tokens[index]
        return token.text == ">" or (token.kind == "IDENTIFIER" and token.text not in _NOT_A_NAME)

    def _operator_end(self, index: int, brace: int) -> int:
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
        while first + 1 < brace and [t.text for t in tokens[first : first + 2]] == [
            "template",
            "<",
        ]:
            closer = self._template_end(first + 1)
            if closer is None or closer >= brace:
                return first
            first = closer + 1
        return first

    def _template_end(self, opener: int) -> int | None:
        """The `>` that closes a template head; each is looked for once."""
        if opener in self._template_ends:
            return self._template_ends[opener]
        depth, index, end = 0, opener, None
        while end is None and index < len(self.tokens):
            text = self.tokens[index].text
            if text in (";", "}"):
                break
            if text in CLOSER:
                index = max(index, self.brackets.partner[index])
            depth += {"<": 1, ">": -1}.get(text, 0)
            end = index if depth == 0 else None
            index += 1
        self._template_ends[opener] = end
        return end

    def _is_scope(self, first: int, brace: int) -> bool:
        start = self._after_template(first, brace)
        is_linkage = self.tokens[brace - 1].kind == "STRING" and brace > 1
        # How many words before the brace open no scope, and how many open one.
        no_scope, scope = (bisect_left(w, brace) - bisect_left(w, start) for w in self._places)
        return no_scope <= 0 and (is_linkage or scope > 0)

    @cached_property
    def _places(self) -> list[list[int]]:
        return [
            [index for index, token in enumerate(self.tokens) if token.text in words]
            for words in (_NO_SCOPE, _SCOPES)
        ]


def attribute_opener(tokens: Sequence[Token], brackets: Brackets, index: int) -> int:
    """The `[` of the attribute `[[…]]` that ends with a token, or -1."""
    opener = brackets.partner[index] if tokens[index].text == "]" else -1
    return opener if 0 < opener < index and tokens[opener + 1].text == "[" else -1
