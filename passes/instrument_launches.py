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

from cutune.source.rewrite.edits import with_launch_edits
from cutune.source.rewrite.pipeline import Pass, TranslationUnit
from cutune.source.rewrite.site_table import (
    launching_headers,
    lent_code,
    needed_headers,
    site_table,
)


@dataclass(frozen=True)
class InstrumentLaunches(Pass):
    """The launch edit with the probe behind it."""

    name: ClassVar[str] = "instrument-launches"

    def run(self, unit: TranslationUnit) -> TranslationUnit:
        program = unit.program
        unit = unit.with_prelude(lent_code(program))
        sites = program.tunable_launches
        if not sites:
            return unit
        types = _included("cutune_launch.h", *needed_headers(program, sites))
        launching = _included("cutune_probe.h", *launching_headers(sites))
        # The probe that is linked is made for tables with all fields.
        text = f"#define CUTUNE_TILES\n{types}{site_table(program, sites)}{launching}"
        return with_launch_edits(unit, sites, text)


def _included(*headers: str) -> str:
    return "".join(f'#include "{header}"\n' for header in headers)
