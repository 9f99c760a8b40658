"""Registers and shared memory of the kernels of a program, by the compiler.

Takes programs, gives `Resources`: static counters by mangled name; a template has one entry per
instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from cutune.analysis.session import Session
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.temporary import temporary_folder
from cutune.device.profile import DeviceProfile
from cutune.frontend.program import Program
from cutune.rewrite.launch_edit import variants_at
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY
from cutune.toolchain.ptxas import StaticCounters

Resources = Mapping[str, StaticCounters]


def resources_of(session: Session, program: Program, device: DeviceProfile) -> Resources:
    """The resources of a source's kernels, with their variants, for one device.

    Raises:
        CutuneError: CT701 when nvcc cannot.
    """
    path = program.source.path
    if not any(variants_at(program, site) for site in program.tunable_launches):
        return session.static_counters(path, device.architecture)
    known = session.known_code.with_hooks(program, session.compile_flags(path))
    number = session.nvcc.architecture(device.architecture)
    ptx = known.ptx(number) if known is not None else None
    # Its launches name all variants, so that those of templates are instantiated, too.
    with temporary_folder() as folder:
        source, flags = session.write_instrumented(program, Path(folder))
        flags = [*flags, f"-I{INCLUDE_DIRECTORY}"]
        return session.nvcc.static_counters(source, flags, device.architecture, ptx)


def or_none(session: Session, program: Program, ask: Callable[[], Resources]) -> Resources:
    """The resources that `ask` gives; none, with a warning, where the compiler fails."""
    try:
        return ask()
    except CutuneError as error:
        reason = error.diagnostic.message
        session.warn(Diagnostic.at(Code.NO_STATIC_COUNTERS, program.source, reason=reason))
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
