"""Exhaustive sweeps: the time of every block at one launch. Takes lines, gives `RecordedSweep`.

The instrumented program in sweep mode writes a line `cutune-timing-1` per candidate; a document
`cutune-sweep-1` keeps what comparisons need of them, a line of text per launch, so that a sweep
made on a GPU can be looked at, and replayed, where there is none.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from cutune.core.progress import ignore
from cutune.core.typed import (
    Count,
    Integer,
    Label,
    MemberName,
    Name,
    NameOrNone,
    Text,
    Time,
    one_of,
    typed,
)
from cutune.core.workspace import Json, entries_of, read_lines, read_typed, replace_file
from cutune.model.measurement.measurement import MeasuredKernel
from cutune.source.program import Program
from cutune.toolchain.device.thread_block import Block, Depth, Extents, Width, as_block
from cutune.toolchain.ptxas import StaticCounters

#: What lies in the caches when a timed launch begins: memory was put back before (what was written
#: last is there), the same launch was before it, or what the program leaves.
RESTORED, REPEATED, IN_PROGRAM = "restored", "repeated", "program"
CACHES = (RESTORED, REPEATED, IN_PROGRAM)
SCHEMA = "cutune-sweep-1"
#: Of a line that the probe writes for a candidate.
TIMING = "cutune-timing-1"
#: What it writes about a block for which there is no grid.
NOT_ALLOWED = "this block is not allowed here"
#: What it writes of a variant that supposes what is not so in this launch.
VARIANT_NOT_ALLOWED = "this variant is not allowed here"
#: What it writes where an annotation's `shared` contradicts the launch.
OTHER_SHARED = "the annotation gives the program's own block other shared memory than the launch"
LINE_SCHEMA = "cutune-swept-1"
COMMAND = "cutune evaluate --on gpu --save"


class SweptConfiguration(NamedTuple):
    """A block of a kernel, or of one of its variants; the empty name is the kernel itself."""

    block: Block
    variant: str = ""


@dataclass(frozen=True)
class SweptLaunch:
    """One launch and the time of each configuration that it may be given.

    Attributes:
        program: stem of the source file.
        size: what the run was given, or None where it was given no single number.
        sizes: integer arguments by parameter name, where they are known.
        extents: threads per dimension that the launch has to cover, where they are known.
        own: the program's own block.
        microseconds: per valid block the least event time; blocks whose results differed, or that
            did not run, are not in it.
        registers, shared_bytes: per thread as compiled, and per block, where they are known.
        variants: the same times for each variant of the kernel that was swept.
        millijoules: by variant ("": the kernel itself) and block, the energy of a launch that is
            repeated; empty where it was not asked for.
        failed: what may be launched so, but did not run or gave other results; no file holds it.
        signature: the types of its arguments, as `MeasuredKernel.signatures` tells instances of a
            template apart by them; None: not known.
    """

    program: str
    kernel: str
    size: int | None
    sizes: Mapping[str, int]
    extents: Extents | None
    own: Block
    microseconds: Mapping[Block, float]
    registers: int | None = None
    shared_bytes: int | None = None
    variants: Mapping[str, Mapping[Block, float]] = field(default_factory=dict)
    millijoules: Mapping[str, Mapping[Block, float]] = field(default_factory=dict)
    failed: frozenset[SweptConfiguration] = frozenset()
    signature: int | None = None

    def is_of(self, kernel: MeasuredKernel) -> bool:
        """Is the model of this kernel, or of this instance of it, asked there?"""
        named = Path(kernel.origin.path).stem, kernel.name
        return named == (self.program, self.kernel) and (
            not kernel.signatures or self.signature in kernel.signatures
        )

    @property
    def best(self) -> Block:
        """The fastest block of the kernel itself."""
        return min(self.microseconds, key=self.microseconds.__getitem__)

    @cached_property
    def times(self) -> Mapping[SweptConfiguration, float]:
        """Microseconds of each configuration, the kernel itself first."""
        swept = {"": self.microseconds, **self.variants}
        return {
            SweptConfiguration(block, variant): time
            for variant, times in swept.items()
            for block, time in times.items()
        }

    @cached_property
    def energies(self) -> Mapping[SweptConfiguration, float]:
        """Millijoules of each configuration of which they are known."""
        return {
            SweptConfiguration(block, variant): energy
            for variant, energies in self.millijoules.items()
            for block, energy in energies.items()
            if SweptConfiguration(block, variant) in self.times
        }

    @property
    def fastest(self) -> SweptConfiguration:
        return min(self.times, key=self.times.__getitem__)

    def regret(self, chosen: SweptConfiguration) -> float:
        """The loss against the fastest, as a fraction; infinite for one that was not valid."""
        return self.times.get(chosen, float("inf")) / self.times[self.fastest] - 1

    @property
    def spread(self) -> float:
        """The time of the slowest configuration by that of the fastest."""
        return max(self.times.values()) / min(self.times.values())

    def error(self, chosen: SweptConfiguration) -> float:
        """(t - best) / (worst - best), the measure of the paper's Table 3; 0 without a spread."""
        best, worst = min(self.times.values()), max(self.times.values())
        return (self.times[chosen] - best) / (worst - best) if worst > best else 0.0

    def only(self, variants: Collection[str]) -> SweptLaunch:
        """The launch without other variants, and those of which no block was valid."""
        kept = [name for name, times in self.variants.items() if name in variants and times]
        return replace(self, variants={name: self.variants[name] for name in kept})


