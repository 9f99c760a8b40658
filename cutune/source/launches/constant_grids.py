"""Launches with a constant number of blocks. Takes a launch and its kernel, gives the number."""

from __future__ import annotations

from math import prod

from cutune.source.host_formula import constant
from cutune.source.program import Kernel, LaunchSite


def constant_blocks(site: LaunchSite, kernel: Kernel | None) -> int:
    """Return the blocks of a kernel that shares its work among any number of them.

    0 where it is not known to, where another number is chosen at the launch, or where the text does
    not give one number.
    """
    if site.resolved is None or kernel is None or "gridDim" not in kernel.source[kernel.span]:
        return 0
    if any(dimension.grid_free is not None for dimension in kernel.dimensions):
        return 0
    sizes = [constant(size) for size in site.resolved.grid]
    return prod(0 if size is None else int(size) for size in sizes)
