"""Parameters that the pragmas of a source declare. Takes `Syntax`es, gives parameters and regions.

`#pragma cutune tune(m: 4, 8) data(N)` belongs to the next declaration `int m = 32;`, or assignment,
in the same block; or to the `#define WPT 1` that follows it, which may be guarded by `#ifndef WPT`;
or to `constexpr int WPT = 1;`. `#pragma cutune region begin` and `end` stand between statements of
one block. A pragma that cannot be applied is left as it is, with a warning.

`region begin repeat` asserts that a region may run again with other values. A host integer that is
declared before it gets its next value where it ends. A variable computed from it before the region
would keep its first value: where the text has one, the region does not repeat. Calls before the
region may take the integer: the pragma asserts that they are harmless.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import dropwhile, takewhile
from operator import attrgetter
from typing import Any, NamedTuple

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.source import Span
from cutune.source.program import HostTunable, Region, TunableConstant
from cutune.source.syntax.directives import OPENERS, Directive, Macro, Pragma
from cutune.source.syntax.parse import SourceFunction, Syntax, template_closers
from cutune.source.syntax.tokens import begin_of, word_set
from cutune.source.unit.integers import integer_type
from cutune.space.annotation import (
    AnnotationError,
    RegionAnnotation,
    TuneAnnotation,
    Values,
    names_in,
    read_annotation,
    read_condition,
)
from cutune.space.parameter import MOST_VALUES, Parameter, parameter_of

_STATEMENT_ENDS = frozenset({";", "{", "}"})
_LOOPS = frozenset({"for", "while", "switch"})
_CONTROL = _LOOPS | {"if", "constexpr", "catch"}
_BEFORE_STATEMENTS = _STATEMENT_ENDS | {"else", "do", "try"}
_BEFORE_BLOCKS = _BEFORE_STATEMENTS | {":"}
#: What stands before a name in no declaration, and before a parenthesis in no call.
_NO_TYPE = word_set("return else throw delete goto case new do co_return co_await co_yield sizeof")
#: The end of a type, beside a name.
_TYPE_ENDS = frozenset({">", "*", "&"})
CHANGES = word_set("++ -- = += -= *= /= %= &= |= ^= <<= >>=")


@dataclass(frozen=True)
class _RepeatedRegion:
    syntax: Syntax
    function: SourceFunction
    begin: Pragma
    end: Pragma

    def is_before(self, tunable: HostTunable) -> bool:
        first, last = self.function.braces
        place = self._index(tunable.value.start)
        return tunable.source is self.syntax.source and first < place <= min(last, self.begin.index)

    def reason_against(self, tunable: HostTunable) -> str:
        """Why it cannot be given another value; empty if it can."""
        name, value = tunable.name, self._index(tunable.value.start)
        first, _ = self._statement(value - 2)
        head = [token.text for token in self.syntax.tokens[first : value - 2]]
        around = self.syntax.innermost(value)
        inner = self._blocks_between(around)
        is_declared = bool(head) and self._text(value - 2) == name
        if not is_declared or inner is None or not all(map(self._is_plain, inner)):
            where = f"write int {name} = VALUE; there, before the region"
            return f"'{name}' is not declared in a block around it; {where}"
        if "const" in head:
            return f"'{name}' is const; drop const"
        behind = self._index(tunable.value.end)
        for use in self._uses(name, behind, inner):
            if not self._is_harmless(use):
                line = self.syntax.source.location(self.syntax.tokens[use].start).line
                advice = "move that statement into the region"
                return f"line {line} computes with '{name}' outside of it; {advice}"
        return ""

    # ---- blocks

    def _blocks_between(self, outer: int) -> list[int] | None:
        """The brackets that are open at the region, within another; None if that is closed."""
        around = [*self.syntax.around(self.begin.index), -1]
        return around[: around.index(outer)] if outer in around else None

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

    def _with_macros(self, name: str) -> set[str]:
        names, before = {name}, 0
        while len(names) > before:
            before = len(names)
            for macro in self.syntax.macros:
                if any(token.text in names for token in macro.body):
                    names.add(macro.name)
        return names

    def _is_harmless(self, use: int) -> bool:
        """Is it only an argument of a call that is a statement, or a condition that is over?"""
        if self._text(use - 1) == "&":  # by its address it may be changed
            return False
        place, is_argument = use, False
        for opener in takewhile(self._is_nested, self.syntax.around(use)):
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
        return self._text(opener) != "{" or self._text(opener - 1) not in _BEFORE_BLOCKS | {")"}

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
            one, other = self.syntax.tokens[index : index + 2]
            is_type = one.kind == "IDENTIFIER" and one.text not in _NO_TYPE
            if (is_type or one.text in _TYPE_ENDS) and other.kind == "IDENTIFIER":
                return True
            index = max(index, self._partner(index) if one.text in OPENERS else index) + 1
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
        while self._text(last) not in _STATEMENT_ENDS:
            is_open = self._text(last) in OPENERS and self._partner(last) >= 0
            last = (self._partner(last) if is_open else last) + 1
        return first, last

    def _partner(self, index: int) -> int:
        return self.syntax.brackets.partner[index]

    def _text(self, index: int) -> str:
        """The text of a token; `;` behind the end of the file, since that ends what is open."""
        tokens = self.syntax.tokens
        return tokens[index].text if 0 <= index < len(tokens) else ";"

    def _index(self, offset: int) -> int:
        return bisect_left(self.syntax.tokens, offset, key=attrgetter("start"))


_QUALIFIERS = frozenset({"static", "inline", "constexpr", "const", "__device__"})
_BESIDE_DEFINES = ("define", "ifndef", "endif")
_FIXED = frozenset({"static", "constexpr", "constinit", "extern", "thread_local"})
#: Most values of one tunable: more would not be swept in full.
MOST_CHOICES = 4096


def declared_constant(syntax: Syntax, index: int) -> tuple[str, int] | None:
    """The constant that is declared from a token on: its name, and the token of its value."""
    tokens = syntax.tokens
    words = []
    while index < len(tokens) and tokens[index].text not in ("=", ";", "{", "}", "("):
        words.append(tokens[index].text)
        index += 1
    if len(words) < 2 or index >= len(tokens) or tokens[index].text != "=":
        return None
    kind = [word for word in words[:-1] if word not in _QUALIFIERS]
    # Within a function `const int` is a host integer of one run.
    is_constant = "constexpr" in words or ("const" in words and not syntax.functions_around(index))
    is_integer = kind == ["bool"] or integer_type(kind) is not None
    return (words[-1], index + 1) if is_constant and is_integer else None


@dataclass(frozen=True)
class Tunables:
    """The parameters and regions that the pragmas of a source and its headers declare."""

    tunables: tuple[HostTunable, ...] = ()
    constants: tuple[TunableConstant, ...] = ()
    regions: tuple[Region, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def tunables_of(files: Sequence[Syntax]) -> Tunables:
    """All parameters and regions, numbered from 1; later tunables may depend on earlier ones."""
    found, diagnostics = _Declared(files), list[Diagnostic]()
    for syntax in files:
        open_regions: list[_BeginOfRegion] = []
        for pragma in syntax.pragmas:
            try:
                found.add(_PragmaReader(syntax, pragma), open_regions)
            except AnnotationError:
                continue  # reported where annotations of kernels are read
            except CutuneError as error:
                diagnostics.append(error.diagnostic)
        for begin, _ in open_regions:
            diagnostics.append(begin.error(Code.UNPAIRED_REGION, other="end").diagnostic)
    parameters = tuple(found.tunables), tuple(found.constants)
    return Tunables(*parameters, tuple(found.regions), tuple(diagnostics))


class _BeginOfRegion(NamedTuple):
    """The pragma that begins a region, and whether the region may repeat."""

    pragma: _PragmaReader
    may_repeat: bool


@dataclass
class _Declared:
    """What the pragmas of some files have declared so far."""

    files: Sequence[Syntax]
    tunables: list[HostTunable] = field(default_factory=list)
    constants: list[TunableConstant] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)

    def add(self, reader: _PragmaReader, open_regions: list[_BeginOfRegion]) -> None:
        """Add what a pragma declares. Raises AnnotationError, and CutuneError as the reader."""
        match read_annotation(reader.pragma.text):
            case TuneAnnotation() as said:
                self._add_parameters(reader, said)
            case RegionAnnotation(is_begin, is_repeated):
                reader.check_statement_place()
                if is_begin:
                    open_regions.append(_BeginOfRegion(reader, is_repeated))
                else:
                    self._add_region(reader, *reader.begin_of(open_regions))

    def _add_parameters(self, reader: _PragmaReader, said: TuneAnnotation) -> None:
        known = {one.name for one in (*self.tunables, *self.constants)}
        if twice := next((name for name in said.choices if name in known), None):
            raise reader.error(Code.TUNED_TWICE, name=twice)
        if reader.is_for_constants(said):
            found = [reader.constant(self.files, said, name) for name in said.choices]
            self.constants += found
        else:
            self.tunables += reader.tunables(said, self.tunables, self.constants)

    def _add_region(self, end: _PragmaReader, begin: _PragmaReader, is_repeated: bool) -> None:
        source, number = end.syntax.source, len(self.regions) + 1
        # It is timed in any case, also where it cannot repeat.
        region = Region(number, source, begin.pragma.token.span, end.pragma.token.span)
        self.regions.append(region)
        if is_repeated:
            self.regions[-1] = end.repeated(region, begin, self.tunables)


@dataclass(frozen=True)
class _PragmaReader:
    """A pragma in its file; every method raises `CutuneError` where it cannot be applied."""

    syntax: Syntax
    pragma: Pragma

    def error(self, code: Code, **values: Any) -> CutuneError:
        return CutuneError.at(code, self.syntax.source, self.pragma.token.span, **values)

    # ---- macros and constants

    def is_for_constants(self, said: TuneAnnotation) -> bool:
        is_macro = not {*said.choices}.isdisjoint(macro.name for macro in self._macros_behind)
        return is_macro or declared_constant(self.syntax, self.pragma.index) is not None

    def constant(self, files: Sequence[Syntax], said: TuneAnnotation, name: str) -> TunableConstant:
        if sum(macro.name == name for file in files for macro in file.macros) > 1:
            raise self.error(Code.CONSTANT_TWICE, name=name)
        macro = next((one for one in self._macros_behind if one.name == name), None)
        value = self._constant_value(name) if macro is None else None
        if macro is not None and macro.parameters is None and "\n" not in macro.body_text.strip():
            value = Span(macro.body[0].start, macro.body[-1].end) if macro.body else None
        if value is None:
            raise self.error(Code.NO_CONSTANT_VALUE, name=name)
        try:
            parameter = parameter_of(name, said.choices[name])
        except CutuneError:
            limits = {"most": MOST_VALUES, "kind": "values"}
            raise self.error(Code.BAD_CHOICES, name=name, **limits) from None
        guards = (d.rest.split()[:1] for d in self._directives_behind if d.name == "ifndef")
        is_macro = macro is not None
        return TunableConstant(
            parameter,
            said.data,
            self.syntax.source,
            value,
            self.pragma.token.span,
            said.where,
            is_macro=is_macro,
            is_guarded=is_macro and [name] in guards,
        )

    @cached_property
    def _directives_behind(self) -> list[Directive]:
        """The `#define`s that follow, and the `#if` lines around them."""
        start, index = self.pragma.token.start, self.pragma.index
        later = dropwhile(lambda one: one.token.start <= start, self.syntax.directives)
        return [*takewhile(lambda d: d.index == index and d.name in _BESIDE_DEFINES, later)]

    @cached_property
    def _macros_behind(self) -> list[Macro]:
        spans = [directive.token.span for directive in self._directives_behind]
        return [
            macro
            for macro in self.syntax.macros
            if any(span.start <= macro.body_start <= span.end for span in spans)
        ]

    def _constant_value(self, name: str) -> Span | None:
        index, tokens = self.pragma.index, self.syntax.tokens
        while (declared := declared_constant(self.syntax, index)) is not None:
            found, first = declared
            end = next((i for i in range(first, len(tokens)) if tokens[i].text == ";"), None)
            if end is None:
                return None
            if found == name:
                texts = {token.text for token in tokens[first:end]}
                is_one = texts and texts.isdisjoint((",", "{"))
                is_whole = not self.syntax.directives_within(first - 1, end)
                return self.syntax.span((first, end - 1)) if is_one and is_whole else None
            index = end + 1
        return None

    # ---- regions

    def begin_of(self, open_regions: list[_BeginOfRegion]) -> _BeginOfRegion:
        """Take the begin of the region that ends here off the list."""
        if not open_regions:
            raise self.error(Code.UNPAIRED_REGION, other="begin")
        begin = open_regions.pop()
        places = (begin.pragma.pragma.index, self.pragma.index)
        if open_regions or len({*map(self.syntax.innermost, places)}) > 1:
            raise self.error(Code.REGION_ACROSS_BLOCKS)
        return begin

    def repeated(
        self, region: Region, begin: _PragmaReader, earlier: Sequence[HostTunable]
    ) -> Region:
        """The region with the host integers that are given values before it runs again."""
        assert begin.function is not None  # a statement may stand there
        repeated = _RepeatedRegion(self.syntax, begin.function, begin.pragma, self.pragma)
        before = [tunable for tunable in earlier if repeated.is_before(tunable)]
        for reason in filter(None, map(repeated.reason_against, before)):
            raise begin.error(Code.NOT_REPEATED, reason=reason)
        return replace(region, may_repeat=True, assigned=tuple(one.name for one in before))

    def check_statement_place(self) -> None:
        before = self.syntax.tokens[self.pragma.index - 1].text if self.pragma.index else ""
        if self.function is None or before not in _STATEMENT_ENDS:
            raise self.error(Code.REGION_IN_STATEMENT)

    @property
    def function(self) -> SourceFunction | None:
        around = self.syntax.functions_around(self.pragma.index)
        return around[-1] if around and not around[-1].is_kernel else None

    # ---- integers of the host

    def tunables(
        self,
        said: TuneAnnotation,
        earlier: Sequence[HostTunable],
        compiled: Sequence[TunableConstant],
    ) -> list[HostTunable]:
        names = {tunable.name for tunable in earlier}
        group = len({tunable.group for tunable in earlier}) + 1
        if self.function is None:
            raise self.error(Code.TUNABLE_OUTSIDE)
        before = {token.text for token in self.syntax.tokens[: self.pragma.index]}
        for name in said.data:
            if name.replace("->", ".").split(".")[0] not in before:
                raise self.error(Code.UNKNOWN_DATA, name=name)
        if not said.data:
            raise self.error(Code.TUNABLE_WITHOUT_DATA)
        # What the program knows where it chooses.
        known = {*said.choices, *said.data, *(one.name for one in compiled if one.is_integer)}
        for name in sorted(names_in(read_condition(said.where)) if said.where is not None else ()):
            if name not in known:
                listed = ", ".join(sorted(known))
                raise self.error(Code.UNKNOWN_IN_CONDITION, name=name, known=listed)
        written = [self._as_written(name) for name in said.data]
        data = tuple(name for name in written if name not in names)
        given = tuple(name for name in written if name in names)
        return [
            HostTunable(
                self._parameter(name, values),
                data,
                self.syntax.source,
                self._value(name),
                self.pragma.token.span,
                said.where,
                group=group,
                given=given,
            )
            for name, values in said.choices.items()
        ]

    def _parameter(self, name: str, values: Values) -> Parameter:
        try:
            found = parameter_of(name, values).values
        except CutuneError:
            found = ()
        integers = sorted(value for value in found if isinstance(value, int))
        if not found or len(integers) < len(found) or len(found) > MOST_CHOICES:
            limits = {"most": MOST_CHOICES, "kind": "integers"}
            raise self.error(Code.BAD_CHOICES, name=name, **limits)
        return Parameter(name, tuple(integers))

    def _value(self, name: str) -> Span:
        tokens = self.syntax.tokens
        path = re.split(r"(\.|->)", self._as_written(name))
        outer = self.syntax.outer(self.pragma.index)
        for index in takewhile(lambda i: tokens[i].text != "}", outer):
            if [t.text for t in tokens[index : index + len(path)]] != path:
                continue
            behind = index + len(path)
            if tokens[behind].text != "=" or tokens[behind + 1].text == "{":
                break
            if tokens[index - 1].text in (".", "->"):
                continue  # a member of that name
            self._check_type(name, index)
            last = self._value_end(behind + 1)
            if last <= behind or self.syntax.directives_within(behind, last + 1):
                break
            # It is evaluated in one expression with the sizes, in no order.
            if any(token.text in CHANGES for token in tokens[behind + 1 : last + 1]):
                raise self.error(Code.TUNABLE_SIDE_EFFECT, name=name)
            return self.syntax.span((behind + 1, last))
        raise self.error(Code.NO_TUNABLE_VALUE, name=name)

    def _value_end(self, first: int) -> int:
        tokens, partner = self.syntax.tokens, self.syntax.brackets.partner
        statement = next(i for i in self.syntax.outer(first) if tokens[i].text in (";", "}"))
        closers = template_closers(tokens, partner, first, statement)
        index = first
        while index < statement and tokens[index].text != ",":
            # The commas of template arguments end nothing.
            closer = closers.get(index, index)
            if closer < statement and tokens[closer + 1].text in ("(", "::", "{"):
                index = closer
            index = partner[index] + 1 if tokens[index].text in OPENERS else index + 1
        return index - 1

    def _check_type(self, name: str, index: int) -> None:
        """A declared integer, not a static one: that has one value for all sizes."""
        tokens = self.syntax.tokens
        words = [token.text for token in tokens[begin_of(tokens, index) : index]]
        head = words[: words.index("=") - 1] if "=" in words else words
        named = [word for word in head if word not in ("std", "::", "auto")]
        is_integer = not words or "auto" in head or integer_type(named) is not None
        if {*head} & _FIXED or not is_integer:  # no words: an assignment
            raise self.error(Code.NOT_A_HOST_INTEGER, name=name, type=" ".join(head))

    def _as_written(self, name: str) -> str:
        """`p.n`, as annotations have it, may have been written `p->n`."""
        pattern = r"\s*(\.|->)\s*".join(map(re.escape, name.split(".")))
        found = re.search(rf"\b{pattern}\b", self.pragma.text)
        return re.sub(r"\s+", "", found[0]) if found else name