@dataclass(frozen=True)
class RecordedSweep:
    """The launches of a sweep, in their order. `method`: how blocks were timed, for people."""

    device: str
    driver: str
    method: str
    launches: tuple[SweptLaunch, ...]
    cache: str = RESTORED


def read_sweep(path: Path) -> RecordedSweep:
    """Read a recorded sweep. Raises CT009, CT001, CT005, or CT012: wrong entries."""
    read = read_typed(path, SCHEMA, _SweepDocument, COMMAND)
    launches = tuple(launch.read() for launch in read.launches)
    return RecordedSweep(read.device, read.driver, read.method, launches, read.cache)


_Row = tuple[Width, Width, Depth, Time]


class _LaunchEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A swept launch as files hold it, in this order; a time is a row: block and microseconds."""

    program: Text
    kernel: Text
    size: Integer | None = None
    sizes: dict[MemberName, Integer] = msgspec.field(default_factory=dict)
    extents: Extents | None = None
    registers: Count | None = None
    shared_bytes: Count | None = None
    own: Block
    signature: Annotated[int, msgspec.Meta(ge=0)] | None = None
    microseconds: Annotated[tuple[_Row, ...], msgspec.Meta(min_length=1)]
    variants: dict[Name, tuple[_Row, ...]] = msgspec.field(default_factory=dict)
    millijoules: dict[NameOrNone, tuple[_Row, ...]] = msgspec.field(default_factory=dict)

    @staticmethod
    def written(launch: SweptLaunch) -> dict[str, Any]:
        names = (field.name for field in fields(launch) if field.name != "failed")
        entries = {name: getattr(launch, name) for name in names}
        entries["microseconds"] = _rows(launch.microseconds)
        for key in ("variants", "millijoules"):
            entries[key] = {name: _rows(rows) for name, rows in getattr(launch, key).items()}
        written: dict[str, Any] = msgspec.to_builtins(_LaunchEntry(**entries))
        return written

    def read(self) -> SweptLaunch:
        times: dict[str, Any] = {"microseconds": _times(self.microseconds)}
        for key in ("variants", "millijoules"):
            times[key] = {name: _times(rows) for name, rows in getattr(self, key).items()}
        return SweptLaunch(**msgspec.structs.asdict(self) | times)


@dataclass(frozen=True)
class _SweepDocument:
    device: Label
    driver: Text
    method: Text
    launches: tuple[_LaunchEntry, ...]
    cache: Annotated[str, one_of(*CACHES)] = RESTORED


def swept_launch(entry: Mapping[str, Any]) -> SweptLaunch:
    """Read a launch, a line of measurements.jsonl. Raises ValueError: an entry is wrong."""
    return typed(_LaunchEntry, entry).read()


def _times(rows: Iterable[_Row]) -> dict[Block, float]:
    return {(x, y, z): time for x, y, z, time in rows}


def _rows(times: Mapping[Block, float]) -> list[list[float]]:
    return [[*block, time] for block, time in times.items()]


def write_sweep(path: Path, sweep: RecordedSweep) -> None:
    """Save a sweep, a line per launch. Raises CT002."""
    head = {"schema": SCHEMA, "device": sweep.device, "driver": sweep.driver}
    head |= {"cache": sweep.cache} if sweep.cache != RESTORED else {}
    entries = map(_LaunchEntry.written, sweep.launches)
    rows = ",\n  ".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
    opening = json.dumps({**head, "method": sweep.method}, indent=1).removesuffix("\n}")
    replace_file(path, f'{opening},\n "launches": [\n  {rows}\n ]\n}}\n'.encode())


def swept_line(launch: SweptLaunch) -> dict[str, Any]:
    """A launch as a line of measurements.jsonl."""
    return {"schema": LINE_SCHEMA, **_LaunchEntry.written(launch)}


def read_entries(path: Path, schema: str) -> list[dict[str, Any]]:
    """The lines of one kind in a probe's output."""
    return list(entries_of(path, schema))


