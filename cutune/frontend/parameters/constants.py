"""Macros and constants that may be chosen. Takes a pragma and what stands behind it, gives them.

`#pragma cutune tune(WPT: 1..10) data(n)` belongs to the `#define WPT 1` that follows it, which may
be guarded by `#ifndef WPT`, or to `constexpr int WPT = 1;`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import dropwhile, takewhile

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.source import Span
from cutune.frontend.syntax.annotation import TuneAnnotation
from cutune.frontend.syntax.directives import Directive, Macro, Pragma
from cutune.frontend.syntax.parse import Syntax
from cutune.frontend.tunable import TunableConstant
from cutune.frontend.unit.integers import integer_type
from cutune.space.parameter import MOST_VALUES, parameter_of

_QUALIFIERS = frozenset({"static", "inline", "constexpr", "const", "__device__"})
_BESIDE_DEFINES = ("define", "ifndef", "endif")


def is_before_constants(syntax: Syntax, pragma: Pragma, said: TuneAnnotation) -> bool:
    """Does a pragma stand before a macro, or a constant known to the compiler?"""
    macros = {macro.name for macro in _macros_behind(syntax, pragma)}
    is_constant = declared_constant(syntax, pragma.index) is not None
    return is_constant or not macros.isdisjoint(said.choices)


def constants(
    syntax: Syntax, files: Sequence[Syntax], pragma: Pragma, said: TuneAnnotation
) -> list[TunableConstant]:
    """The parameters of one pragma; `files` are all of the user.

    Raises:
        CutuneError: CT256, CT264 or CT265 where the pragma cannot be applied.
    """
    return [_constant(syntax, files, pragma, said, name) for name in said.choices]


def _constant(
    syntax: Syntax, files: Sequence[Syntax], pragma: Pragma, said: TuneAnnotation, name: str
) -> TunableConstant:
    place = syntax.source, pragma.token.span
    defined = [macro for file in files for macro in file.macros if macro.name == name]
    if len(defined) > 1:
        raise CutuneError(Diagnostic.at(Code.CONSTANT_TWICE, *place, name=name))
    macro = next((one for one in _macros_behind(syntax, pragma) if one.name == name), None)
    value = _constant_value(syntax, pragma, name) if macro is None else _macro_value(syntax, macro)
    if value is None:
        raise CutuneError(Diagnostic.at(Code.NO_CONSTANT_VALUE, *place, name=name))
    try:
        parameter = parameter_of(name, said.choices[name])
    except CutuneError:
        code, kind = Code.BAD_CHOICES, "values"
        bad = Diagnostic.at(code, *place, name=name, most=MOST_VALUES, kind=kind)
        raise CutuneError(bad) from None
    return TunableConstant(
        parameter,
        said.data,
        syntax.source,
        value,
        pragma.token.span,
        said.where,
        is_macro=macro is not None,
        is_guarded=macro is not None and _is_guarded(syntax, pragma, name),
    )


def _directives_behind(syntax: Syntax, pragma: Pragma) -> Iterator[Directive]:
    """The `#define`s that follow a pragma, and the `#if` lines around them."""
    later = dropwhile(lambda one: one.token.start <= pragma.token.start, syntax.directives)
    return takewhile(lambda one: one.index == pragma.index and one.name in _BESIDE_DEFINES, later)


def _macros_behind(syntax: Syntax, pragma: Pragma) -> list[Macro]:
    spans = [directive.token.span for directive in _directives_behind(syntax, pragma)]
    return [
        macro
        for macro in syntax.macros
        if any(span.start <= macro.body_start <= span.end for span in spans)
    ]


def _is_guarded(syntax: Syntax, pragma: Pragma, name: str) -> bool:
    """Does `#ifndef NAME` stand before its `#define`?"""
    guards = (d for d in _directives_behind(syntax, pragma) if d.name == "ifndef")
    return any(guard.rest.split()[:1] == [name] for guard in guards)


def _macro_value(syntax: Syntax, macro: Macro) -> Span | None:
    """The bytes of an object-like macro's replacement, which must be one line."""
    if macro.parameters is not None or not macro.body or "\n" in macro.body_text.strip():
        return None
    return Span(macro.body[0].start, macro.body[-1].end)


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


def _constant_value(syntax: Syntax, pragma: Pragma, name: str) -> Span | None:
    """The bytes of the value of a constant among the declarations behind a pragma."""
    index = pragma.index
    while (declared := declared_constant(syntax, index)) is not None:
        declared_name, first = declared
        ends = (i for i in range(first, len(syntax.tokens)) if syntax.tokens[i].text == ";")
        end = next(ends, None)
        if end is None:
            return None
        texts = [token.text for token in syntax.tokens[first:end]]
        if declared_name == name:
            is_one = texts and not {",", "{"} & {*texts}
            is_whole = not syntax.directives_within(first - 1, end)
            return syntax.span((first, end - 1)) if is_one and is_whole else None
        index = end + 1
    return None
