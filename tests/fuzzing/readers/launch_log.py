"""What the emulated device writes: launches, and what a check has found."""

from __future__ import annotations

import json
from collections.abc import Iterator

from cutune.core.diagnostics import CutuneError
from cutune.emulator.findings import counted, read_findings
from cutune.emulator.launch_log import is_cut, read_launches, site_counters
from cutune.emulator.run import RunResult, summarize
from cutune.source.syntax.tokens import word_set
from tests.fuzzing.reader import Reader, Scratch

PIECES = sorted(
    word_set(
        r"""
    "schema": cutune-launch-1 cutune-cut-1 cutune-findings-1 "sequence": "site": null "kernel":
    "grid": "block": [1,1,1] [1,2] "parameters": "00ff" "zz" "pointers": "counters": "blocks":
    "sites": "members": "hazard": "text": "count": "line": "findings": "module": "thread":
    "access": "a.ptx" 1 -1 0 1e999 99999999999999999999999 0.5 NaN Infinity true [] {} "" , : " {
    } [ ] \n \ud800
    """
    )
)
_SCRATCH = Scratch()


def check(data: bytes) -> None:
    """Read it, and sum it up."""
    path = _SCRATCH.file("launches.jsonl", data)
    try:
        is_cut(path)
        launches = tuple(summarize(read_launches(path)))
        findings = read_findings(path)
        for finding in findings:
            finding.diagnostic().render()
        counted(findings, 1)
        for summary in launches:
            summary.render()
        json.dumps(RunResult(0, launches, findings).to_json())
    except CutuneError as error:
        error.diagnostic.render()


def seeds() -> Iterator[bytes]:
    """A launch with and without counters, a cut, and a finding."""
    yield _lines(_launch(None), _launch(_counters()), {"schema": "cutune-cut-1"})
    for hazard in ("global_race", "out_of_bounds", "barrier_divergence"):
        yield _lines(_findings(hazard))


def _lines(*entries: object) -> bytes:
    return "".join(json.dumps(entry) + "\n" for entry in entries).encode()


def _launch(counters: object) -> object:
    return {
        "schema": "cutune-launch-1",
        "sequence": 0,
        "site": 1,
        "kernel": "_Z3addiPi",
        "module": "/none/a.ptx",
        "grid": [4, 1, 1],
        "block": [256, 1, 1],
        "shared": 0,
        "parameters": "e803000000000000",
        "warp_instructions": 320,
        "signature": 77,
        "thread_instructions": 10240,
        "pointers": [{"offset": 8, "base": 4096, "size": 4000, "delta": 0}],
        "counters": counters,
        "members": [[2, 0, 4, 4, True]],
    }


def _counters() -> object:
    site = {counter.name: 1 for counter in site_counters()}
    return {
        "executed_blocks": 4,
        "working_threads": 1000,
        "blocks": [[0, 32, 1024], [1, 32, 1000]],
        "sites": [{**site, "site": 0}],
    }


def _findings(hazard: str) -> object:
    place = {"line": 9, "block": [0, 0, 0], "thread": [1, 0, 0], "access": "store"}
    other = {f"other_{key}": value for key, value in place.items()}
    finding = {"hazard": hazard, "text": "of 4 bytes", "count": 2, **place, **other}
    head = {"schema": "cutune-findings-1", "kernel": "k", "module": "/none/a.ptx"}
    return {**head, "findings": [finding]}


READER = Reader(check, seeds, PIECES, 6_000)
