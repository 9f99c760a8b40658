"""Let an outermost function choose among value sets of compile-time parameters, by sizes.

Before:

    #define WPT 1
    __global__ void add(int n, float *a) { … WPT … }
    void run(int n, float *a) { add<<<n / WPT / 256, 256>>>(n, a); }

After:

    … the emitted classifier, `cutune_set_5f0c` …
    #define WPT 1
    __global__ void add(int n, float *a) { … WPT … }
    #pragma push_macro("WPT")
    #undef WPT
    #define WPT 4
    … `add` and `run` become `cutune_5f0c_1_add` and `cutune_5f0c_1_run` …
    __global__ void add(int n, float *a) { … WPT … }
    #pragma pop_macro("WPT")
    void cutune_5f0c_1_run(int n, float *a);
    void run(int n, float *a) {
        switch (cutune_set_5f0c((long long)(n))) { case 1: return cutune_5f0c_1_run(n, a); … }
        add<<<n / WPT / 256, 256>>>(n, a); }
    … the copy of `run` …
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutune.source.rewrite.edits import Copies, copy_edits
from cutune.source.rewrite.pipeline import Pass, TranslationUnit


@dataclass(frozen=True)
class ChooseValues(Pass):
    """Without value sets, a program stays as it is."""

    name: ClassVar[str] = "choose-values"

    copies: Copies | None = None
    #: Emitted C++, and the function in it that gives the number of a set; 0: the program's own.
    selection: str = ""
    routine: str = ""

    def run(self, unit: TranslationUnit) -> TranslationUnit:
        if self.copies is None or not self.copies.sets:
            return unit
        unit = unit.with_prelude(self.selection)
        edits = copy_edits(self.copies, self.routine)
        return unit.with_edits(edits, self.copies.source)
