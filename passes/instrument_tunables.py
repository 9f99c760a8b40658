"""Let host tunables be set from outside, and time the regions.

Before:

    #pragma cutune tune(m: 4, 8) data(N)
        int m = 32;
    #pragma cutune region begin
        solve(N, m);
    #pragma cutune region end

After:

    #include "cutune_tunables.h"
    #line 1 "solver.cu"
    #pragma cutune tune(m: 4, 8) data(N)
        int m = cutune_tunable("m", (32), {{"N", (long long)(N)}});
    cutune_region_begin(1);
        solve(N, m);
    cutune_region_end(1);
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutune.frontend.tunable import HostTunable
from cutune.rewrite.pipeline import Pass, TranslationUnit
from cutune.rewrite.prelude import c_string
from cutune.rewrite.tunable_edit import (
    data_arguments,
    region_edits,
    tunable_edits,
    with_file_edits,
)


@dataclass(frozen=True)
class InstrumentTunables(Pass):
    """A program without tunables stays as it is."""

    name: ClassVar[str] = "instrument-tunables"

    def run(self, unit: TranslationUnit) -> TranslationUnit:
        """Edit all tunables and regions."""
        program = unit.program
        if not program.tunables:
            return unit
        unit = unit.with_prelude('#include "cutune_tunables.h"\n')
        for tunable in program.tunables:
            unit = with_file_edits(unit, self.name, tunable_edits(tunable, _call), tunable.source)
        for region in program.regions:
            unit = with_file_edits(unit, self.name, region_edits(region), region.source)
        return unit


def _call(tunable: HostTunable) -> tuple[str, str]:
    names = (*tunable.data, *tunable.given)
    values = data_arguments(tunable)
    pairs = (f"{{{c_string(n)}, {v}}}" for n, v in zip(names, values, strict=True))
    return f"cutune_tunable({c_string(tunable.name)}, (", f"), {{{', '.join(pairs)}}})"
