"""Function definitions. Takes tokens with matched brackets, gives each function's parts.

A walk over declarations: file, namespace and class scope are entered, function bodies and
initialisers are skipped. Names and qualifiers are read from the head before the `{`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cutune.brackets import CLOSER, Brackets
from cutune.tokens import Token

_SCOPES = frozenset({"namespace", "class", "struct", "union"})
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
class Function:
    """A function definition (or, without body, a declared kernel), as indices of tokens."""

    name: str
    #: The first token of the declaration, template head included.
    first: int
    parameters: tuple[int, int]
    body: tuple[int, int] | None
    #: Identifiers of the head before the name: qualifiers and return type.
    qualifiers: tuple[str, ...]
    is_kernel: bool
    in_class: bool

    @property
    def is_device_code(self) -> bool:
        """Does it run on the device (perhaps on the host, too)?"""
        return self.is_kernel or "__device__" in self.qualifiers


def find_functions(
    tokens: Sequence[Token], brackets: Brackets, kernel_qualifiers: frozenset[str]
) -> Iterator[Function]:
    """All function definitions in order, kernels that only `__global__` betrays among them."""
    scan = _Scan(tokens, brackets, kernel_qualifiers | {KERNEL_QUALIFIER})
    functions = list(scan.definitions())
    known = {f.parameters[0] for f in functions}
    functions += (f for f in scan.stray_kernels() if f.parameters[0] not in known)
    return iter(sorted(functions, key=lambda function: function.parameters[0]))


@dataclass
class _Scan:
    tokens: Sequence[Token]
    brackets: Brackets
    kernel_qualifiers: frozenset[str]

    def definitions(self) -> Iterator[Function]:
        """declaration = head (";" | body | "{" declaration* "}")."""
        tokens, partner = self.tokens, self.brackets.partner
        index = first = 0
        classes: list[int] = []
        while index < len(tokens):
            text = tokens[index].text
            if text in ("(", "["):
                index = max(index, partner[index]) + 1
                continue
            if text == "{":
                function = self._function(first, index, bool(classes))
                if function is not None:
                    yield function
                    first = index = max(index, partner[index]) + 1
                    continue
                if self._is_scope(first, index):
                    if self._is_class(first, index):
                        classes.append(partner[index])
                    first = index = index + 1
                    continue
                index = max(index, partner[index]) + 1
                continue
            if classes and index == classes[-1]:
                classes.pop()
            is_access = text == ":" and tokens[index - 1].text in ("public", "private", "protected")
            if text in (";", "}") or is_access:
                first = index + 1
            index += 1

    def stray_kernels(self) -> Iterator[Function]:
        """Kernels that the walk passed by, because `#if` branches share a body."""
        for index, token in enumerate(self.tokens):
            if token.text in self.kernel_qualifiers and token.kind == "IDENTIFIER":
                yield from self._kernel_from(index)

    def _kernel_from(self, first: int) -> Iterator[Function]:
        tokens, partner = self.tokens, self.brackets.partner
        index = first + 1
        while index < min(len(tokens), first + 200):
            text = tokens[index].text
            if text in (";", "}", "="):
                return
            if text == "{":
                function = self._function(first, index, False)
                if function is not None:
                    yield function
                return
            index = (partner[index] if text in ("(", "[") and partner[index] > 0 else index) + 1

    def _function(self, first: int, brace: int, in_class: bool) -> Function | None:
        """head = template? qualifier* NAME "(" … ")" trailer*; gives None for other braces."""
        start = self._after_template(first, brace)
        groups, stop = self._groups(start, brace)
        if groups is None or not groups:
            return None
        opener = groups[0] if self.tokens[stop].text == ":" else groups[-1]
        name_index, name = self._name(opener)
        qualifiers = tuple(t.text for t in self.tokens[start:name_index] if t.kind == "IDENTIFIER")
        return Function(
            name,
            first,
            (opener, self.brackets.partner[opener]),
            (brace, self.brackets.partner[brace]) if self.brackets.partner[brace] >= 0 else None,
            qualifiers,
            any(q in self.kernel_qualifiers for q in qualifiers),
            in_class,
        )

    def _groups(self, start: int, brace: int) -> tuple[list[int] | None, int]:
        """The `(` that may open a parameter list, and where the head proper ends."""
        tokens, partner = self.tokens, self.brackets.partner
        groups: list[int] = []
        index = start
        while index < brace:
            text = tokens[index].text
            if text == "operator":
                index = self._operator_end(index, brace)
                if index < brace:
                    groups.append(index)
            elif text == "=" or text in ("enum", "namespace"):
                return None, index
            elif groups and text in ("->", ":"):
                return groups, index
            if index < brace and tokens[index].text in CLOSER:
                if tokens[index].text == "(" and self._may_name(index - 1, start):
                    groups.append(index)
                if partner[index] < index:
                    return None, index
                index = partner[index]
            index += 1
        return groups, brace

    def _may_name(self, index: int, start: int) -> bool:
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
        index = opener - 1
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
            closer = self.template_end(first + 1)
            if closer is None or closer >= brace:
                return first
            first = closer + 1
        return first

    def template_end(self, opener: int) -> int | None:
        """The `>` that closes a template head."""
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
        texts = {token.text for token in self.tokens[max(first, brace - 200) : brace]}
        if "enum" in texts or "=" in texts:
            return False
        is_linkage = self.tokens[brace - 1].kind == "STRING" and brace > 1
        return bool(texts & _SCOPES) or is_linkage

    def _is_class(self, first: int, brace: int) -> bool:
        texts = {token.text for token in self.tokens[max(first, brace - 200) : brace]}
        return bool(texts & {"class", "struct", "union"})
