"""Verdicts of `cutune inspect` on every launch of programs: takes programs, gives lines of JSON.

Each translation unit list is inspected in a process of its own, so that a failure or a time-out is
a line of its program and ends nothing else.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cutune.core.codes import Code
from cutune.core.processes import run_to_end
from tests.support.module_paths import module_paths

#: The file does not compile.
NOT_COMPILED = f"[{Code.NVCC_FAILED.number}]"
_OWN_OPTIONS = ("-I", "-D", "-std", "-include")


@dataclass(frozen=True)
class Unit:
    """Files that are compiled with the same options."""

    files: tuple[str, ...]
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProgramFiles:
    """A program of a set: file names are relative to its folder."""

    set: str
    name: str
    folder: Path
    units: tuple[Unit, ...]


@dataclass(frozen=True)
class LaunchVerdict:
    """One launch. `nth`: among those of the kernel in the same line.

    `pragma`: what made it tunable when it was followed, `kernel` or `constant`.
    """

    set: str
    program: str
    file: str
    line: int
    kernel: str
    nth: int
    verdict: str
    code: str | None
    reason: str
    pure_dimensions: tuple[str, ...] = ()
    guards: dict[str, str] = field(default_factory=dict)
    needs_warps: bool = False
    pragma: str = ""

    @property
    def is_tunable(self) -> bool:
        """May it be tuned?"""
        return self.verdict != "refused"

    @property
    def place(self) -> tuple[str, str, str, int, str, int]:
        """The key that names it in another run."""
        return self.set, self.program, self.file, self.line, self.kernel, self.nth


@dataclass(frozen=True)
class Inspected:
    """A program with its launches, and how long it took.

    `failures`: files without an answer. `messages`: those that nvcc could not read.
    """

    set: str
    program: str
    launches: tuple[LaunchVerdict, ...]
    failures: tuple[str, ...]
    messages: tuple[str, ...]
    wall_seconds: float
    cpu_seconds: float
    vain: tuple[str, ...] = ()


#: Takes a unit and its document; gives the kind of pragma by number of launch, and vain ones.
Follow = Callable[[Unit, dict[str, Any]], tuple[dict[int, str], list[str]]]


def inspected(
    program: ProgramFiles, limit_s: float, more: Sequence[str] = (), follow: Follow | None = None
) -> Inspected:
    """Inspect all units of a program; one that ends without an answer is done file by file."""
    launches: dict[tuple[object, ...], LaunchVerdict] = {}
    failures: list[str] = []
    messages: list[str] = []
    vain: list[str] = []
    begin, before = time.monotonic(), _children_seconds()
    pending = list(program.units)
    while pending:
        unit = pending.pop(0)
        document, said = document_of(
            program.folder, unit, limit_s, more, ("--suggest",) if follow else ()
        )
        if document is None and len(unit.files) > 1:
            pending = [replace(unit, files=(file,)) for file in unit.files] + pending
            continue
        errors = [line for line in said if ": error: " in line]
        messages += [line for line in said if NOT_COMPILED in line]
        if document is None:
            failures.append(f"{unit.files[0]}: {(errors or said or ['no answer'])[0]}")
            continue
        failures += errors
        helped, in_vain = follow(unit, document) if follow else ({}, [])
        vain += in_vain
        for at, judged in enumerate(_verdicts(program, document)):
            launch = replace(judged, pragma=helped.get(at, ""))
            known = launches.get(launch.place)
            # A header of several units: what holds in all of them.
            if known is None or (known.is_tunable and not launch.is_tunable):
                launches[launch.place] = launch
    return Inspected(
        program.set,
        program.name,
        tuple(launches.values()),
        tuple(failures),
        tuple(messages),
        round(time.monotonic() - begin, 3),
        round(_children_seconds() - before, 3),
        tuple(vain),
    )


def to_document(programs: Iterable[Inspected], settings: dict[str, object]) -> dict[str, object]:
    """The line that `read` gives back."""
    return {
        "schema": "cutune.benchmarks.tunable/1",
        **settings,
        "programs": [
            {key: value for key, value in asdict(one).items() if key != "launches"}
            for one in programs
        ],
        "launches": [asdict(launch) for one in programs for launch in one.launches],
    }


def read(path: Path) -> list[LaunchVerdict]:
    """The launches of an earlier run."""
    lines: list[dict[str, Any]] = json.loads(path.read_text())["launches"]
    return [
        LaunchVerdict(**{**line, "pure_dimensions": tuple(line["pure_dimensions"])})
        for line in lines
    ]


def command_line(unit: Unit, more: Sequence[str] = ()) -> list[str]:
    """`cutune inspect --json` with the options in its own words."""
    words = []
    flags = iter((*unit.flags, *more))
    for flag in flags:
        if flag in _OWN_OPTIONS:
            words += [flag, next(flags, "")]
        elif flag.startswith(("-I", "-D")):
            words += [flag[:2], flag[2:]]
        else:
            words.append(f"--nvcc-flag={flag}")
    return [sys.executable, "-m", "cutune", "inspect", "--json", "-q", *words, *unit.files]


def document_of(
    folder: Path, unit: Unit, limit_s: float, more: Sequence[str], asked: Sequence[str] = ()
) -> tuple[dict[str, Any] | None, list[str]]:
    """The document, or None; and the lines of standard error that say what went wrong."""
    environment = {**os.environ, "PYTHONPATH": module_paths()}
    seconds = limit_s * len(unit.files)
    # Ends nvcc and what it calls, too.
    words = [*command_line(unit, more), *asked]
    ended = run_to_end(words, environment, seconds, folder)
    if ended.status is None:
        return None, [f"time-out after {limit_s:g} s"]
    errors = ended.errors.decode(errors="replace")
    lines = [line for line in errors.splitlines() if line.strip() and not line.startswith(" ")]
    try:
        return json.loads(ended.output.decode(errors="replace")), lines
    except json.JSONDecodeError:
        return None, lines[-1:]  # a traceback ends with what went wrong


def _verdicts(program: ProgramFiles, document: dict[str, Any]) -> Iterator[LaunchVerdict]:
    seen: Counter[tuple[str, int, str]] = Counter()
    last = 0
    for site in document["launches"]:
        if site["id"] <= last:  # the next unit, which may include the same header
            seen.clear()
        last = site["id"]
        file = _relative(site["file"], program.folder)
        key = (file, site["line"], site["kernel"])
        seen[key] += 1
        yield LaunchVerdict(
            program.set,
            program.name,
            *key,
            seen[key],
            site["verdict"],
            site["code"],
            site["reason"],
            tuple(site["pure_dimensions"]),
            site["guards"],
            _needs_warps(document, site),
        )


def _needs_warps(document: dict[str, Any], site: dict[str, Any]) -> bool:
    named = [k for k in document["kernels"] if k["kernel"] == site["kernel"]]
    near = [k for k in named if site["id"] in k["launches"] and k["file"] == site["file"]]
    return any(kernel["needs_warps"] for kernel in near or named)


def _relative(path: str, folder: Path) -> str:
    """As seen from the program's folder, whatever the machine."""
    return os.path.relpath(folder / path, folder)


def _children_seconds() -> float:
    times = os.times()
    return times.children_user + times.children_system
