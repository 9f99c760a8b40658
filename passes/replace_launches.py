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
from cutune.rewrite import reads_members, site_table, with_launch_edits
from cutune.toolchain import INCLUDE_DIRECTORY

#: nvcc does not optimise the host's code unless it is asked to; a decision took four times as long.
_OPTIMIZED = """\
#if defined(__GNUC__) && !defined(__clang__) && !defined(__OPTIMIZE__) && \\
    defined(__NVCC_DIAG_PRAGMA_SUPPORT__)
#define CUTUNE_OPTIMIZED
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#pragma GCC push_options
#pragma GCC optimize("O2")
#pragma nv_diagnostic pop
#endif"""
_AS_ASKED = """\
#ifdef CUTUNE_OPTIMIZED
#undef CUTUNE_OPTIMIZED
#pragma GCC pop_options
#endif
"""


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
                _header("cutune_member.h") if reads_members(program, sites) else "",
                _header("cutune_operators.h"),
                _header("cutune_choice.h"),
                _header("cutune_refine.h"),
                self.selection,
                site_table(program, sites, routines),
                _header("cutune_tuned.h"),
            )
        )
        return with_launch_edits(unit, self.name, sites, optimized(text))


def optimized(text: str) -> str:
    """The same, compiled with optimisation in any build, but for what it includes."""
    lines = text.splitlines()
    included = list(dict.fromkeys(line for line in lines if line.startswith("#include <")))
    others = (line for line in lines if not line.startswith("#include <"))
    return "\n".join([*included, _OPTIMIZED, *others, _AS_ASKED])


def _header(name: str) -> str:
    return (INCLUDE_DIRECTORY / name).read_text(encoding="ascii")
