"""The launch log of the emulated device: takes the file, gives one `LaunchRecord` per launch.

The replacement libcudart writes it (native/runtime_log.cpp) when CUTUNE_LAUNCH_LOG names a file.
`native/machine_counters.h` is the only place that lists the counters of a memory instruction; the
C++ structure and the log are made from the same lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, NamedTuple

from cutune.core.typed import Count, Meta, SiteNumber, Small, parsed, require, typed
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
    """Counters of one static memory instruction, by the names of `site_counters`."""

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
    """Read the launches in order; incomplete lines, as of a killed program, are left out."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                entry = parsed(line)
                if isinstance(entry, dict) and entry.get("schema") == SCHEMA:
                    yield typed(_Launch, entry).record()
            except ValueError:
                continue


@dataclass(frozen=True)
class _Counters:
    """The counters of a launch."""

    executed_blocks: Count | None = None
    working_threads: Count = 0
    blocks: tuple[LoggedTriple, ...] = ()
    sites: tuple[dict[str, int], ...] = ()

    def logged_sites(self) -> tuple[LoggedSite, ...]:
        """The counters of instructions, all of which have all."""
        wanted = {"site", *(counter.name for counter in site_counters())}
        for site in self.sites:
            missing = next((name for name in wanted if name not in site), None)
            require(missing is None, f"a site without `{missing}`")
            require(all(0 <= value < _WORD for value in site.values()), "counters are words")
        return tuple(LoggedSite(site["site"], site) for site in self.sites)


@dataclass(frozen=True)
class _Launch:
    """A launch as the device writes it."""

    sequence: Count
    site: SiteNumber | None
    kernel: EntryName
    module: FilePath
    grid: LoggedTriple
    block: LoggedTriple
    shared: Count
    parameters: _Hexadecimal
    pointers: tuple[Pointer, ...]
    warp_instructions: Count
    thread_instructions: Count
    counters: _Counters | None
    members: tuple[tuple[Small, Small, Small, Small, bool], ...]
    signature: int = 0

    def record(self) -> LaunchRecord:
        """The launch.

        Raises:
            ValueError: its counters are no words, or some are missing.
        """
        counters = self.counters or _Counters()
        require(0 <= self.signature < _WORD, "`signature` is a word")
        return LaunchRecord(
            *(self.sequence, self.site, self.kernel, self.module, self.grid, self.block),
            *(self.shared, bytes.fromhex(self.parameters), self.pointers),
            *(self.warp_instructions, self.thread_instructions),
            *(counters.executed_blocks, counters.working_threads),
            tuple(LoggedBlock(*block) for block in counters.blocks),
            counters.logged_sites(),
            tuple(LoggedMember(*member) for member in self.members),
            self.signature,
        )
