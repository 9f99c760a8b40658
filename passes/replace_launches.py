"""Let every launch that has a selection routine choose its thread block at run time.

Before:

    gemm<<<grid, block>>>(n, A);

After:

    … the emitted routines, their table, and `cutune_launch`: the file needs no header of cutune …
    #line 1 "gemm.cu"
    for (cutune_launch cutune_7(7, grid, block, 0, 0, n, A); cutune_7.next();)
        gemm<<<cutune_7.grid, cutune_7.block, cutune_7.smem, cutune_7.stream>>>(n, A);

(on one line, where the launch was).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutune.pipeline import Pass, TranslationUnit
from cutune.rewrite import site_table, with_launch_edits
from cutune.toolchain import INCLUDE_DIRECTORY


@dataclass(frozen=True)
class ReplaceLaunches(Pass):
    """The launch edit with the tuned program's `cutune_launch`."""

    name: ClassVar[str] = "replace-launches"

    #: Emitted C++: the selection routines, written against cutune_launch.h.
    selection: str = ""
    #: Site and the name of its routine; a site without one stays as it was, byte for byte.
    routines: tuple[tuple[int, str], ...] = ()

    def run(self, unit: TranslationUnit) -> TranslationUnit:
        """Edit the launches that have a routine."""
        program = unit.program
        routines = dict(self.routines)
        sites = tuple(site for site in program.tunable_launches if site.id in routines)
        if not sites:
            return unit
        text = "".join(
            (
                _header("cutune_launch.h"),
                _header("cutune_operators.h"),
                _header("cutune_choice.h"),
                _header("cutune_refine.h"),
                self.selection,
                site_table(program, sites, routines),
                _header("cutune_tuned.h"),
            )
        )
        return with_launch_edits(unit, self.name, sites, text)


def _header(name: str) -> str:
    return (INCLUDE_DIRECTORY / name).read_text(encoding="ascii")
