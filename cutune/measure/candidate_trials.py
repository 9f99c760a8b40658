"""Trials of the candidates: running them checks the proofs of static analysis.

In sweep mode the instrumented program launches every candidate block on the same memory contents
and compares the results with those of the original. Takes one run of the program, gives per launch
site the blocks whose results differ. What trials cost is told in warp instructions; where there is
no time for all of them, some candidates are chosen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import log2, prod
from pathlib import Path
from struct import calcsize, unpack_from
from typing import Any

from cutune.measure.program_runs import RecordedRun
from cutune.measure.replay.plan import fits_launches
from cutune.measure.replay.subjects import Subject
from cutune.model.measurement.measurement import MeasuredKernel
from cutune.model.measurement.sweep import TIMING, is_refused, read_entries
from cutune.source.program import Kernel, SiteKey, SiteNumbers
from cutune.toolchain.device.thread_block import Block, as_block, shape

Attempt = tuple[SiteKey, str, Block]
"""A launch site, a variant of its kernel (or none), and the block that it was tried with."""

#: Launches that are tried per site; each runs once per candidate.
LAUNCHES = 2
_OUTPUT = "trials.jsonl"
#: Largest relative difference of results: floating-point atomics depend on the order of threads.
TOLERANCE = 1e-5
#: What the sweep writes where there is no such difference.
NOTHING_IN_COMMON = 2


@dataclass(frozen=True)
class DifferingPlace:
    """Where the results of a block differ from the original's.

    Attributes:
        argument: index of the pointer argument that leads there.
        at: the first byte that differs, counted from where the argument points.
        before: bytes of `expected` and `found` that lie before it.
        expected, found: what lies around it, with the original's block and with `block`.
    """

    block: Block
    argument: int
    at: int
    before: int
    expected: bytes
    found: bytes

    @staticmethod
    def of(entry: Mapping[str, Any]) -> DifferingPlace | None:
        """The place that a line of the sweep names; None where no argument leads there."""
        if (place := entry.get("place")) is None:
            return None
        address, base = place["base"] + place["at"], place["base"]
        leading = [
            (argument["address"], index)
            for index, argument in enumerate(entry["arguments"])
            if argument.get("base") == base and argument["address"] <= address
        ]
        if not leading:
            return None
        begin, argument = max(leading, key=lambda one: (one[0], -one[1]))
        expected, found = (bytes.fromhex(place[word]) for word in ("expected", "found"))
        block, before = as_block(entry["block"]), place["at"] % _AROUND
        return DifferingPlace(block, argument, address - begin, before, expected, found)

    def said(self, names: Sequence[str], types: Sequence[str]) -> str:
        """For instance `b[31] is 0 in place of 32 with block 64`; empty: it has no name."""
        if self.argument >= len(names):
            return ""
        name, block = names[self.argument], shape(self.block)
        form = _NUMBERS.get(_QUALIFIERS.sub(" ", types[self.argument]).replace(" ", ""), "")
        size = calcsize(form)
        begin = self.before - self.at % size if form else -1
        if begin < 0 or begin + size > len(self.found):
            return f"byte {self.at} of what {name} points to differs with block {block}"
        (expected,), (found,) = (unpack_from(form, b, begin) for b in (self.expected, self.found))
        where, digits = f"{name}[{self.at // size}]", "d" if isinstance(found, int) else ".9g"
        if f"{found:{digits}}" == f"{expected:{digits}}":
            digits = ".17g"
        return f"{where} is {found:{digits}} in place of {expected:{digits}} with block {block}"


#: Bytes that the sweep shows of a place that differs, from a multiple of as many.
_AROUND = 8
_QUALIFIERS = re.compile(r"\b(?:const|volatile|__restrict(?:__)?|restrict|int(?=\s+\w))\b")
#: How numbers lie in memory, by the type of a pointer to them.
_NUMBERS = {
    f"{name}*": f"<{form}"
    for form, names in (
        *(("f", "float"), ("d", "double"), ("b", "char signedchar"), ("B", "unsignedchar")),
        *(("h", "short"), ("H", "unsignedshort"), ("i", "int int32_t")),
        *(("I", "unsigned unsignedint uint32_t"), ("q", "long longlong int64_t")),
        ("Q", "unsignedlong unsignedlonglong uint64_t size_t"),
    )
    for name in names.split()
}


@dataclass(frozen=True)
class CandidateTrial:
    """The outcome of trying the candidates of one kernel.

    Attributes:
        differing: those whose results differ, or that could not be launched.
        largest_difference: of their results. error: what CUDA said of the first that failed.
        place: where results of the first that differs do so.
        compared: those that were launched, and whose results were compared.
        untried: candidates that only an annotation allows, and that were not tried, for instance
            because they do not divide the number of threads at this size, or for want of time.
        refusal: what the launch said of the first of these.
        unreached: candidates for which there was no time.
    """

    differing: tuple[Block, ...]
    largest_difference: float
    error: str = ""
    untried: tuple[Block, ...] = ()
    refusal: str = ""
    unreached: tuple[Block, ...] = ()
    place: DifferingPlace | None = None
    compared: tuple[Block, ...] = ()

    @property
    def rejected(self) -> tuple[Block, ...]:
        return tuple(sorted({*self.differing, *self.untried}))

    def joined(self, other: CandidateTrial) -> CandidateTrial:
        differing = {*self.differing, *other.differing}
        untried = {*self.untried} & {*other.untried} - differing
        return replace(
            self,
            differing=tuple(sorted(differing)),
            largest_difference=max(self.largest_difference, other.largest_difference),
            error=self.error or other.error,
            untried=tuple(sorted(untried)),
            unreached=tuple(sorted({*self.unreached} & {*other.unreached})),
            place=self.place or other.place,
            compared=tuple(sorted({*self.compared, *other.compared})),
        )

    def difference(self, kernel: Kernel | None) -> str:
        parameters = kernel.parameters if kernel is not None else ()
        names, types = [p.name for p in parameters], [p.type for p in parameters]
        place = self.place.said(names, types) if self.place is not None else ""
        if self.largest_difference <= 0 and self.error:
            return f"CUDA says of one: {self.error}"
        is_number = 0 < self.largest_difference < NOTHING_IN_COMMON
        most = f"numbers differ by up to {self.largest_difference:.3g} of their size"
        return "; ".join(filter(None, [place, most if is_number else ""])) or "bytes differ"


#: Outcomes by the PTX entry of a kernel.
Trials = Mapping[str, CandidateTrial]


@dataclass(frozen=True)
class TrialRun:
    """A run of the instrumented program that tries candidates; its files lie in `folder`."""

    kernels: Sequence[MeasuredKernel]
    numbers: SiteNumbers
    folder: Path

    def environment(self, broken: Container[Attempt] = ()) -> dict[str, str]:
        lines = [
            f"{self.numbers.number(site)} {x} {y} {z}{f' @{variant}' if variant else ''}\n"
            for site, variant, (x, y, z) in self._attempts()
            if (site, variant, (x, y, z)) not in broken
        ]
        candidates = self.folder / "candidates"
        candidates.write_text("".join(dict.fromkeys(lines)), encoding="ascii")
        return {
            "CUTUNE_MODE": "sweep",
            "CUTUNE_CANDIDATES": str(candidates),
            "CUTUNE_OUTPUT": str(self.folder / _OUTPUT),
            "CUTUNE_LAUNCH_LIMIT": str(LAUNCHES),
            "CUTUNE_REPETITIONS": "1",
        }

    def _attempts(self) -> Iterator[Attempt]:
        for kernel in self.kernels:
            yield from product(kernel.sites, [kernel.variant], kernel.remaining())

    def hiding_candidates(self) -> frozenset[Attempt]:
        """The candidates that failed, if others were not tried because of them."""
        keys = {self.numbers.number(site): site for kernel in self.kernels for site in kernel.sites}
        seen, failed = set(), set()
        for entry in self._entries():
            if entry["site"] in keys:
                block, variant = as_block(entry["block"]), entry.get("variant", "")
                attempt = keys[entry["site"]], variant, block
                seen.add(attempt)
                if "error" in entry and not is_refused(entry) and not entry["original"]:
                    failed.add(attempt)
        return frozenset(failed) if {*self._attempts()} - seen else frozenset()

    def trials(self, broken: Container[Attempt] = ()) -> Trials:
        """Trials by PTX entry; a candidate that failed to launch counts as differing."""
        entries, trials = self._entries(), {}
        for kernel in self.kernels:
            sites = {self.numbers.number(site) for site in kernel.sites}
            own = [e for e in entries if e["site"] in sites and _is_of(e, kernel)]
            differing = _differing(kernel, own, broken)
            mentioned = {as_block(e["block"]) for e in own}
            errors = (e["error"] for e in own if "error" in e and not is_refused(e))
            refusals = (e["error"] for e in own if is_refused(e))
            wrong = (e for e in own if as_block(e["block"]) in differing and not _same(e))
            places = (place for e in wrong if (place := DifferingPlace.of(e)) is not None)
            trials[kernel.entry] = CandidateTrial(
                differing=tuple(sorted(differing)),
                largest_difference=max((e.get("difference", 0.0) for e in own), default=0.0),
                error=next(errors, ""),
                untried=tuple(sorted(_untried(kernel, own) - differing)),
                refusal=next(refusals, ""),
                unreached=tuple(sorted({*kernel.remaining()} - mentioned - differing)),
                place=next(places, None),
                compared=tuple(sorted({as_block(e["block"]) for e in own if "error" not in e})),
            )
        return trials

    def _entries(self) -> list[dict[str, Any]]:
        return read_entries(self.folder / _OUTPUT, TIMING)


def _is_of(entry: Mapping[str, Any], kernel: MeasuredKernel) -> bool:
    """Was this variant of this instance tried, or the original that it is compared with?"""
    if kernel.signatures and entry["signature"] not in kernel.signatures:
        return False
    return bool(entry["original"]) or entry.get("variant", "") == kernel.variant


def _differing(
    kernel: MeasuredKernel, entries: Sequence[Mapping[str, Any]], broken: Container[Attempt]
) -> set[Block]:
    # A block that the rule does not allow at this size may be legal at others.
    judged = [e for e in entries if not is_refused(e)]
    differing = {as_block(e["block"]) for e in judged if not _same(e)}
    attempts = product(kernel.sites, [kernel.variant], kernel.remaining())
    differing |= {attempt[2] for attempt in attempts if attempt in broken}
    return {block for block in differing if _may_differ(kernel, block)}


def _untried(kernel: MeasuredKernel, entries: Sequence[Mapping[str, Any]]) -> set[Block]:
    """Candidates that only an annotation says are legal: that is not enough without a trial."""
    if not kernel.asserted:
        return set()
    tried = {as_block(e["block"]) for e in entries if not is_refused(e)}
    return {block for block in kernel.remaining() if _may_differ(kernel, block)} - tried


def with_larger(kernels: Sequence[MeasuredKernel], broken: Container[Attempt]) -> set[Attempt]:
    """Broken attempts, and those with as many threads: an array may be too short for them."""
    found = set()
    for kernel in kernels:
        blocks = [block for block in kernel.remaining() if _may_differ(kernel, block)]
        for site in kernel.sites:
            tried = [(site, kernel.variant, block) for block in blocks]
            least = min((prod(a[2]) for a in tried if a in broken), default=None)
            if least is not None:
                found |= {attempt for attempt in tried if prod(attempt[2]) >= least}
    return found


def _may_differ(kernel: MeasuredKernel, block: Block) -> bool:
    return bool(kernel.variant) or block != kernel.original


def _same(entry: Mapping[str, object]) -> bool:
    difference = entry.get("difference", float("inf"))
    assert isinstance(difference, int | float)
    return bool(entry.get("identical")) or difference <= TOLERANCE


#: Warp instructions that trying all candidates of all kernels may take: some ten seconds.
TRIAL_BUDGET = 2_000_000_000
#: The same of one kernel that has to be tried, since only an annotation allows its candidates.
ASSERTED_BUDGET = 3_000_000_000
#: As many as the emulated device executes in a second, or more.
INSTRUCTIONS_PER_SECOND = 400_000_000

#: Candidates among which a choice is made at least.
FEWEST_CANDIDATES = 6


def affordable(
    subjects: Sequence[Subject], made: RecordedRun
) -> tuple[list[Subject], list[Subject]]:
    """Split kernels into those whose candidates are tried, and the others.

    What an annotation asserts is always tried; else the cheapest, in a run that is not cut.
    """
    efforts = [0 if s.kernel.asserted else effort([s], made) for s in subjects]
    spent, tried = 0, {place for place, one in enumerate(subjects) if one.kernel.asserted}
    for place in sorted(range(len(subjects)), key=efforts.__getitem__):
        spent += efforts[place]
        if made.run.executes_all and spent <= TRIAL_BUDGET:
            tried.add(place)
    left = [one for place, one in enumerate(subjects) if place not in tried]
    return [subjects[place] for place in sorted(tried)], left


def effort(subjects: Iterable[Subject], made: RecordedRun, unknown: int = 0) -> int:
    """Warp instructions to try every candidate in one run; `unknown` for a kernel not executed."""
    each = (experiments([one], made, LAUNCHES) * one_of_each(one, made) for one in subjects)
    return sum(cost or unknown for cost in each)


def experiments(subjects: Iterable[Subject], made: RecordedRun, most: int) -> int:
    """The number of launches that will be tried: `most` of each site and instance."""
    own = {id(r): r for subject in subjects for r in subject.launches_in(made.launches)}
    counts = Counter((record.site, record.signature) for record in own.values())
    return sum(min(count, most) for count in counts.values())


def one_of_each(subject: Subject, made: RecordedRun) -> int:
    """Warp instructions of one launch with every candidate; 0 where there is no launch."""
    return _most_work(subject, made) * len(fitting(subject.kernel))


def with_fewer_candidates(subject: Subject, runs: Iterable[RecordedRun], budget: int) -> Subject:
    """The kernel with as many candidates as `budget` allows in the cheapest of its runs."""
    works = [work for made in runs if (work := _most_work(subject, made))]
    most = max(FEWEST_CANDIDATES, budget // min(works, default=1))
    return thinned(subject, most) if most < len(fitting(subject.kernel)) else subject


def with_fewer_trials(subject: Subject, made: RecordedRun) -> Subject:
    """An asserted kernel with as many candidates as there is time to try; others as they are."""
    own = subject.launches_in(made.launches)
    if not subject.kernel.asserted or not own:
        return subject
    if made.run.is_cut and not all(record.is_executed for record in own):
        return thinned(subject, FEWEST_CANDIDATES)
    budget = ASSERTED_BUDGET // experiments([subject], made, LAUNCHES)
    return with_fewer_candidates(subject, [made], budget)


def thinned(subject: Subject, most: int) -> Subject:
    """The kernel with at most so many candidates, which lie far apart."""
    kernel = subject.kernel
    if most >= len(kernel.remaining()):
        return subject
    left = fitting(kernel)
    # Counts of a kernel whose grid stays are taken with its smallest block.
    kept = [kernel.original, *([min(left)] if kernel.keeps_grid else [])]
    while len(kept) < min(most, len({*left, *kept})):
        kept.append(max(left, key=lambda block: min(_distance(block, one) for one in kept)))
    rejected = {*kernel.candidates(), *kernel.rejected} - {*kept}
    return replace(subject, kernel=replace(kernel, rejected=tuple(sorted(rejected))))


def fitting(kernel: MeasuredKernel) -> list[Block]:
    """The candidates with which all recorded launches can be made."""
    covered = [extents for _, extents in kernel.recorded]
    return [block for block in kernel.remaining() if fits_launches(kernel, block, covered)]


def _most_work(subject: Subject, made: RecordedRun) -> int:
    return max((r.warp_instructions for r in subject.launches_in(made.launches)), default=0)


def _distance(block: Block, other: Block) -> float:
    """Doublings from one block to the other, summed over the dimensions."""
    return sum(abs(log2(one / two)) for one, two in zip(block, other, strict=True))
