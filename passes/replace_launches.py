"""Let every launch that has a selection routine choose its thread block at run time.

Before:

    gemm<<<grid, block>>>(n, A);

After:

    … the emitted routines, their table, and `cutune_launch`: the file needs no header of cutune …
    #line 1 "gemm.cu"
    cutune_launch(7, grid, block) ? (void)0 : cutune_call(gemm)(n, A);
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutune.rewrite.launch_edit import with_launch_edits
from cutune.rewrite.pipeline import Pass, TranslationUnit
from cutune.rewrite.site_table import lent_code, needed_headers, site_table
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY

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
    """The launch edit with what the tuned program has behind it."""

    name: ClassVar[str] = "replace-launches"

    #: Emitted C++: the selection routines, written against cutune_launch.h.
    selection: str = ""
    #: Site and the name of its routine; a site without one stays as it was, byte for byte.
    routines: tuple[tuple[int, str], ...] = ()
    #: Is a decision kept for launches of the same sizes?
    remembers: bool = True

    def run(self, unit: TranslationUnit) -> TranslationUnit:
        """Edit the launches that have a routine."""
        program = unit.program
        unit = unit.with_prelude(lent_code(program))
        routines = dict(self.routines)
        sites = tuple(site for site in program.tunable_launches if site.id in routines)
        if not sites:
            return unit
        parts = [
            *map(_header, ("cutune_launch.h", *needed_headers(program, sites))),
            *map(_header, ("cutune_operators.h", "cutune_choice.h", "cutune_refine.h")),
            self.selection,
            site_table(program, sites, routines),
            f"enum {{ cutune_remembers = {int(self.remembers)} }};\n",
            *map(_header, ("cutune_tuned.h", "cutune_call.h")),
        ]
        text = optimized("".join(parts))
        return with_launch_edits(unit, self.name, sites, text)


def optimized(text: str) -> str:
    """The same, compiled with optimisation in any build, but for what it includes."""
    lines = text.splitlines()
    included = list(dict.fromkeys(line for line in lines if line.startswith("#include <")))
    others = (line for line in lines if not line.startswith("#include <"))
    return "\n".join([*included, _OPTIMIZED, *others, _AS_ASKED])


def _header(name: str) -> str:
    return (INCLUDE_DIRECTORY / name).read_text(encoding="ascii")
