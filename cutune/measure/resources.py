"""Registers and shared memory of the kernels of a program, by the compiler.

Takes programs, gives `Resources`: static counters by mangled name; a template has one entry per
instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn
from cutune.core.temporary import temporary_folder
from cutune.emulator.program_builds import write_instrumented
from cutune.proof.compiled import KnownCode
from cutune.source.program import Program
from cutune.source.rewrite.edits import variants_at
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY
from cutune.toolchain.ptxas import StaticCounters
from cutune.toolchain.toolchain import Toolchain

Resources = Mapping[str, StaticCounters]


def resources_of(
    toolchain: Toolchain, code: KnownCode, program: Program, device: DeviceProfile
) -> Resources:
    """The resources of a source's kernels, with their variants, for one device. Raises CT701."""
    path = program.source.path
    if not any(variants_at(program, site) for site in program.tunable_launches):
        return static_counters(toolchain, code, path, device.architecture)
    known = code.with_hooks(program, toolchain.compile_flags(path))
    number = toolchain.nvcc.architecture(device.architecture)
    ptx = known.ptx(number) if known is not None else None
    # Its launches name all variants, so that those of templates are instantiated, too.
    with temporary_folder() as folder:
        source, flags = write_instrumented(toolchain, program, Path(folder))
        flags = [*flags, f"-I{INCLUDE_DIRECTORY}"]
        return toolchain.nvcc.static_counters(source, flags, device.architecture, ptx)


def static_counters(
    toolchain: Toolchain, code: KnownCode, path: str, architecture: str
) -> dict[str, StaticCounters]:
    """Registers and shared memory of a source's kernels, by mangled name. Raises CT701."""
    flags = toolchain.compile_flags(path)
    compiled = code.original(path, flags)
    number = toolchain.nvcc.architecture(architecture)
    ptx = compiled.ptx(number) if compiled is not None else None
    return toolchain.nvcc.static_counters(path, flags, architecture, ptx)


def or_none(warn: Warn, program: Program, ask: Callable[[], Resources]) -> Resources:
    """The resources that `ask` gives; none, with a warning, where the compiler fails."""
    try:
        return ask()
    except CutuneError as error:
        reason = error.diagnostic.message
        warn(Diagnostic.at(Code.NO_STATIC_COUNTERS, program.source, reason=reason))
        return {}


def with_lent(
    program: Program, own: Resources, lending: Iterable[tuple[Program, Resources]]
) -> Resources:
    """The resources of a source's own kernels and of those that other sources lend it."""
    joined, others = dict(own), list(lending)
    for kernel in program.borrowed:
        for other, resources in others:
            if other.code == kernel.elsewhere:
                joined |= {name: resources[name] for name in kernel.entries if name in resources}
    return joined
