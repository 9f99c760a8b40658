"""Decides whether a program may hold several values of a parameter. Takes it, gives verdicts.

Also gives the `Copies` for value sets: the places in the source of all that is copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.source import Source, Span
from cutune.proof.unit_compiler import UnitCompiler
from cutune.search.clones.copy_rules import check, parameters_of
from cutune.search.clones.declarations import Declaration, NotSplit, written
from cutune.search.clones.dependence import Dependent, NotBySize, Texts, dependent, versions
from cutune.source.program import Program
from cutune.source.rewrite.value_set_copies import Copies, Outer
from cutune.source.tunable import TunableConstant


def copies_of(
    source: Source,
    found: Dependent,
    constants: Sequence[TunableConstant],
    sizes: Sequence[str],
    sets: Sequence[Mapping[str, str]],
) -> Copies:
    """Return the places of what depends on some parameters, for value sets of them.

    Raises:
        NotBySize: the text of a declaration is not found in the source as it is written there.
    """
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
    arguments = tuple(one.name for one in parameters_of(found.of(found.outer)))
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
    return Copies(source, tuple(map(_span, copied)), names, places, values, prefixes)


def tag(source: Source, sets: Sequence[Mapping[str, str]]) -> str:
    """Return a part of names that no other source, and no other value sets, have."""
    key = repr([source.path, source.text, [sorted(one.items()) for one in sets]])
    return sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _of(declared: Sequence[Declaration], wanted: Declaration) -> Declaration:
    """Return the declaration of a name, as it is written."""
    same = [one for one in declared if one.kind is wanted.kind and wanted.name in one.names]
    if len(same) != 1:
        reason = f"'{wanted.name}' is made by a macro, or written twice"
        raise NotBySize(reason, "write it once, and out")
    return same[0]


def _span(declaration: Declaration) -> Span:
    return Span(declaration.tokens[0].start, declaration.tokens[-1].end)


#: Options with which functions of the device have names for other sources.
_RELOCATABLE = frozenset(
    {"-dc", "-dw", "--device-c", "--device-w", "-rdc=true", "--relocatable-device-code=true"}
)


@dataclass(frozen=True)
class BySizeVerdict:
    """Whether a parameter may be chosen by size.

    Attributes:
        outer: the function at each call of which it is; "" where it has one value.
        sizes: the names of the sizes by which it is chosen.
        note: why it has one value.
    """

    outer: str
    sizes: tuple[str, ...] = ()
    note: Diagnostic | None = None


def by_size_verdicts(compiler: UnitCompiler, program: Program) -> dict[str, BySizeVerdict]:
    """Return the verdict on each macro and constant of a program."""
    return {one.name: _by_size_verdict(compiler, program, one) for one in program.constants}


def _by_size_verdict(
    compiler: UnitCompiler, program: Program, constant: TunableConstant
) -> BySizeVerdict:
    try:
        found, _ = found_copies(compiler, program, [constant], {}, None)
    except NotBySize as problem:
        return BySizeVerdict("", (), note_of(constant, problem))
    except CutuneError as error:
        reason = error.diagnostic.message.splitlines()[0]
        unknown = NotBySize(f"it is not known what depends on it: {reason}", "let nvcc read it")
        return BySizeVerdict("", (), note_of(constant, unknown))
    return BySizeVerdict(found.of(found.outer).name, constant.data)


def note_of(constant: TunableConstant, problem: NotBySize) -> Diagnostic:
    """Return why a parameter has one value, at its pragma."""
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
    """Return what is copied for value sets of some parameters, and where it stands.

    Args:
        fixed: values of other parameters. sets: None: no copy is written.

    Raises:
        NotBySize: they must have one value for all sizes. CutuneError: nvcc does not read it.
    """
    sizes = tuple(dict.fromkeys(name for one in constants for name in one.data))
    if not sizes or any(not one.data for one in constants):
        raise NotBySize("its pragma names no size", "write data(n) behind tune(…)")
    if any(one.source.path != program.source.path for one in constants):
        raise NotBySize("it stands in a header", "define it in the source itself")
    if _RELOCATABLE & {*compiler.toolchain.flags}:
        raise NotBySize("device code is linked with that of others", "compile it without -rdc=true")
    seen = versions(compiler, program, constants, fixed, sets)
    found = dependent(seen, [one.name for one in constants])
    check(found, sizes)
    return found, copies_of(program.source, found, constants, sizes, sets or [])
