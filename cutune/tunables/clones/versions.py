"""The program at several values of its parameters: its `Versions`, by a compiler.

Values stand in the source as the tuned program would have them; the preprocessor does the rest. A
name in place of a value shows where that is used; what an `#if` asks for, only values show.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cutune.core.diagnostics import CutuneError
from cutune.frontend.program import Program
from cutune.frontend.syntax.directives import directives_of, macros
from cutune.frontend.tunable import TunableConstant
from cutune.passes import ReplaceTunables
from cutune.proof.unit_compiler import UnitCompiler
from cutune.rewrite.pipeline import TranslationUnit, run_passes
from cutune.space.parameter import shown
from cutune.tunables.clones.declarations import Expanded, NotSplit, split
from cutune.tunables.clones.depending import OneValue, Versions

Texts = Mapping[str, str]
"""Parameter → the text of its value."""

#: Stands for a value whose uses are looked for.
_STAND_IN = "cutune_value_of_"
#: So many values of a parameter show what an `#if` asks for; those that are chosen are looked at
#: again before a program is written.
MOST_SHOWN = 8
_CONDITIONS = ("if", "elif", "ifdef", "ifndef")


def plain_unit(program: Program, values: Texts) -> TranslationUnit:
    """The program with values, as one that is compiled for them alone."""
    # With a prelude, places in it are those of the source.
    unit = TranslationUnit(program).with_prelude("// values\n")
    return run_passes([ReplaceTunables(values=values)], unit)


def expanded(compiler: UnitCompiler, unit: TranslationUnit) -> Expanded:
    """What the compiler gets of a program.

    Raises:
        CutuneError: it cannot be preprocessed.
        OneValue: its declarations cannot be told apart.
    """
    users = {unit.program.source.path, *(header.path for header in unit.program.headers)}
    try:
        return split(compiler.preprocessed(unit), users)
    except NotSplit as problem:
        raise OneValue(str(problem), "write whole declarations in each file") from None


def versions(
    compiler: UnitCompiler,
    program: Program,
    constants: Sequence[TunableConstant],
    fixed: Texts,
    sets: Iterable[Texts] | None = None,
) -> Versions:
    """The program at values of some parameters.

    Args:
        fixed: values of others. sets: at which values; None: those that show what depends on them.

    Raises:
        CutuneError: the program cannot be preprocessed as it is.
        OneValue: its declarations cannot be told apart.
    """
    own = expanded(compiler, plain_unit(program, fixed))
    asked = [_stand_ins(constants), *(_shown(program, constants) if sets is None else sets)]
    others = []
    for values in asked:
        try:
            others.append(expanded(compiler, plain_unit(program, {**fixed, **values})))
        except CutuneError:  # an #error: no program has these values
            continue
    if not others:
        raise OneValue("the program is not preprocessed at another value", "remove its pragma")
    return Versions(program.source.path, own, tuple(others))


def _stand_ins(constants: Iterable[TunableConstant]) -> Texts:
    return {one.name: _STAND_IN + one.name for one in constants}


def _shown(program: Program, constants: Iterable[TunableConstant]) -> Iterator[Texts]:
    """Values of those parameters that an `#if` asks for."""
    for one in constants:
        if _is_asked(program, one.name):
            for value in one.parameter.values[:MOST_SHOWN]:
                yield {one.name: shown(value)}


def _is_asked(program: Program, name: str) -> bool:
    """Does a condition of the preprocessor speak of it, perhaps through macros?"""
    found = [d for file in (program.source, *program.headers) for d in directives_of(file.text)]
    names, before = {name}, 0
    while len(names) > before:
        before = len(names)
        names |= {m.name for m in macros(found) if names & {*_words(m.body_text)}}
    conditions = (d.rest for d in found if d.name in _CONDITIONS)
    return any(names & {*_words(text)} for text in conditions)


def _words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z_]\w*", text)
