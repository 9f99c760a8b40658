"""The program at several values of its parameters. Takes compiler and program, gives `Versions`."""

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
from cutune.tunables.clones.depending import NotBySize, Versions

Texts = Mapping[str, str]
"""Parameter → the text of its value."""

#: Begins the stand-in for a value, which shows where that is used.
_STAND_IN = "cutune_value_of_"
#: So many values of a parameter show what an `#if` tests; chosen ones are checked again before a
#: program is written.
MOST_SHOWN = 8
_CONDITIONS = ("if", "elif", "ifdef", "ifndef")


def plain_unit(program: Program, values: Texts) -> TranslationUnit:
    """Return the program as it is compiled for some values alone."""
    # With a prelude, places in it are those of the source.
    unit = TranslationUnit(program).with_prelude("// values\n")
    return run_passes([ReplaceTunables(values=values)], unit)


def expanded(compiler: UnitCompiler, unit: TranslationUnit) -> Expanded:
    """Return the declarations of a preprocessed program.

    Raises:
        CutuneError: it cannot be preprocessed.
        NotBySize: its declarations cannot be told apart.
    """
    users = {unit.program.source.path, *(header.path for header in unit.program.headers)}
    try:
        return split(compiler.preprocessed(unit), users)
    except NotSplit as problem:
        raise NotBySize(str(problem), "write whole declarations in each file") from None


def versions(
    compiler: UnitCompiler,
    program: Program,
    constants: Sequence[TunableConstant],
    fixed: Texts,
    sets: Iterable[Texts] | None = None,
) -> Versions:
    """Return the program at values of some parameters.

    Args:
        fixed: values of others. sets: at which values; None: those that show what depends on them.

    Raises:
        CutuneError: the program cannot be preprocessed as it is.
        NotBySize: its declarations cannot be told apart.
    """
    own = expanded(compiler, plain_unit(program, fixed))
    stand_ins = {one.name: _STAND_IN + one.name for one in constants}
    others = []
    for values in [stand_ins, *(_shown(program, constants) if sets is None else sets)]:
        try:
            others.append(expanded(compiler, plain_unit(program, {**fixed, **values})))
        except CutuneError:  # an #error: no program has these values
            continue
    if not others:
        raise NotBySize("the program is not preprocessed at another value", "remove its pragma")
    return Versions(program.source.path, own, tuple(others))


def _shown(program: Program, constants: Iterable[TunableConstant]) -> Iterator[Texts]:
    """Yield values of those parameters that an `#if` tests."""
    for one in constants:
        if _is_tested(program, one.name):
            for value in one.parameter.values[:MOST_SHOWN]:
                yield {one.name: shown(value)}


def _is_tested(program: Program, name: str) -> bool:
    """Does a condition of the preprocessor name it, perhaps through macros?"""
    files = (program.source, *program.headers)
    directives = [one for file in files for one in directives_of(file.text)]
    names, before = {name}, 0
    while len(names) > before:
        before = len(names)
        names |= {m.name for m in macros(directives) if names & _words(m.body_text)}
    return any(names & _words(one.rest) for one in directives if one.name in _CONDITIONS)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))
