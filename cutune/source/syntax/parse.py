"""The shape of a CUDA source. Takes a `Source`, gives a `Syntax`.

Islands only: function definitions, launches, macros and pragmas over matched brackets. The text
between them is never parsed, so no construct of C++ can spoil a whole file.

Functions are found by a walk over declarations: file, namespace and class scope are entered, bodies
and initialisers are skipped. Names and qualifiers are read from the head before the `{`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.source import Source, Span
from cutune.source.syntax.directives import (
    CLOSERS,
    OPENERS,
    Brackets,
    Directive,
    Macro,
    OpenBrackets,
    Pragma,
    macros,
    matched,
    pragmas,
    without_dead,
)
from cutune.source.syntax.tokens import TRIVIA, Token, lex, word_set

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
_TEMPLATE = ("template", "<")
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
    def braces(self) -> tuple[int, int]:
        """The braces around its body, which it has."""
        assert self.body is not None, "it is only declared"
        return self.body

    @property
    def is_device_code(self) -> bool:
        """Does it run on the device (perhaps on the host, too)?"""
        return self.is_kernel or "__device__" in self.qualifiers


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
    kernel_qualifiers: set[str]
    _head: _Head | None = None
    _template_ends: dict[int, int | None] = field(default_factory=dict)

    def functions(self) -> tuple[SourceFunction, ...]:
        """All function definitions in order, and kernels that only `__global__` shows."""
        found = {one.parameters[0]: one for one in self.stray_kernels()}
        found |= {one.parameters[0]: one for one in self.definitions()}
        return tuple(found[opener] for opener in sorted(found))

    def definitions(self) -> Iterator[SourceFunction]:
        """declaration = head (";" | body | "{" declaration* "}")."""
        tokens, partner = self.tokens, self.brackets.partner
        index = first = 0
        while index < len(tokens):
            text = tokens[index].text
            behind = max(index, partner[index]) + 1 if text in OPENERS else index + 1
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
                    break
                head.groups.append(head.index)
            elif text == "=" or text in ("enum", "namespace"):
                head.is_none = True
            elif head.groups and text in ("->", ":"):
                head.end = head.index
            if tokens[head.index].text in OPENERS:
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
        kind, text, _ = self.tokens[index]
        is_name = text == ">" or (kind == "IDENTIFIER" and text not in _NOT_A_NAME)
        return index >= start and is_name

    def _operator_end(self, index: int, brace: int) -> int:
        index += 1
        if self.tokens[index].text == "(" and self.brackets.partner[index] == index + 1:
            index += 2
        while index < brace and self.tokens[index].text != "(":
            index += 1
        return index

    def _name(self, opener: int) -> tuple[int, str]:
        index = self._before_attributes(opener - 1)
        depth = 0
        while index > 0 and (depth > 0 or self.tokens[index].kind != "IDENTIFIER"):
            # A `<` before any `>` opens nothing.
            depth = max(0, depth + {">": 1, "<": -1}.get(self.tokens[index].text, 0))
            index -= 1
        for before in range(index, max(-1, index - 3), -1):
            if self.tokens[before].text == "operator":
                return before, "operator"
        name = self.tokens[index].text
        is_destructor = index > 0 and self.tokens[index - 1].text == "~"
        return index, f"~{name}" if is_destructor else name

    def _after_template(self, first: int, brace: int) -> int:
        """template = ("template" "<" … ">")*."""
        tokens = self.tokens
        while first + 1 < brace and (tokens[first].text, tokens[first + 1].text) == _TEMPLATE:
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
            if text in OPENERS:
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


Range = tuple[int, int]
"""Indices of the first and the last token of something; empty when the last is before the first."""

_CONTROL = frozenset({"if", "for", "while", "switch", "constexpr"})


@dataclass(frozen=True)
class Launch:
    """`callee<<<configuration>>>(arguments)`, as ranges of significant tokens."""

    callee: Range
    configuration: tuple[Range, ...]
    arguments: tuple[Range, ...]
    #: Index of the `)` that closes the arguments.
    end: int
    function: SourceFunction | None
    directive_inside: bool
    is_statement: bool
    #: Is it a statement in parentheses? Only an expression can take its place then.
    in_parentheses: bool = False


@dataclass(frozen=True)
class Syntax:
    """The islands recognised in one source. `tokens` are the significant ones."""

    source: Source
    tokens: Sequence[Token]
    directives: tuple[Directive, ...]
    brackets: Brackets
    macros: tuple[Macro, ...]
    functions: tuple[SourceFunction, ...]
    launches: tuple[Launch, ...]
    launch_macros: tuple[Macro, ...]
    pragmas: tuple[Pragma, ...]
    diagnostics: tuple[Diagnostic, ...] = field(default=())

    @property
    def kernels(self) -> tuple[SourceFunction, ...]:
        return tuple(f for f in self.functions if f.is_kernel and f.body is not None)

    def innermost(self, index: int) -> int:
        """The innermost bracket that is open before a token, or -1."""
        return self.brackets.open[index]

    def around(self, index: int) -> Iterator[int]:
        """The brackets that are open before a token, from the innermost outwards."""
        while (index := self.brackets.open[index]) >= 0:
            yield index

    def functions_around(self, index: int) -> list[SourceFunction]:
        """The functions whose bodies hold the place before a token, from the outermost inwards."""
        bodies = ((function, function.body) for function in self.functions)
        return [function for function, body in bodies if body and body[0] < index <= body[1]]

    def span(self, tokens: Range) -> Span:
        first, last = tokens
        if last < first:
            return Span(self.tokens[first].start, self.tokens[first].start)
        return Span(self.tokens[first].start, self.tokens[last].end)

    def text(self, tokens: Range) -> str:
        return self.source[self.span(tokens)]

    def part(self, tokens: Range) -> Sequence[Token]:
        return self.tokens[tokens[0] : tokens[1] + 1]

    def outer(self, first: int) -> Iterator[int]:
        """Indices from a token on, what brackets hold left out; up to one that nothing closes."""
        index = first
        while first <= index < len(self.tokens):
            yield index
            is_opener = self.tokens[index].text in OPENERS
            index = (self.brackets.partner[index] if is_opener else index) + 1

    def directives_within(self, first: int, last: int) -> tuple[Directive, ...]:
        """The directives behind token `first` and before token `last`."""
        begin, end = (bisect_right(self.directives, i, key=_index) for i in (first, last))
        return self.directives[begin:end]


_index = attrgetter("index")


def parse(source: Source, compiled: Container[int] | None = None) -> Syntax:
    """Lex a source and recognise its islands. Never fails: errors are diagnostics.

    `compiled`: the lines of which the compiler sees any text, where they are known.
    """
    tokens, directives = _significant(source.text)
    lines = (source.location(token.start).line for token in tokens)
    brackets, directives = matched(tokens, directives, lines, compiled)
    all_macros = macros(directives)
    qualifiers = {m.name for m in all_macros if KERNEL_QUALIFIER in m.body_text}
    functions = _functions(tokens, brackets, qualifiers | {KERNEL_QUALIFIER})
    return Syntax(
        *(source, tokens, tuple(directives), brackets, all_macros, functions),
        tuple(_Launches(tokens, brackets, directives, functions).find()),
        tuple(macro for macro in all_macros if "<<<" in macro.body_text),
        pragmas(directives),
        _diagnostics(source, tokens, directives, brackets),
    )


def _significant(text: str) -> tuple[list[Token], list[Directive]]:
    every, dead = without_dead(text, list(lex(text, TRIVIA)))
    places = [place for place, token in enumerate(every) if token[0] == "DIRECTIVE"]
    # Of n directives before a place in all tokens, n do not count.
    found = ((place - n, every[place]) for n, place in enumerate(places))
    directives = [Directive(index, token, token.start in dead) for index, token in found]
    begins, ends = [0, *(place + 1 for place in places)], [*places, len(every)]
    pieces = (every[begin:end] for begin, end in zip(begins, ends, strict=True))
    return [token for piece in pieces for token in piece], directives


def _functions(
    tokens: Sequence[Token], brackets: Brackets, qualifiers: set[str]
) -> tuple[SourceFunction, ...]:
    """The functions of a text, which the holes in it do not spoil."""
    if not brackets.holes:
        return _Scan(tokens, brackets, qualifiers).functions()
    out = {index for begin, end in brackets.holes for index in range(begin, end)}
    kept = [index for index in range(len(tokens)) if index not in out]
    places = {index: place for place, index in enumerate(kept)}
    partner = [places.get(brackets.partner[index], -1) for index in kept]
    found = _Scan([tokens[index] for index in kept], Brackets(partner), qualifiers).functions()
    return tuple(
        replace(
            one,
            first=kept[one.first],
            parameters=(kept[one.parameters[0]], kept[one.parameters[1]]),
            body=one.body and (kept[one.body[0]], kept[one.body[1]]),
        )
        for one in found
    )


def _diagnostics(
    source: Source, tokens: Sequence[Token], directives: Sequence[Directive], brackets: Brackets
) -> tuple[Diagnostic, ...]:
    bracket = brackets.unbalanced
    is_text = "\0" not in source.text
    if bracket is not None and is_text:
        return (Diagnostic.at(Code.UNBALANCED, source, bracket.span, bracket=bracket.text),)
    is_code = directives or any(token.text in (";", "{") for token in tokens)
    if not is_code or not is_text:
        return (Diagnostic.at(Code.NOT_CUDA, source, path=source.path),)
    return ()


@dataclass(frozen=True)
class _Launches:
    """launch = callee "<<<" list ">" ">" ">" "(" list? ")"."""

    tokens: Sequence[Token]
    brackets: Brackets
    directives: Sequence[Directive]
    functions: Sequence[SourceFunction]

    def find(self) -> Iterator[Launch]:
        bodies = deque((one.body, one) for one in self.functions if one.body is not None)
        around: list[tuple[Range, SourceFunction]] = []
        for opener in sorted(self.brackets.around):
            while bodies and bodies[0][0][0] < opener:
                around.append(bodies.popleft())
            while around and around[-1][0][1] <= opener:
                around.pop()
            callee, closer = self._callee(opener), self._closer(opener)
            end = self.brackets.partner[closer + 3] if closer is not None else -1
            if callee is None or closer is None or end < 0:
                continue
            before, within = (bisect_right(self.directives, i, key=_index) for i in (callee, end))
            outer = self._in_parentheses((callee, end), self.brackets.around[opener])
            yield Launch(
                (callee, opener - 1),
                tuple(self.split(opener + 1, closer - 1)),
                tuple(self.split(closer + 4, end - 1)),
                end,
                around[-1][1] if around else None,
                before < within,
                self._is_statement(*outer),
                outer[0] != (callee, end),
            )

    def _closer(self, opener: int) -> int | None:
        tokens, partner = self.tokens, self.brackets.partner
        index = opener + 1
        while index < len(tokens) - 3:
            text = tokens[index].text
            if text in OPENERS and partner[index] >= 0:
                index = partner[index]
            elif text in (";", "{", "}", ")", "]") or tokens[index].kind == "LAUNCH_OPEN":
                return None
            elif [t.text for t in tokens[index : index + 4]] == [">", ">", ">", "("]:
                return index
            index += 1
        return None

    def _callee(self, opener: int) -> int | None:
        """callee = [primary ("::" | "." | "->")] primary; gives the index of its first token."""
        first = self._primary(opener - 1)
        while first is not None and first > 0 and self.tokens[first - 1].text in ("::", ".", "->"):
            before = self._primary(first - 2) if first > 1 else None
            if before is None:
                # A global name: `::kernel<<<…>>>`.
                return first - 1
            first = before
        return first

    def _primary(self, last: int) -> int | None:
        """primary = NAME ["<" … ">"] | NAME? "(" … ")" | primary "[" … "]"; read backwards."""
        if last < 0:
            return None
        token, partner = self.tokens[last], self.brackets.partner
        if token.kind == "IDENTIFIER":
            return None if token.text in ("return", "else", "do") else last
        if token.text == ">":
            opener = template_opener(self.tokens, partner, last) or 0
            is_named = opener > 0 and self.tokens[opener - 1].kind == "IDENTIFIER"
            return opener - 1 if is_named else None
        if token.text == ")" and partner[last] >= 0:
            opener = partner[last]
            before = self.tokens[opener - 1] if opener > 0 else token
            is_call = before.kind == "IDENTIFIER" and before.text not in _CONTROL
            return opener - 1 if is_call else opener
        if token.text == "]" and partner[last] >= 0:
            return self._primary(partner[last] - 1)
        return None

    def split(self, first: int, last: int) -> Iterator[Range]:
        """list = expression ("," expression)*; template arguments hide their commas."""
        tokens, partner = self.tokens, self.brackets.partner
        closers = template_closers(tokens, partner, first, last)
        begin = index = first
        while index <= last:
            text = tokens[index].text
            if text in OPENERS and partner[index] >= 0:
                index = partner[index]
            elif text == "<" and index > first and tokens[index - 1].kind == "IDENTIFIER":
                closer = closers.get(index, last)
                if closer < last and tokens[closer + 1].text in ("(", "::", "{"):
                    index = closer
            elif text == ",":
                yield begin, index - 1
                begin = index + 1
            index += 1
        if first <= last:
            yield begin, last

    def _in_parentheses(self, launch: Range, around: OpenBrackets) -> tuple[Range, OpenBrackets]:
        """A launch with the parentheses that hold nothing else, and the brackets around these."""
        (first, last), partner = launch, self.brackets.partner
        while around is not None and around[0] == first - 1 and partner[around[0]] == last + 1:
            if self.tokens[around[0]].text != "(":
                break
            first, last, around = first - 1, last + 1, around[1]
        return (first, last), around

    def _is_statement(self, launch: Range, around: OpenBrackets) -> bool:
        tokens, (first, last) = self.tokens, launch
        if around is None or tokens[around[0]].text != "{" or last + 1 >= len(tokens):
            return False
        while (attribute := attribute_opener(tokens, self.brackets, first - 1)) > 0:
            first = attribute
        if tokens[last + 1].text != ";":
            return False
        before = tokens[first - 1].text
        if before == ")":
            head = self.brackets.partner[first - 1] - 1
            return head >= 0 and tokens[head].text in _CONTROL
        if before == ":":
            return self._ends_label(first - 1, around[0])
        return before in (";", "{", "}", "else", "do")

    def _ends_label(self, colon: int, around: int) -> bool:
        """label = NAME ":" | "case" … ":" | "default" ":"; the colon of `? :` ends none."""
        index = colon - 1
        while index > around:
            text = self.tokens[index].text
            if text in (";", "{", "}"):
                return True
            if text == "?":
                return False
            is_closed = text in (")", "]") and self.brackets.partner[index] >= 0
            index = (self.brackets.partner[index] if is_closed else index) - 1
        return True


def template_opener(tokens: Sequence[Token], partner: Sequence[int], closer: int) -> int | None:
    """The `<` of the template arguments that end at `closer`.

    Stops at a launch, so that reading backwards from every launch takes linear time.
    """
    depth, index = 0, closer
    while index >= 0:
        text = tokens[index].text
        depth += {">": 1, "<": -1}.get(text, 0)
        if depth == 0:
            return index
        if text in CLOSERS:
            if partner[index] < 0:
                return None
            index = partner[index]
        elif text in (";", "{", "(", "<<") or tokens[index].kind == "LAUNCH_OPEN":
            return None
        index -= 1
    return None


def template_closers(
    tokens: Sequence[Token], partner: Sequence[int], first: int, last: int
) -> dict[int, int]:
    """Each `<` in a range that may open template arguments, with the `>` that closes them."""
    found: dict[int, int] = {}
    openers: list[int] = []
    index = first
    while index <= last:
        text = tokens[index].text
        if text == "<":
            openers.append(index)
        elif text == ">" and openers:
            found[openers.pop()] = index
        elif text in OPENERS and partner[index] >= 0:
            index = partner[index]
        elif text in (";", ")", "}", "&&", "||", "?") or tokens[index].kind == "LAUNCH_OPEN":
            openers.clear()
        index += 1
    return found
