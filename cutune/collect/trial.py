"""Trial of the candidates: running them checks what static analysis has proven.

In sweep mode the instrumented program launches every candidate block on the same memory contents
and compares the results with those of the original. Takes one run of the program at its smallest
size, gives per launch site the blocks whose results differ.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from cutune.device.thread_block import Block, as_block
from cutune.fit.measurement.measurement import MeasuredKernel
from cutune.frontend.launch_sites import SiteKey, SiteNumbers

Attempt = tuple[SiteKey, Block]
"""A launch site and the block that it was tried with."""

SCHEMA = "cutune-timing-1"
#: What the sweep writes about a block for which there is no grid.
NOT_ALLOWED = "this block is not allowed here"
#: Launches that are tried per site; each runs once per candidate.
LAUNCHES = 2
#: Largest relative difference of results: floating-point atomics depend on the order of threads.
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Trial:
    """The candidates of one kernel whose results differ, and the largest difference."""

    differing: tuple[Block, ...]
    largest_difference: float


def trial_environment(
    kernels: Sequence[MeasuredKernel],
    numbers: SiteNumbers,
    folder: Path,
    broken: Container[Attempt] = (),
) -> dict[str, str]:
    """Variables that make the instrumented program sweep; its output goes to `folder`."""
    lines = [
        f"{numbers.number(site)} {x} {y} {z}\n"
        for kernel in kernels
        for site in kernel.sites
        for x, y, z in kernel.candidates()
        if (site, (x, y, z)) not in broken
    ]
    candidates = folder / "candidates"
    candidates.write_text("".join(lines), encoding="ascii")
    return {
        "CUTUNE_MODE": "sweep",
        "CUTUNE_CANDIDATES": str(candidates),
        "CUTUNE_OUTPUT": str(_output(folder)),
        "CUTUNE_LAUNCH_LIMIT": str(LAUNCHES),
        "CUTUNE_REPETITIONS": "1",
    }


def hiding_candidates(
    kernels: Sequence[MeasuredKernel], numbers: SiteNumbers, folder: Path
) -> frozenset[Attempt]:
    """The candidates that failed, if others were not tried because of them."""
    keys = {numbers.number(site): site for kernel in kernels for site in kernel.sites}
    entries = [entry for entry in _entries(folder) if entry["site"] in keys]
    seen = {(keys[e["site"]], as_block(e["block"])) for e in entries}
    failed = {
        (keys[e["site"]], as_block(e["block"]))
        for e in entries
        if "error" in e and e["error"] != NOT_ALLOWED and not e["original"]
    }
    wanted = {
        (s, block) for kernel in kernels for s in kernel.sites for block in kernel.candidates()
    }
    return frozenset(failed) if wanted - seen else frozenset()


def with_larger(kernels: Sequence[MeasuredKernel], broken: Container[Attempt]) -> set[Attempt]:
    """Broken attempts, and those with as many threads: an array may be too short for them."""
    found = set()
    for kernel in kernels:
        blocks = [block for block in kernel.candidates() if block != kernel.original]
        for site in kernel.sites:
            least = min((prod(b) for b in blocks if (site, b) in broken), default=None)
            if least is not None:
                found |= {(site, b) for b in blocks if prod(b) >= least}
    return found


def read_trials(
    kernels: Sequence[MeasuredKernel],
    numbers: SiteNumbers,
    folder: Path,
    broken: Container[Attempt] = (),
) -> Mapping[str, Trial]:
    """Trials by PTX entry; a candidate that failed to launch counts as differing.

    So does one that was not tried, if only an annotation says that it is legal.
    """
    entries = _entries(folder)
    trials = {}
    for kernel in kernels:
        sites = {numbers.number(site) for site in kernel.sites}
        own = [e for e in entries if e["schema"] == SCHEMA and e["site"] in sites]
        tried = {as_block(e["block"]) for e in own}
        # A block that the rule does not allow at this size may be legal at others; if only an
        # annotation says so, that is not enough.
        judged = [e for e in own if kernel.asserted or e.get("error") != NOT_ALLOWED]
        differing = {as_block(e["block"]) for e in judged if not _same(e)}
        differing |= {b for b in kernel.candidates() for s in kernel.sites if (s, b) in broken}
        if kernel.asserted:
            differing |= {*kernel.candidates()} - tried
        differing.discard(kernel.original)
        largest = max((e["difference"] for e in own if "difference" in e), default=0.0)
        trials[kernel.entry] = Trial(tuple(sorted(differing)), largest)
    return trials


def _entries(folder: Path) -> list[dict[str, Any]]:
    output = _output(folder)
    lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
    return [json.loads(line) for line in lines]


def _same(entry: Mapping[str, object]) -> bool:
    difference = entry.get("difference", float("inf"))
    assert isinstance(difference, int | float)
    return bool(entry.get("identical")) or difference <= TOLERANCE


def _output(folder: Path) -> Path:
    return folder / "trials.jsonl"
