"""Kernels that a source launches and another one defines. Takes sources, gives a `Program` each.

A launch whose kernel is only declared in its own translation unit is judged by the proof in the
unit that defines the kernel. The compiler says which entry the launch calls, and which sources
define that name for others to link with: exactly one must. The proof holds for that code only; the
linker tells the tuned program whether it is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.proof.analysis.read_source import ReadSource
from cutune.proof.variants.registry import without_variants
from cutune.source.program import Kernel, Program
from cutune.toolchain.kernel_names import base_name, is_instance, plain_name

_HAS = "has one of that name, which {is_other}; launch it where it is defined"
_IS_INSTANCE = "is of a template, whose instances are not launched from other sources"
_IS_COPIED = "is launched as a copy there"
_IS_OTHER = "is static, takes other parameters, or stands in another namespace"
_HAVE = "have one of that name; define it once"


def linked(sources: Sequence[ReadSource]) -> list[Program]:
    """A `Program` for each of linked sources, with the kernels that others lend it."""
    found = []
    for source in sources:
        others = [other for other in sources if other is not source]
        borrowed = list(_borrowed(source, others))
        program = source.program(borrowed) if borrowed else source.alone
        found.append(_with_places(program, others))
    used = {kernel.elsewhere for program in found for kernel in program.borrowed}
    return [replace(program, is_lent=program.code in used) for program in found]


def _with_places(program: Program, others: Sequence[ReadSource]) -> Program:
    """The program whose missing kernels have the sources in the message that have their name."""
    places = dict[str, str]()
    for site in program.launches:
        named = _defining(site.kernel, others) if site.code is Code.MISSING_KERNEL else ()
        if named:
            missing = Code.MISSING_KERNEL.template.format(name=site.kernel)
            paths = " and ".join(f"'{one.alone.source.path}'" for one in named)
            has = _HAS.format(is_other=_difference(site.kernel, named[0]))
            places[missing] = (
                f"{missing.partition(';')[0]}; {paths} {has if len(named) == 1 else _HAVE}"
            )
    if not places:
        return program
    return replace(
        program,
        launches=tuple(
            replace(site, reason=places.get(site.reason or "", site.reason))
            for site in program.launches
        ),
        diagnostics=tuple(
            replace(one, message=places.get(one.message, one.message))
            for one in program.diagnostics
        ),
    )


def _defining(name: str, others: Sequence[ReadSource]) -> list[ReadSource]:
    return [o for o in others if any(plain_name(k.name) == name for k in o.alone.definitions)]


def _difference(name: str, defining: ReadSource) -> str:
    """Why a kernel of that name may not be the one that another source launches."""
    kernels = [one for one in defining.alone.definitions if plain_name(one.name) == name]
    entries = [entry for kernel in kernels for entry in kernel.entries]
    if entries and all(map(is_instance, entries)):
        return _IS_INSTANCE
    return _IS_COPIED if any(one.copy is not None for one in kernels) else _IS_OTHER


def _borrowed(source: ReadSource, others: Sequence[ReadSource]) -> Iterator[Kernel]:
    sites = source.alone.launches if source.compilation is not None else ()
    for name in sorted({s.kernel for s in sites if s.code is Code.MISSING_KERNEL}):
        defining = _defining(name, others)
        if not defining:
            continue
        # Without the compiler's answer launches stay as they are.
        with suppress(CutuneError):
            declared = {entry for launch in source.launches for entry in launch.declared}
            entries = [entry for entry in declared if base_name(entry) == name]
            if (kernel := _defined(name, entries, defining)) is not None:
                yield kernel


def _defined(name: str, entries: Sequence[str], defining: Sequence[ReadSource]) -> Kernel | None:
    """The one kernel of that name and entry that others define; None where it is not certain."""
    if len(entries) != 1:
        return None
    (entry,) = entries
    exporting = [other for other in defining if entry in other.exported]
    if len(exporting) != 1 or is_instance(entry):
        return None
    program = exporting[0].alone
    kernels = [kernel for kernel in program.definitions if entry in kernel.entries]
    if len(kernels) != 1 or kernels[0].entries != (entry,) or kernels[0].layouts is None:
        return None
    if kernels[0].copy is not None:
        # The copy is nowhere but there.
        return None
    # A variant is a name of the unit that defines it alone.
    kernel = without_variants(kernels[0], Code.VARIANT_ELSEWHERE)
    kernel = replace(kernel, name=name, elsewhere=program.code)
    return kernel if kernel.proven_for else None
