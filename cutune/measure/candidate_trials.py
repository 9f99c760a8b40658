"""Trials of the candidates: running them checks the proofs of static analysis.

In sweep mode the instrumented program launches every candidate block on the same memory contents
and compares the results with those of the original. Takes one run of the program, gives per launch
site the blocks whose results differ.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from cutune.model.measurement.measurement import MeasuredKernel
from cutune.model.measurement.sweep import TIMING, read_entries
from cutune.source.program import SiteKey, SiteNumbers
from cutune.toolchain.device.thread_block import Block, as_block

Attempt = tuple[SiteKey, str, Block]
"""A launch site, a variant of its kernel (or none), and the block that it was tried with."""

#: What the sweep writes about a block for which there is no grid.
NOT_ALLOWED = "this block is not allowed here"
#: What it writes of a variant that supposes what is not so in this launch.
VARIANT_NOT_ALLOWED = "this variant is not allowed here"
#: What it writes where an annotation's `shared` contradicts the launch.
OTHER_SHARED = "the annotation gives the program's own block other shared memory than the launch"
#: Launches that are tried per site; each runs once per candidate.
LAUNCHES = 2
_OUTPUT = "trials.jsonl"
#: Largest relative difference of results: floating-point atomics depend on the order of threads.
TOLERANCE = 1e-5
#: What the sweep writes where there is no such difference.
NOTHING_IN_COMMON = 2


@dataclass(frozen=True)
class CandidateTrial:
    """The outcome of trying the candidates of one kernel.

    Attributes:
        differing: those whose results differ, or that could not be launched.
        largest_difference: of their results. error: what CUDA said of the first that failed.
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
        )


@dataclass(frozen=True)
class TrialRun:
    """A run of the instrumented program that tries candidates; its files lie in `folder`."""

    kernels: Sequence[MeasuredKernel]
    numbers: SiteNumbers
    folder: Path

    def environment(self, broken: Container[Attempt] = ()) -> dict[str, str]:
        """Variables that make the instrumented program sweep, without broken attempts."""
        number = self.numbers.number
        lines = [
            f"{number(site)} {x} {y} {z}{f' @{kernel.variant}' if kernel.variant else ''}\n"
            for kernel in self.kernels
            for site in kernel.sites
            for x, y, z in kernel.remaining()
            if (site, kernel.variant, (x, y, z)) not in broken
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

    def hiding_candidates(self) -> frozenset[Attempt]:
        """The candidates that failed, if others were not tried because of them."""
        keys = {self.numbers.number(site): site for kernel in self.kernels for site in kernel.sites}
        seen, failed = set(), set()
        for entry in self._entries():
            if entry["site"] in keys:
                block, variant = as_block(entry["block"]), entry.get("variant", "")
                attempt = keys[entry["site"]], variant, block
                seen.add(attempt)
                if "error" in entry and not _is_not_allowed(entry) and not entry["original"]:
                    failed.add(attempt)
        wanted = {
            (s, kernel.variant, block)
            for kernel in self.kernels
            for s in kernel.sites
            for block in kernel.remaining()
        }
        return frozenset(failed) if wanted - seen else frozenset()

    def trials(self, broken: Container[Attempt] = ()) -> Mapping[str, CandidateTrial]:
        """Trials by PTX entry; a candidate that failed to launch counts as differing."""
        entries, trials = self._entries(), {}
        for kernel in self.kernels:
            sites = {self.numbers.number(site) for site in kernel.sites}
            own = [e for e in entries if e["site"] in sites and _is_of(e, kernel)]
            differing = _differing(kernel, own, broken)
            mentioned = {as_block(e["block"]) for e in own}
            errors = (e["error"] for e in own if "error" in e and not _is_not_allowed(e))
            refusals = (e["error"] for e in own if _is_not_allowed(e))
            trials[kernel.entry] = CandidateTrial(
                differing=tuple(sorted(differing)),
                largest_difference=max((e.get("difference", 0.0) for e in own), default=0.0),
                error=next(errors, ""),
                untried=tuple(sorted(_untried(kernel, own) - differing)),
                refusal=next(refusals, ""),
                unreached=tuple(sorted({*kernel.remaining()} - mentioned - differing)),
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
    judged = [e for e in entries if not _is_not_allowed(e)]
    differing = {as_block(e["block"]) for e in judged if not _same(e)}
    differing |= {
        block
        for block in kernel.remaining()
        for site in kernel.sites
        if (site, kernel.variant, block) in broken
    }
    return {block for block in differing if _may_differ(kernel, block)}


def _untried(kernel: MeasuredKernel, entries: Sequence[Mapping[str, Any]]) -> set[Block]:
    """Candidates that only an annotation says are legal: that is not enough without a trial."""
    if not kernel.asserted:
        return set()
    tried = {as_block(e["block"]) for e in entries if not _is_not_allowed(e)}
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


def _is_not_allowed(entry: Mapping[str, Any]) -> bool:
    return entry.get("error") in (NOT_ALLOWED, VARIANT_NOT_ALLOWED, OTHER_SHARED)


def _same(entry: Mapping[str, object]) -> bool:
    difference = entry.get("difference", float("inf"))
    assert isinstance(difference, int | float)
    return bool(entry.get("identical")) or difference <= TOLERANCE
