"""The launch log of the emulated device: takes the file, gives one `LaunchRecord` per launch.

The replacement libcudart writes it (native/runtime_log.cpp) when CUTUNE_LAUNCH_LOG names a file.
`native/machine_counters.h` is the only place that lists the counters of a memory instruction; the
C++ structure and the log are made from the same lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from cutune.core.typed import Count, Meta, SiteNumber, Small, require, typed
from cutune.core.workspace import entries_of
from cutune.emulator.build import NATIVE

_COUNTER = re.compile(r'COUNTER\((\w+), (\w+), "([^"]*)", "([^"]*)"\)')


class SiteCounter(NamedTuple):
    """`kind`: `counted` in all executions, `traced` in those looked at, `range` of addresses."""

    name: str
    kind: str
    unit: str
    what: str


@cache
def site_counters() -> tuple[SiteCounter, ...]:
    """All counters, in the order of the machine's `struct Site`."""
    text = (NATIVE / "machine_counters.h").read_text(encoding="utf-8")
    return tuple(SiteCounter(*found) for found in _COUNTER.findall(text))


SCHEMA = "cutune-launch-1"
CUT_SCHEMA = "cutune-cut-1"

Triple = tuple[int, int, int]
#: One that is read from a file.
LoggedTriple = tuple[Count, Count, Count]

#: A name of a symbol, a path: as processes and files can be named.
EntryName = Annotated[str, Meta(pattern=r"\A[^\s\x00-\x1f\ud800-\udfff]*\Z")]
FilePath = Annotated[str, Meta(pattern=r"\A[^\x00\ud800-\udfff]*\Z")]
_Hexadecimal = Annotated[str, Meta(pattern=r"\A([0-9a-f]{2})*\Z")]
#: The counters are unsigned words.
_WORD = 1 << 64


@dataclass(frozen=True)
class Pointer:
    """An 8-byte word at `offset` of the parameters that points `delta` bytes behind `base`.

    `size`: bytes of the allocation that begins at `base`.
    """

    offset: Small
    base: Count
    size: Count
    delta: Count


class LoggedMember(NamedTuple):
    """An integer member of a structure argument.

    `position`: its index as a further argument, behind all arguments of the kernel. `argument`:
    index of the structure among these. `offset`: bytes from the beginning of the structure.
    """

    position: Small
    argument: Small
    offset: Small
    bytes: Small
    is_signed: bool


class LoggedBlock(NamedTuple):
    """Counters of a basic block: its index in the module, warps that ran it, their active lanes."""

    block: Count
    executions: Count
    lanes: Count


@dataclass(frozen=True)
class LaunchRecord:
    """One launch. `blocks` and `sites` are empty unless counters were asked for.

    `sites`: per memory instruction its index in the module, `site`, and the `site_counters`.
    `signature`: the types of its arguments as a number, by which instances of a template are told
    apart; 0 where the program was not instrumented.
    """

    sequence: Count
    site: SiteNumber | None
    kernel: EntryName
    module: FilePath
    grid: LoggedTriple
    block: LoggedTriple
    shared: Count
    parameters: bytes
    pointers: tuple[Pointer, ...]
    warp_instructions: Count
    thread_instructions: Count
    executed_blocks: Count | None = None
    working_threads: Count = 0
    blocks: tuple[LoggedBlock, ...] = ()
    sites: tuple[Mapping[str, int], ...] = ()
    members: tuple[LoggedMember, ...] = ()
    signature: int = 0

    @property
    def is_executed(self) -> bool:
        return self.warp_instructions > 0


def is_cut(path: Path) -> bool:
    """Were kernels not executed any more from some launch on, because too much was?"""
    if not path.exists():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        return any(CUT_SCHEMA in line for line in file)


def read_launches(path: Path) -> Iterator[LaunchRecord]:
    """Read the launches in order; incomplete lines, as of a killed program, are left out."""
    for entry in entries_of(path, SCHEMA):
        with suppress(KeyError, ValueError):
            yield _record(entry)


def _record(entry: dict[str, Any]) -> LaunchRecord:
    """A launch as the device writes it: with its counters, which may be null, by themselves."""
    counters = typed(dict[str, Any], entry["counters"] or {})
    sites = typed(tuple[dict[str, int], ...], counters.get("sites", ()))
    wanted = {"site", *(counter.name for counter in site_counters())}
    for site in sites:
        missing = next((name for name in wanted if name not in site), None)
        require(missing is None, f"a site without `{missing}`")
        require(all(0 <= value < _WORD for value in site.values()), "counters are words")
    parameters = bytes.fromhex(typed(_Hexadecimal, entry["parameters"]))
    written = {"parameters": parameters, "members": entry["members"], "sites": sites}
    record = typed(LaunchRecord, {**entry, **counters, **written})
    require(0 <= record.signature < _WORD, "`signature` is a word")
    return record
