"""Where a launch and its kernel do not fit. Takes a launch site, gives warnings.

A dimension that the kernel does not index must be 1 in the launch: further threads or blocks there
have the same ids, do the same work and race. Only certain cases are reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.frontend.host_formula import constant
from cutune.frontend.program import DIMENSIONS, Kernel, LaunchSite


def mismatches(kernel: Kernel, site: LaunchSite) -> Iterator[Diagnostic]:
    """Warnings: blocks or grids wider than 1 in a dimension that the kernel does not index."""
    if site.resolved is None:
        return
    resolved = site.resolved
    for axis, (name, dimension) in enumerate(zip(DIMENSIONS, kernel.dimensions, strict=True)):
        if dimension.indexed:
            continue
        # The grid stands before the block.
        blocks, threads = constant(resolved.grid[axis]), constant(resolved.block[axis])
        for number, code, count in (
            (1, Code.REDUNDANT_THREADS, threads),
            (0, Code.REDUNDANT_BLOCKS, blocks),
        ):
            if count is not None and count > 1:
                yield Diagnostic.at(
                    code,
                    site.source,
                    site.configuration_spans[number],
                    kernel=kernel.name,
                    d=name,
                    size=count,
                )
