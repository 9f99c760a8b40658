"""Put every tunable launch under the control of the probe, which records or sweeps it.

Before:

    gemm<<<grid, block>>>(n, A);

After:

    #include "cutune_launch.h"
    static const cutune_site cutune_sites[] = { … };
    #include "cutune_probe.h"
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


@dataclass(frozen=True)
class InstrumentLaunches(Pass):
    """The launch edit with the probe's `cutune_launch`."""

    name: ClassVar[str] = "instrument-launches"

    #: What makes the types of the site table known, and what defines `cutune_launch`.
    before_table: str = '#include "cutune_launch.h"\n'
    after_table: str = '#include "cutune_probe.h"\n'

    def run(self, unit: TranslationUnit) -> TranslationUnit:
        """Edit all tunable launches; a file without one stays as it is."""
        program = unit.program
        sites = program.tunable_launches
        if not sites:
            return unit
        text = self.before_table + site_table(program, sites) + self.after_table
        return with_launch_edits(unit, self.name, sites, text)
