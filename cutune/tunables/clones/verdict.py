"""Decides whether a program may hold several values of a parameter. Takes it, gives verdicts.

Also gives the `Copies` for value sets: the places in the source of all that is copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.frontend.program import Program
from cutune.frontend.tunable import TunableConstant
from cutune.proof.unit_compiler import UnitCompiler
from cutune.rewrite.copied import Copies
from cutune.tunables.clones.allowed import check
from cutune.tunables.clones.depending import Dependent, NotBySize, dependent
from cutune.tunables.clones.places import copies_of
from cutune.tunables.clones.versions import Texts, versions

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
