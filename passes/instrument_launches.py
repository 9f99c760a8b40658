"""Put every tunable launch under the control of the probe, which records or sweeps it.

Before:

    gemm<<<grid, block>>>(n, A);

After:

    #include "cutune_launch.h"
    static const cutune_site cutune_sites[] = { … };
    #include "cutune_probe.h"
    #include "cutune_call.h"
    #line 1 "gemm.cu"
    cutune_launch(7, grid, block) ? (void)0 : cutune_call(gemm)(n, A);
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutune.source.rewrite.launch_edit import with_launch_edits
from cutune.source.rewrite.pipeline import Pass, TranslationUnit
from cutune.source.rewrite.site_table import lent_code, needed_headers, site_table


@dataclass(frozen=True)
class InstrumentLaunches(Pass):
    """The launch edit with the probe behind it."""

    name: ClassVar[str] = "instrument-launches"

    #: What makes the types of the site table known, and what makes the launches.
    before_table: str = '#include "cutune_launch.h"\n'
    after_table: str = "".join(
        f'#include "{name}"\n' for name in ("cutune_probe.h", "cutune_deduced.h", "cutune_call.h")
    )

    def run(self, unit: TranslationUnit) -> TranslationUnit:
        """Edit all tunable launches; a file without one stays as it is."""
        program = unit.program
        unit = unit.with_prelude(lent_code(program))
        sites = program.tunable_launches
        if not sites:
            return unit
        headers = (f'#include "{header}"\n' for header in needed_headers(program, sites))
        table = site_table(program, sites)
        text = "".join((self.before_table, *headers, table, self.after_table))
        return with_launch_edits(unit, self.name, sites, text)
