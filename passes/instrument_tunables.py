"""Let parameters be set from outside, and time the regions.

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

A region that may repeat (`region begin repeat`) becomes

    cutune_again_1:; cutune_region_begin(1);
        solve(N, m);
    cutune_region_end(1); { const int cutune_next = cutune_region_again(); if (cutune_next > 0) {
    cutune_give_next("m", m); } if (cutune_next > 1) goto cutune_again_1; }

in two lines: the text has no lines that the source has not.

`#define WPT 1` becomes `#define WPT CUTUNE_VALUE_WPT`, and `-DCUTUNE_VALUE_WPT=4` gives a value; or
it becomes `#define WPT 4`, where the values are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from cutune.source.program import HostTunable, TunableConstant
from cutune.source.rewrite.c_text import c_string
from cutune.source.rewrite.edits import (
    VALUE_PREFIX,
    data_arguments,
    region_edits,
    settable,
    with_tunable_edits,
    with_value,
)
from cutune.source.rewrite.pipeline import Pass, TranslationUnit


@dataclass(frozen=True)
class InstrumentTunables(Pass):
    """A program without parameters stays as it is."""

    name: ClassVar[str] = "instrument-tunables"

    #: Are regions timed where the program itself has no parameters, too?
    with_regions: bool = False
    #: Macro or constant → the text of its value; None: the command line gives it.
    values: Mapping[str, str] | None = None
    #: What is included.
    header: str = "cutune_tunables.h"

    def run(self, unit: TranslationUnit) -> TranslationUnit:
        program = unit.program
        if not (program.tunables or program.constants or self.with_regions):
            return unit
        given = settable(program.constants) if self.values is None else ""
        unit = unit.with_prelude(f'#include "{self.header}"\n{given}')
        for tunable in program.tunables:
            unit = with_tunable_edits(unit, tunable, _call)
        for constant in program.constants:
            unit = with_value(unit, constant, self._text(constant))
        for region in program.regions:
            unit = unit.with_numbered_edits(region_edits(region), region.source)
        return unit

    def _text(self, constant: TunableConstant) -> str:
        if self.values is None:
            return VALUE_PREFIX + constant.name
        return self.values.get(constant.name, constant.own_text)


def _call(tunable: HostTunable) -> tuple[str, str]:
    names = (*tunable.data, *tunable.given)
    values = data_arguments(tunable)
    pairs = (f"{{{c_string(n)}, {v}}}" for n, v in zip(names, values, strict=True))
    return f"cutune_tunable({c_string(tunable.name)}, (", f"), {{{', '.join(pairs)}}})"
