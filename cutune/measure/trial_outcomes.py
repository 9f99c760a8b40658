"""Does all that decides come out in trials? Takes PTX with kernels, tells of their runs.

Where `n / 1000 == 7` chooses what a kernel does, trials never show the one of two things that it
does. So a second module is made of the text, in which kernels and the functions
that they call note what came out of each of their decisions (`cutune.ptx.decisions`). Its launches
tell nothing else: threads that note the same meet in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from cutune.core.diagnostics import CutuneError
from cutune.emulator.assemble import assemble
from cutune.emulator.machine import LoadedModule
from cutune.measure.trial_code import as_written, functions_reached
from cutune.ptx.decisions import ZEROS, Decision, Decisions
from cutune.ptx.named_numbers import type_of
from cutune.ptx.tried_sizes import SizesOfFunctions, TriedSizes
from cutune.ptx.types import Module, PtxError

_NOTES = "cutune_outcomes"
_SHOWS = "%cutune_shows"
_UNWATCHED = "it decides by code that cannot be watched"
_WORD = 4
_END = object()


class OutcomesBySizes:
    """The outcomes at all sizes, and those at sizes that are multiples of a number.

    `make`: makes those for sizes that have a least value, by the places of these.
    """

    def __init__(self, make: Callable[[Mapping[int, int]], Outcomes]) -> None:
        self._make, self._known = make, dict[tuple[tuple[int, int], ...], Outcomes]()

    def objection(
        self,
        entry: str,
        runs: Callable[[LoadedModule], Iterator[None]],
        least: Mapping[int, int],
    ) -> str:
        """Return what of an entry comes out one way in all runs of the noting module, or "".

        `least`: of sizes that are multiples of these.
        """
        said = ""
        for one in ({}, least) if least else ({},):
            key = tuple(sorted(one.items()))
            if key not in self._known:
                self._known[key] = self._make(one)
            if not (said := self._known[key].objection(entry, runs)):
                break
        return said


class Outcomes:
    """The outcomes of the decisions of some entries of a text, as far as seen.

    `integers`: places of the parameters that are sizes. `of_data`: is it asked of comparisons of
    data alone? `sizes_of`: what is known of functions. `least`: the least sizes; of others 1.
    """

    def __init__(
        self,
        text: str,
        module: Module,
        entries: Iterable[str],
        integers: Iterable[int],
        of_data: bool,
        sizes_of: SizesOfFunctions,
        least: Mapping[int, int],
    ) -> None:
        self._text = text
        tried = TriedSizes(dict.fromkeys(integers, 1), (1, 1, 1), (1, 1, 1), {})
        self._asked: dict[str, list[Decision]] = {}
        self._reached = {entry: functions_reached(module, entry) for entry in entries}
        for entry, names in self._reached.items():
            for name in names:
                function = module.functions.get(name)
                if function is not None and name not in self._asked:
                    values = sizes_of.of(function, module.functions[entry], tried)
                    self._asked[name] = [*Decisions(values, least).found(of_data)]

    def objection(self, entry: str, runs: Callable[[LoadedModule], Iterator[None]]) -> str:
        """Return what of an entry comes out one way in all runs of the noting module, or ""."""
        names = [name for name in self._reached[entry] if name in self._asked]
        asked = [one for name in names for one in self._asked[name]]
        if any(not _is_alone(self._lines, one) for one in asked):
            return _UNWATCHED
        try:
            going_on = runs(self._loaded) if asked else iter(())
        except (PtxError, CutuneError):
            return _UNWATCHED
        while asked and not all(map(self._has_shown, names)):
            if next(going_on, _END) is _END:
                # What is never come to is decided by what leads there.
                is_known = all(map(self._is_known, names))
                return "" if is_known else "it asks what trials do not answer both ways"
        return ""

    def _has_shown(self, name: str) -> bool:
        """Have all decisions of a function come out in all ways?"""
        return bool(self._notes(name).all())

    def _is_known(self, name: str) -> bool:
        """Have those that were come to?"""
        notes, place = self._notes(name), 0
        for one in self._asked[name]:
            here = notes[place : place + one.notes]
            if here.any() and not here.all():
                return False
            place += one.notes
        return True

    def _notes(self, name: str) -> NDArray[np.uint32]:
        found = self._loaded.variable(_NOTES)
        assert found is not None, "declared in the module"
        notes: NDArray[np.uint32] = found.view(np.uint32)
        return notes[slice(*self._places[name])]

    @cached_property
    def _places(self) -> Mapping[str, tuple[int, int]]:
        """Where the notes of each function begin and end."""
        lengths = [sum(one.notes for one in asked) for asked in self._asked.values()]
        ends = [*accumulate(lengths)]
        begins = [end - length for end, length in zip(ends, lengths, strict=True)]
        return dict(zip(self._asked, zip(begins, ends, strict=True), strict=True))

    @cached_property
    def _lines(self) -> list[str]:
        return self._text.splitlines()

    @cached_property
    def _loaded(self) -> LoadedModule:
        lines, words = [*self._lines], max(end for _, end in self._places.values())
        for name, asked in self._asked.items():
            place, _ = self._places[name]
            for one in asked:
                line, noted = one.instruction.line - 1, as_written(" ".join(_noted(one, place)))
                order = (noted, lines[line]) if one.is_of_operands else (lines[line], noted)
                lines[line] = " ".join(order)
                place += one.notes
        first = next(n for n, line in enumerate(lines) if line.startswith(".address_size"))
        zeros = ", ".join(["0"] * words)
        lines[first] += f"\n.global .align 4 .u32 {_NOTES}[{words}] = {{{zeros}}};"
        return LoadedModule(assemble("\n".join(lines), self._reached))


def _noted(one: Decision, place: int) -> Iterator[str]:
    """PTX that keeps what came out of a decision, from a place on."""
    of = one.instruction
    if not (one.differs_from or one.factors):
        for step, guard in enumerate(("@", "@!")):
            yield f"{guard}{one.read or of.operands[0]} {_kept(place + step)}"
        return
    kind = type_of(of, 0)
    is_real = kind.startswith("f")
    unlike, zero = ("neu", ZEROS[kind]) if is_real else ("ne", "0")
    compared = kind if is_real else f"u{kind[1:]}"
    yield f"{{ .reg .pred {_SHOWS}; {_kept(place)}"
    for step, other in enumerate(one.differs_from, 1):
        yield f"setp.{unlike}.{compared} {_SHOWS}, {of.operands[0]}, {other};"
        yield f"@{_SHOWS} {_kept(place + step)}"
    for number, factor in enumerate(one.factors):
        joined, before = (".and", f", {_SHOWS}") if number else ("", "")
        yield f"setp.{unlike}{joined}.{compared} {_SHOWS}, {factor}, {zero}{before};"
    if one.factors:
        yield f"@{_SHOWS} {_kept(place + 1)}"
    yield "}"


def _kept(place: int) -> str:
    return f"st.global.u32 [{_NOTES}+{_WORD * place}], 1;"


def _is_alone(lines: Sequence[str], decision: Decision) -> bool:
    """Is an instruction the only statement of its line, such that what is asked is there to see?"""
    one = decision.instruction
    line = lines[one.line - 1].strip()
    if not line.endswith(";") or line.count(";") > 1:
        return False
    is_plain = line.startswith(one.opcode) and not one.guard
    if decision.is_of_operands:
        return is_plain or bool(decision.read)
    # What it reads has to be there behind it.
    return is_plain and one.operands[0] not in one.operands[1:]
