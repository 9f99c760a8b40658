"""The launch log of the emulated device: takes the file, gives one `LaunchRecord` per launch.

The replacement libcudart writes it (native/runtime_log.cpp) when CUTUNE_LAUNCH_LOG names a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = "cutune-launch-1"
CUT_SCHEMA = "cutune-cut-1"

Triple = tuple[int, int, int]

_NO_COUNTERS: dict[str, Any] = {
    "executed_blocks": None,
    "working_threads": 0,
    "blocks": [],
    "sites": [],
}


@dataclass(frozen=True)
class Pointer:
    """An 8-byte word at `offset` of the parameters that points `delta` bytes behind `base`.

    `size`: bytes of the allocation that begins at `base`.
    """

    offset: int
    base: int
    size: int
    delta: int


@dataclass(frozen=True)
class LoggedMember:
    """An integer member of a structure argument.

    Attributes:
        position: its index as a further argument, behind all arguments of the kernel.
        argument: index of the structure among the arguments.
        offset: bytes from the beginning of the structure.
        bytes: its size.
    """

    position: int
    argument: int
    offset: int
    bytes: int
    is_signed: bool


@dataclass(frozen=True)
class LoggedSite:
    """Counters of one static memory instruction, by the names of `emulator/counters.py`."""

    site: int
    counters: Mapping[str, int]

    def __getitem__(self, counter: str) -> int:
        """One of the counters."""
        return self.counters[counter]


@dataclass(frozen=True)
class LoggedBlock:
    """Counters of one basic block.

    Attributes:
        block: its index among all of the module.
        executions, lanes: warps that executed it, and their active lanes.
    """

    block: int
    executions: int
    lanes: int


@dataclass(frozen=True)
class LaunchRecord:
    """One launch. `blocks` and `sites` are empty unless counters were asked for.

    `signature`: the types of its arguments as a number, by which instances of a template are told
    apart; 0 where the program was not instrumented.
    """

    sequence: int
    site: int | None
    kernel: str
    module: str
    grid: Triple
    block: Triple
    shared: int
    parameters: bytes
    pointers: tuple[Pointer, ...]
    warp_instructions: int
    thread_instructions: int
    executed_blocks: int | None
    working_threads: int
    blocks: tuple[LoggedBlock, ...]
    sites: tuple[LoggedSite, ...]
    members: tuple[LoggedMember, ...] = ()
    signature: int = 0

    @property
    def is_executed(self) -> bool:
        """Did the program run the kernel, or was its launch only recorded?"""
        return self.warp_instructions > 0


def is_cut(path: Path) -> bool:
    """Were kernels not executed any more from some launch on, because too much was?"""
    if not path.exists():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        return any(CUT_SCHEMA in line for line in file)


def read_launches(path: Path) -> Iterator[LaunchRecord]:
    """The launches in order. An incomplete line, as a killed program leaves it, is ignored."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and entry.get("schema") == SCHEMA:
                yield _record(entry)


def _record(entry: dict[str, Any]) -> LaunchRecord:
    counters = entry["counters"] or _NO_COUNTERS
    return LaunchRecord(
        sequence=entry["sequence"],
        site=entry["site"],
        kernel=entry["kernel"],
        module=entry["module"],
        grid=_triple(entry["grid"]),
        block=_triple(entry["block"]),
        shared=entry["shared"],
        parameters=bytes.fromhex(entry["parameters"]),
        pointers=tuple(Pointer(**pointer) for pointer in entry["pointers"]),
        warp_instructions=entry["warp_instructions"],
        thread_instructions=entry["thread_instructions"],
        executed_blocks=counters["executed_blocks"],
        working_threads=counters["working_threads"],
        blocks=tuple(LoggedBlock(*block) for block in counters["blocks"]),
        sites=tuple(LoggedSite(site["site"], site) for site in counters["sites"]),
        members=tuple(LoggedMember(*member) for member in entry["members"]),
        signature=entry.get("signature", 0),
    )


def _triple(values: list[int]) -> Triple:
    x, y, z = values
    return x, y, z
