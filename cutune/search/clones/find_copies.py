"""Finds what is copied for value sets. Takes a program and its parameters, gives their places.

The outermost function chooses among the copies. A parameter that cannot be chosen so gets a note
that says why (CT835).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.source import Source, Span
from cutune.proof.compiled import UnitCompiler
from cutune.search.clones.copy_rules import check, parameters_of
from cutune.search.clones.declarations import Declaration, NotSplit, written
from cutune.search.clones.dependence import Dependent, NotBySize, Texts, dependent, versions
from cutune.source.program import Program, TunableConstant
from cutune.source.rewrite.edits import Copies, Outer
from cutune.source.syntax.tokens import word_set


def copies_of(
    source: Source,
    found: Dependent,
    constants: Sequence[TunableConstant],
    sizes: Sequence[str],
    sets: Sequence[Mapping[str, str]],
) -> Copies:
    """Return the places of what is copied. Raises NotBySize where the source does not show them."""
    try:
        declared = written(source.text, source.path)
    except NotSplit:
        raise NotBySize(
            "branches of an #if share brackets", "write whole functions in each"
        ) from None
    copied = [_of(declared, found.of(index)) for index in found.declarations]
    outer = _of(declared, found.of(found.outer))
    texts = outer.texts[: outer.body]
    if any(token.kind == "DIRECTIVE" for token in outer.tokens[: outer.body]) or texts[-1] != ")":
        raise NotBySize(f"the head of '{outer.name}' has an #if", "write it without")
    arguments = tuple(parameters_of(found.of(found.outer)))
    named = texts.index(outer.name)
    places = Outer(
        outer.name,
        outer.tokens[named].span,
        Span(outer.tokens[0].start, outer.tokens[outer.body - 1].end),
        outer.tokens[outer.body].end,
        arguments,
        tuple(sizes),
    )
    values = {one.name: one.value for one in constants if not one.is_macro}
    prefixes = {f"cutune_{tag(source, sets)}_{n}_": one for n, one in enumerate(sets, 1)}
    names = tuple(sorted(found.names))
    spans = tuple(Span(one.tokens[0].start, one.tokens[-1].end) for one in copied)
    return Copies(source, spans, names, places, values, prefixes)


def tag(source: Source, sets: Sequence[Mapping[str, str]]) -> str:
    """Return a part of names that no other source, and no other value sets, have."""
    key = repr([source.path, source.text, [sorted(one.items()) for one in sets]])
    return sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _of(declared: Sequence[Declaration], wanted: Declaration) -> Declaration:
    same = [one for one in declared if one.kind is wanted.kind and wanted.name in one.names]
    if len(same) != 1:
        reason = f"'{wanted.name}' is made by a macro, or written twice"
        raise NotBySize(reason, "write it once, and out")
    return same[0]


#: Options with which functions of the device have names for other sources.
_RELOCATABLE = word_set("-dc -dw --device-c --device-w -rdc=true --relocatable-device-code=true")


@dataclass(frozen=True)
class BySizeVerdict:
    """Whether a parameter may be chosen by sizes at calls of `outer`; else a note why not."""

    outer: str
    note: Diagnostic | None = None


def by_size_verdicts(compiler: UnitCompiler, program: Program) -> dict[str, BySizeVerdict]:
    """May the constants of a program be chosen by size? By their names."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = pool.map(partial(by_size_verdict, compiler, program), program.constants)
        return {one.name: its for one, its in zip(program.constants, verdicts, strict=True)}


def by_size_verdict(
    compiler: UnitCompiler, program: Program, constant: TunableConstant
) -> BySizeVerdict:
    """May a constant be chosen by size, in copies of what depends on it?"""
    try:
        found, _ = found_copies(compiler, program, [constant], {}, None)
        return BySizeVerdict(found.of(found.outer).name)
    except NotBySize as error:
        problem = error
    except CutuneError as error:
        reason = error.diagnostic.message.splitlines()[0]
        problem = NotBySize(f"it is not known what depends on it: {reason}", "let nvcc read it")
    return BySizeVerdict("", note_of(constant, problem))


def note_of(constant: TunableConstant, problem: NotBySize) -> Diagnostic:
    place = constant.source, constant.pragma
    return Diagnostic.at(
        Code.ONE_VALUE, *place, name=constant.name, reason=problem.reason, remedy=problem.remedy
    )


def found_copies(
    compiler: UnitCompiler,
    program: Program,
    constants: Sequence[TunableConstant],
    fixed: Texts,
    sets: Sequence[Texts] | None,
) -> tuple[Dependent, Copies]:
    """Return what is copied for value sets, and where it stands; without sets no copy is written.

    Raises NotBySize for parameters with one value for all sizes, CutuneError for nvcc.
    """
    sizes = tuple(dict.fromkeys(name for one in constants for name in one.data))
    if any(one.source.path != program.source.path for one in constants):
        raise NotBySize("it stands in a header", "define it in the source itself")
    found: list[Dependent] = []

    def check_code() -> None:
        seen = versions(compiler, program, constants, fixed, sets)
        found.append(dependent(seen, [one.name for one in constants]))
        check(found[0], sizes)

    NotBySize.check_all([partial(_check_pragmas, compiler, constants), check_code])
    return found[0], copies_of(program.source, found[0], constants, sizes, sets or [])


def _check_pragmas(compiler: UnitCompiler, constants: Sequence[TunableConstant]) -> None:
    if not constants or any(not one.data for one in constants):
        raise NotBySize("its pragma names no size", "write data(n) behind tune(…)")
    if _RELOCATABLE & {*compiler.toolchain.flags}:
        raise NotBySize("device code is linked with that of others", "compile it without -rdc=true")
