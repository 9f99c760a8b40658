"""Let host tunables be chosen at run time by emitted classifiers; give constants other values.

Before:

    int m = 32;

After:

    … the emitted classifiers: the file needs no header of cutune …
    #line 1 "solver.cu"
    int m = cutune_tuned_m((32), (long long)(N), (long long)(R));

`#define WPT 1` becomes `#define WPT 4`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from cutune.source.program import HostTunable
from cutune.source.rewrite.edits import data_arguments, with_tunable_edits, with_value
from cutune.source.rewrite.pipeline import Pass, TranslationUnit


@dataclass(frozen=True)
class ReplaceTunables(Pass):
    """Tunables without a routine, and constants without a value, stay as they are."""

    name: ClassVar[str] = "replace-tunables"

    #: Emitted C++.
    selection: str = ""
    #: Tunable → the name of its routine.
    routines: Mapping[str, str] = field(default_factory=dict)
    #: Macro or constant → the text of its value.
    values: Mapping[str, str] = field(default_factory=dict)

    def run(self, unit: TranslationUnit) -> TranslationUnit:
        for constant in unit.program.constants:
            if constant.name in self.values:
                unit = with_value(unit, constant, self.values[constant.name])
        tunables = [t for t in unit.program.tunables if t.name in self.routines]
        if not tunables:
            return unit
        unit = unit.with_prelude(self.selection)
        for tunable in tunables:
            unit = with_tunable_edits(unit, tunable, self._call)
        return unit

    def _call(self, tunable: HostTunable) -> tuple[str, str]:
        arguments = ", ".join(data_arguments(tunable))
        return f"{self.routines[tunable.name]}((", f"), {arguments})"
