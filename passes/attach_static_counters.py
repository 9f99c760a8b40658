"""Attach what the compiler says about each kernel: registers, shared memory, spills.

Before: a unit without compiled kernels. After: one `CompiledKernel` per kernel that was compiled.
The text stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.rewrite.pipeline import CompiledKernel, Pass, TranslationUnit
from cutune.toolchain.nvcc import Nvcc, find_nvcc
from cutune.toolchain.ptxas import kernel_name


@dataclass(frozen=True)
class AttachStaticCounters(Pass):
    """Asks nvcc; where that fails, a warning says so and none are attached."""

    name: ClassVar[str] = "attach-static-counters"

    nvcc: Nvcc | None = None
    #: The user's own compile flags.
    flags: tuple[str, ...] = ()
    architecture: str = "sm_90"

    def run(self, unit: TranslationUnit) -> TranslationUnit:
        """Compile the file on disk to a cubin and read what comes out."""
        path = unit.program.source.path
        try:
            nvcc = self.nvcc or find_nvcc()
            counters = nvcc.static_counters(path, self.flags, self.architecture)
        except CutuneError as error:
            reason = error.diagnostic.message
            warning = Diagnostic.at(Code.NO_STATIC_COUNTERS, unit.program.source, reason=reason)
            return unit.with_diagnostics([warning])
        program = unit.program
        known = {kernel.name for kernel in (*program.kernels, *program.unlaunched)}
        return unit.with_compiled_kernels(
            CompiledKernel(kernel_name(symbol), symbol, value)
            for symbol, value in counters.items()
            if kernel_name(symbol) in known
        )
