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

from cutune.diagnostics import Code, Diagnostic
from cutune.pipeline import Pass, TranslationUnit
from cutune.rewrite import hiding_macro, launch_edits, prelude_edit, site_table


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
        if hidden := hiding_macro(program.source):
            warnings = (
                Diagnostic.at(Code.HIDDEN_MEMBER, program.source, site.span, name=hidden)
                for site in sites
            )
            return unit.with_diagnostics(warnings)
        text = self.before_table + site_table(program, sites) + self.after_table
        edits = [edit for site in sites for edit in launch_edits(program.source, site)]
        return unit.with_edits(self.name, [prelude_edit(program.source, text), *edits])
