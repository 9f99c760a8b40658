"""Trial of the candidates: what static analysis has proven is still checked by running it.

In sweep mode the instrumented program launches every candidate block on the same memory contents
and compares what it leaves with what the original leaves. Takes one run of the program at its
smallest size, gives per launch site the blocks whose results differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cutune.candidates import Block, candidate_blocks
from cutune.measure import MeasuredKernel

SCHEMA = "cutune-timing-1"
#: Launches that are tried per site; each runs once per candidate.
LAUNCHES = 2
#: Sums of floating-point atomics depend on the order of threads, within this.
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Trial:
    """What came of one kernel's candidates: how many were compared, and which differ."""

    compared: int
    differing: tuple[Block, ...]
    largest_difference: float


def trial_environment(kernels: Sequence[MeasuredKernel], folder: Path) -> dict[str, str]:
    """Variables that make the instrumented program sweep; its output goes to `folder`."""
    lines = [
        f"{site} {x} {y} {z}\n"
        for kernel in kernels
        for site in kernel.sites
        for x, y, z in candidate_blocks(
            kernel.free, kernel.original, kernel.candidate_set, kernel.max_threads
        )
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


def read_trials(kernels: Sequence[MeasuredKernel], folder: Path) -> Mapping[str, Trial]:
    """Trials by PTX entry; a candidate that failed to launch counts as differing."""
    output = _output(folder)
    lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
    entries = [json.loads(line) for line in lines]
    trials = {}
    for kernel in kernels:
        own = [e for e in entries if e["schema"] == SCHEMA and e["site"] in kernel.sites]
        differing = {_block(e["block"]) for e in own if not _same(e)}
        largest = max((e["difference"] for e in own if "difference" in e), default=0.0)
        trials[kernel.entry] = Trial(len(own), tuple(sorted(differing)), largest)
    return trials


def _same(entry: Mapping[str, object]) -> bool:
    difference = entry.get("difference", float("inf"))
    assert isinstance(difference, int | float)
    return bool(entry.get("identical")) or difference <= TOLERANCE


def _output(folder: Path) -> Path:
    return folder / "trials.jsonl"


def _block(values: Sequence[int]) -> Block:
    x, y, z = values
    return (x, y, z)