def swept_on(path: Path, device: str) -> list[SweptLaunch]:
    """Return the launches among measurements that were timed on this device. Raises CT009."""

    def convert(entry: Json) -> SweptLaunch | None:
        return swept_launch(entry) if entry["device"] == device else None

    lines = read_lines(path, LINE_SCHEMA, convert, "cutune collect --on gpu", ignore)
    return [launch for launch in lines if launch is not None]


def swept_launches(
    program: Program,
    timings: Iterable[Mapping[str, Any]],
    size: int | None,
    tolerance: float,
    counters: Mapping[str, StaticCounters],
) -> list[SweptLaunch]:
    """Group the lines of one run by launch; of repeated lines the least time counts.

    `tolerance`: the greatest relative difference from the original's results that is accepted.
    `counters`: by kernel, as compiled for the GPU of the sweep.
    """
    groups: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
    sites = {site.id for site in program.tunable_launches}
    for entry in timings:
        if entry["site"] in sites:
            groups.setdefault((entry["site"], entry["launch"]), []).append(entry)
    swept = []
    for entries in groups.values():
        valid = [e for e in entries if _counts(e, tolerance)]
        times = _microseconds(valid)
        own = next((as_block(e["block"]) for e in valid if e["original"]), None)
        if own is None:
            continue  # the original itself failed: nothing can be compared
        first = entries[0]
        static, kernel = counters.get(first["kernel"]), program.kernel(first["kernel"])
        names = kernel.argument_names if kernel is not None else ()
        arguments = zip(names, first["arguments"], strict=False)
        swept.append(
            SweptLaunch(
                program=Path(program.source.path).stem,
                kernel=first["kernel"],
                size=size,
                signature=first.get("signature"),
                sizes={n: int(a["value"]) for n, a in arguments if a["kind"] == "integer"},
                extents=as_block(first["extent"]),
                own=own,
                microseconds=times.pop(""),
                variants=times,
                millijoules=_millijoules(valid),
                failed=_failed(entries, tolerance),
                registers=static.registers if static else None,
                shared_bytes=static.static_shared_bytes + first["shared"] if static else None,
            )
        )
    return swept


ByVariant = dict[str, dict[Block, float]]
"""A number per block, by the name of a variant; that of the kernel itself is empty."""


def _microseconds(entries: Iterable[Mapping[str, Any]]) -> ByVariant:
    times: ByVariant = {"": {}}
    for entry in entries:
        of_variant = times.setdefault(entry.get("variant", ""), {})
        block, time = as_block(entry["block"]), round(min(entry["milliseconds"]) * 1e3, 3)
        of_variant[block] = min(time, of_variant.get(block, time))
    return times


def _millijoules(entries: Iterable[Mapping[str, Any]]) -> ByVariant:
    energies: ByVariant = {}
    for entry in entries:
        if "millijoules" in entry:
            of_variant = energies.setdefault(entry.get("variant", ""), {})
            of_variant[as_block(entry["block"])] = float(f"{entry['millijoules']:.6g}")
    return energies


def _failed(
    entries: Iterable[Mapping[str, Any]], tolerance: float
) -> frozenset[SweptConfiguration]:
    """What may be launched there, but ended in an error or gave other results at least once."""
    return frozenset(
        SweptConfiguration(as_block(entry["block"]), entry.get("variant", ""))
        for entry in entries
        if not is_refused(entry) and ("error" in entry or not _is_same(entry, tolerance))
    )


def is_refused(entry: Mapping[str, Any]) -> bool:
    """Was the launch not made because it is not legal? The line of a candidate tells."""
    return entry.get("error") in (NOT_ALLOWED, VARIANT_NOT_ALLOWED, OTHER_SHARED)


def _counts(entry: Mapping[str, Any], tolerance: float) -> bool:
    if "error" in entry or not entry["milliseconds"] or entry["modelled"]:
        return False
    return _is_same(entry, tolerance)


def _is_same(entry: Mapping[str, Any], tolerance: float) -> bool:
    difference = entry["difference"]
    return bool(entry["identical"]) or (difference is not None and difference <= tolerance)
