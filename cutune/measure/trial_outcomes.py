"""Do comparisons of data come out both ways in trials? Takes PTX with a kernel, tells of its runs.

Where `hash(a[i]) == 0` chooses what a kernel does, numbers at random never show the one of two
things that it does. So a second module is made of the text, in which the kernel and the functions
that it calls note what came out of each comparison of what was loaded. A launch of it tells nothing
else: threads that note the same meet in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cutune.emulator.assemble import assemble
from cutune.emulator.machine import LoadedModule
from cutune.measure.trial_code import functions_reached
from cutune.ptx.tried_sizes import comparisons_of_data
from cutune.ptx.types import Instruction, Module

_NOTES = "cutune_outcomes"
_WORD = 4
_END = object()


class Outcomes:
    """The outcomes of the comparisons of data that an entry of a text makes, as far as seen."""

    def __init__(self, text: str, module: Module, entry: str) -> None:
        self._text = text
        reached = (module.functions.get(name) for name in functions_reached(module, entry))
        known = (function for function in reached if function is not None)
        self._asked = [one for function in known for one in comparisons_of_data(function)]

    def objection(self, runs: Callable[[LoadedModule], Iterator[None]]) -> str:
        """Return that a comparison comes out one way in all runs of the noting module, or ""."""
        said = "it asks of data what trials do not answer both ways"
        if any(not _is_alone(self._lines, one) for one in self._asked):
            return said
        going_on = runs(self._loaded) if self._asked else iter(())
        while self._asked and not self._notes.all():
            if next(going_on, _END) is _END:
                return said
        return ""

    @cached_property
    def _lines(self) -> list[str]:
        return self._text.splitlines()

    @cached_property
    def _loaded(self) -> LoadedModule:
        lines, words = [*self._lines], 2 * len(self._asked)
        for number, one in enumerate(self._asked):
            lines[one.line - 1] += "".join(_noted(one.operands[0], 2 * number))
        first = next(n for n, line in enumerate(lines) if line.startswith(".address_size"))
        zeros = ", ".join(["0"] * words)
        lines[first] += f"\n.global .align 4 .u32 {_NOTES}[{words}] = {{{zeros}}};"
        return LoadedModule(assemble("\n".join(lines)))

    @property
    def _notes(self) -> NDArray[np.uint32]:
        """Per comparison, whether it was true, and whether it was false."""
        found = self._loaded.variable(_NOTES)
        assert found is not None, "declared above"
        return found.view(np.uint32)


def _noted(predicate: str, place: int) -> Iterable[str]:
    """PTX that keeps whether a predicate holds."""
    for step, guard in enumerate(("@", "@!")):
        yield f" {guard}{predicate} st.global.u32 [{_NOTES}+{_WORD * (place + step)}], 1;"


def _is_alone(lines: Sequence[str], one: Instruction) -> bool:
    """Is a comparison the only statement of its line, without a guard, with one result?"""
    line = lines[one.line - 1].strip()
    is_plain = line.startswith(one.opcode) and line.endswith(";") and line.count(";") == 1
    return is_plain and not one.guard and "|" not in one.operands[0]
