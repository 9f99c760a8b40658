"""The edits at parameters and regions, shared by the instrumented and the tuned program.

`int m = 32;` becomes `int m = CALL(32, …);` on the same line; `#define WPT 1` gets another text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from cutune.core.source import Edit, Source
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
