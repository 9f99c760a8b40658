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


def linked(sources: Sequence[ReadSource]) -> list[Program]:
    """A `Program` for each of linked sources, with the kernels that others lend it."""
    found = []
    for source in sources:
        others = [other for other in sources if other is not source]
        borrowed = list(_borrowed(source, others))
        found.append(source.program(borrowed) if borrowed else source.alone)
    used = {kernel.elsewhere for program in found for kernel in program.borrowed}
    return [replace(program, is_lent=program.code in used) for program in found]


def _borrowed(source: ReadSource, others: Sequence[ReadSource]) -> Iterator[Kernel]:
    sites = source.alone.launches if source.compilation is not None else ()
    for name in sorted({s.kernel for s in sites if s.code is Code.MISSING_KERNEL}):
        defining = [
            o for o in others if any(plain_name(k.name) == name for k in o.alone.definitions)
        ]
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
