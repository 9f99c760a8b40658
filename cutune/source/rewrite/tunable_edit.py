"""The edits at parameters and regions, shared by the instrumented and the tuned program.

`int m = 32;` becomes `int m = CALL(32, …);` on the same line; `#define WPT 1` gets another text.

A copy for other values stands right behind its declaration, so that it sees what that sees. A
prefix of the value set distinguishes its names: macros put it there, so that the text stays as it
is. A namespace would add names of its own to those that the types of arguments bring in. `#line`
keeps messages and `__LINE__` right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from cutune.core.source import Edit, Source, Span, apply_edits
from cutune.source.rewrite.c_text import c_string, line_structure, one_line, prelude_edit
from cutune.source.rewrite.pipeline import TranslationUnit
from cutune.source.tunable import HostTunable, Region, TunableConstant

Call = Callable[[HostTunable], tuple[str, str]]
"""Text before and behind the program's own value of a tunable."""
#: Beginning of the macros that stand for the values of constants.
VALUE_PREFIX = "CUTUNE_VALUE_"


def with_tunable_edits(
    unit: TranslationUnit, owner: str, tunable: HostTunable, call: Call
) -> TranslationUnit:
    """Make a tunable's value the first argument of a call."""
    before, behind = call(tunable)
    edits = (
        Edit.insert(tunable.value.start, before),
        Edit.insert(tunable.value.end, behind),
    )
    return with_file_edits(unit, owner, edits, tunable.source)


def settable(constants: Iterable[TunableConstant]) -> str:
    """Text before line 1: the program's own values, unless the command line has others."""
    values = ((VALUE_PREFIX + c.name, one_line(c.own_text)) for c in constants)
    return "".join(f"#ifndef {n}\n#define {n} {value}\n#endif\n" for n, value in values)


def with_value(
    unit: TranslationUnit, owner: str, constant: TunableConstant, text: str
) -> TranslationUnit:
    """Put another text in place of a constant's own value."""
    edit = Edit(constant.value, text + line_structure(constant.own_text))
    return with_file_edits(unit, owner, [edit], constant.source)


def data_arguments(tunable: HostTunable) -> list[str]:
    """The data and the tunables that are given, as C expressions."""
    return [f"(long long)({name})" for name in (*tunable.data, *tunable.given)]


def region_edits(region: Region) -> Iterator[Edit]:
    """Calls in place of the pragmas; behind a region that may repeat the way back to its begin."""
    number = region.id
    begin, end = f"cutune_region_begin({number});", f"cutune_region_end({number});"
    if region.may_repeat:
        given = "".join(f" cutune_give_next({c_string(n)}, {n});" for n in region.assigned)
        begin = f"cutune_again_{number}:; {begin}"
        end += (
            f" {{ const int cutune_next = cutune_region_again(); if (cutune_next > 0) {{{given} }}"
            f" if (cutune_next > 1) goto cutune_again_{number}; }}"
        )
    for span, text in ((region.begin, begin), (region.end, end)):
        yield Edit(span, text + line_structure(region.source[span]))


def with_file_edits(
    unit: TranslationUnit, owner: str, edits: Iterable[Edit], source: Source
) -> TranslationUnit:
    """Further edits of a file; in a header, nvcc's messages go on naming the user's."""
    if source is not unit.program.source:
        unit = unit.with_edits(owner, [prelude_edit(source, "")], source)
    return unit.with_edits(owner, edits, source)


@dataclass(frozen=True)
class Outer:
    """The function of the host that chooses a value set.

    Attributes:
        place: of its name. head: from its first token to the bracket behind its parameters.
        body: the offset behind its `{`.
        arguments: the names of its parameters. sizes: of those by which it chooses.
    """

    name: str
    place: Span
    head: Span
    body: int
    arguments: tuple[str, ...]
    sizes: tuple[str, ...]


@dataclass(frozen=True)
class Copies:
    """Declarations that are written again for each value set.

    Attributes:
        declarations: from the first token to the last, in order. names: what they declare.
        values: the places of values of constants; macros have none.
        sets: the prefix of each value set, and its values by the names of parameters.
    """

    source: Source
    declarations: tuple[Span, ...]
    names: tuple[str, ...]
    outer: Outer
    values: Mapping[str, Span]
    sets: Mapping[str, Mapping[str, str]]


def copy_edits(copies: Copies, routine: str) -> list[Edit]:
    """Copies behind each declaration; the outermost function asks `routine` which one to call."""
    texts: defaultdict[int, str] = defaultdict(str)
    for span in copies.declarations:
        texts[span.end] += _copies_of(copies, span)
    texts[copies.outer.head.start] += _prototypes(copies)
    texts[copies.outer.body] += dispatcher(copies, routine)
    return [Edit.insert(offset, text) for offset, text in texts.items()]


def dispatcher(copies: Copies, routine: str) -> str:
    """The statement that calls the copy of the chosen set; the program's own one is below it."""
    outer = copies.outer
    sizes = ", ".join(f"(long long)({name})" for name in outer.sizes)
    arguments = ", ".join(outer.arguments)
    cases = (
        f"case {number}: return {prefix}{outer.name}({arguments});"
        for number, prefix in enumerate(copies.sets, 1)
    )
    return f" switch ({routine}({sizes})) {{ {' '.join(cases)} default: break; }}"


def _prototypes(copies: Copies) -> str:
    outer, source = copies.outer, copies.source
    before = one_line(source[Span(outer.head.start, outer.place.start)])
    behind = one_line(source[Span(outer.place.end, outer.head.end)])
    return "".join(f"{before} {prefix}{outer.name}{behind}; " for prefix in copies.sets)


def _copies_of(copies: Copies, span: Span) -> str:
    first, last = (copies.source.location(at).line for at in (span.start, span.end - 1))
    texts = [_copy(copies, span, first, *value_set) for value_set in copies.sets.items()]
    return "".join(["\n", *texts, f"#line {last}\n"])


def _copy(copies: Copies, span: Span, line: int, prefix: str, values: Mapping[str, str]) -> str:
    edits = [
        Edit(Span(place.start - span.start, place.end - span.start), values[name])
        for name, place in copies.values.items()
        if name in values and span.start <= place.start and place.end <= span.end
    ]
    text = apply_edits(Source("", copies.source[span]), edits).text
    macros = {name: value for name, value in values.items() if name not in copies.values}
    macros |= {name: prefix + name for name in copies.names}
    defined = (
        f'#pragma push_macro("{name}")\n#undef {name}\n#define {name} {value}\n'
        for name, value in macros.items()
    )
    restored = (f'#pragma pop_macro("{name}")\n' for name in macros)
    return "".join([*defined, f"#line {line}\n{text}\n", *restored])
