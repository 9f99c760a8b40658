"""Copies of declarations for other values of parameters. Takes places in a source, gives edits.

Each copy stands right behind its declaration, so that it sees what the declaration sees. A prefix
of the value set distinguishes its names: macros put it there, so that the text stays as it is. In
the scope of the declaration a copy finds what that finds; a namespace would add names of its own to
those that the types of arguments bring in. `#line` keeps messages and `__LINE__` right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from cutune.core.source import Edit, Source, Span, apply_edits
from cutune.source.rewrite.c_text import one_line


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
