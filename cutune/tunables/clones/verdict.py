"""May a program hold several values of a parameter? Takes a program, gives verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.frontend.program import Program
from cutune.frontend.tunable import TunableConstant
from cutune.proof.unit_compiler import UnitCompiler
from cutune.rewrite.copied import Copies
from cutune.tunables.clones.allowed import check
from cutune.tunables.clones.depending import Dependent, OneValue, dependent
from cutune.tunables.clones.places import copies_of
from cutune.tunables.clones.versions import Texts, versions

#: Options with which functions of the device have names for other sources.
_RELOCATABLE = frozenset(
    {"-dc", "-dw", "--device-c", "--device-w", "-rdc=true", "--relocatable-device-code=true"}
)


@dataclass(frozen=True)
class Verdict:
    """Whether a parameter may be chosen by size.

    Attributes:
        outer: the function at each call of which it is; "" where it has one value.
        sizes: what it is chosen by.
        note: why it has one value.
    """

    outer: str
    sizes: tuple[str, ...] = ()
    note: Diagnostic | None = None


def verdicts(compiler: UnitCompiler, program: Program) -> dict[str, Verdict]:
    """The verdict on each macro and constant of a program."""
    return {one.name: _verdict(compiler, program, one) for one in program.constants}


def _verdict(compiler: UnitCompiler, program: Program, constant: TunableConstant) -> Verdict:
    try:
        found, _ = found_copies(compiler, program, [constant], {}, None)
    except OneValue as problem:
        return Verdict("", (), note_of(constant, problem))
    except CutuneError as error:
        reason = error.diagnostic.message.splitlines()[0]
        unknown = OneValue(f"it is not known what depends on it: {reason}", "let nvcc read it")
        return Verdict("", (), note_of(constant, unknown))
    return Verdict(found.of(found.outer).name, constant.data)


def note_of(constant: TunableConstant, problem: OneValue) -> Diagnostic:
    """Why a parameter has one value, at its pragma."""
    place = constant.source, constant.pragma
    return Diagnostic.at(
        Code.ONE_VALUE, *place, name=constant.name, reason=problem.reason, remedy=problem.remedy
    )


def found_copies(
    compiler: UnitCompiler,
    program: Program,
    constants: Sequence[TunableConstant],
    fixed: Texts,
    sets: Iterable[Texts] | None,
) -> tuple[Dependent, Copies]:
    """What is written again for value sets of some parameters, and where it stands.

    Args:
        fixed: values of other parameters. sets: None: no copy is written.

    Raises:
        OneValue: they must have one value for all sizes. CutuneError: nvcc does not read it.
    """
    sizes = tuple(dict.fromkeys(name for one in constants for name in one.data))
    if not sizes or any(not one.data for one in constants):
        raise OneValue("its pragma names no size", "write data(n) behind tune(…)")
    if any(one.source.path != program.source.path for one in constants):
        raise OneValue("it stands in a header", "define it in the source itself")
    if _RELOCATABLE & {*compiler.toolchain.flags}:
        raise OneValue("device code is linked with that of others", "compile it without -rdc=true")
    known: list[Mapping[str, str]] | None = None if sets is None else [dict(one) for one in sets]
    seen = versions(compiler, program, constants, fixed, known)
    found = dependent(seen, [one.name for one in constants])
    check(found, sizes)
    return found, copies_of(program.source, found, constants, sizes, known or [])
