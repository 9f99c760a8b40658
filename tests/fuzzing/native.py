"""Mutated PTX that the reader accepts, run on the machine as it is built with sanitizers.

    python -m tests.fuzzing.native --minutes 30 --processes 2 --seed 1 FOLDER

Launches are small and end after some thousand instructions. A batch runs in a process of its own,
which a sanitizer may end; what a module makes it say is a finding.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from cutune.core.diagnostics import CutuneError
from cutune.emulator import machine
from cutune.emulator.assemble import assemble
from cutune.emulator.build import build_library, machine_sources
from cutune.emulator.machine import LoadedModule, pointer
from cutune.emulator.module_metadata import AssembledModule, KernelCode
from tests.fuzzing.failures import failure_of
from tests.fuzzing.reader import ROOT, reader_named
from tests.support.launch_parameters import pack_parameters

SANITIZED = ("-O1", "-g1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined")
_SETTINGS = {
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:exitcode=77",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
GRIDS = (((1, 1, 1), (32, 1, 1)), ((2, 2, 1), (8, 5, 2)), ((3, 1, 2), (100, 1, 1)))
_INSTRUCTIONS = 20_000
_BUFFER_BYTES = 1 << 14
#: Where a sanitizer says what is wrong, or in which function of the machine.
_ERROR = re.compile(
    r"([\w.]+:\d+):\d+: runtime error: (.*)|AddressSanitizer: (?:CHECK failed: )?(\S+)"
)
_FRAME = re.compile(r"^\s*#\d+ .* in (.*) \S*/native/(\S+?)(?::\d+)?$", re.MULTILINE)


@dataclass
class Summary:
    """What a run has seen."""

    modules: int = 0
    launches: int = 0
    findings: dict[str, str] = field(default_factory=dict)


def checked_library() -> Path:
    """The machine with sanitizers."""
    return build_library("cutune_machine_checked", machine_sources(), SANITIZED, SANITIZED, ())


def launched(module: AssembledModule, kernel: KernelCode, way: int, _: bytes) -> None:
    """Launch a kernel with small sizes and buffers; a diagnostic is as good an end as any."""
    grid, block = GRIDS[way % len(GRIDS)]
    array = np.zeros(_BUFFER_BYTES, np.uint8)
    address = pointer(array)
    values: list[Any] = [_value(p.type, p.size, array) for p in kernel.parameters]
    is_ghost = way % 2 == 1
    try:
        LoadedModule(module).run(
            *(kernel.name, grid, block, pack_parameters(kernel, *values)),
            shared_bytes=1024,
            trace=is_ghost,
            ghosts=(address, _BUFFER_BYTES) if is_ghost else None,
            instruction_limit=_INSTRUCTIONS,
            buffers=() if is_ghost else (array,),
            threads=1,
        )
    except CutuneError as error:
        error.diagnostic.render()


def _value(kind: str, size: int, array: np.ndarray[Any, Any]) -> Any:
    if kind in ("f32", "f64"):
        return 1.5
    if size == 8:
        return array
    if size > 8:  # a structure of pointers
        return (pointer(array).to_bytes(8, "little") * (size // 8 + 1))[:size]
    return 37


def run_batch(seeds: Path, current: Path, seed: int, seconds: float) -> None:
    """Mutate, launch, and say on standard output what was done; the input is in a file before."""
    reader = reader_named("ptx")
    texts = [path.read_bytes() for path in sorted(seeds.iterdir())]
    until = time.monotonic() + seconds
    rng = random.Random(seed)
    said = os.fstat(2).st_size
    while time.monotonic() < until:
        data = rng.choice(texts)
        if rng.random() < 0.98:
            data = reader.mutated(data, rng.getrandbits(40), reader.most_bytes)
        current.write_bytes(data)  # before anything that may not end
        try:
            module = assemble(data.decode("latin-1"))
        except Exception:  # it is refused, or another target's finding
            continue
        for way, kernel in enumerate(islice(module.kernels.values(), 2)):
            use = partial(launched, module, kernel, rng.randrange(6) + way)
            failure = failure_of(data, use, 20.0)
            if failure is not None:
                print(failure.trace, file=sys.stderr, flush=True)
        print("done", len(module.kernels), flush=True)
        if os.fstat(2).st_size != said:  # one finding at a time
            sys.exit(78)


def _batch(
    folder: Path, number: int, seeds: Path, library: Path, seconds: float
) -> subprocess.Popen[bytes]:
    own = folder / str(number)
    own.mkdir()
    # The library for exceptions, too: a sanitizer looks for what it replaces as it starts.
    preloaded = " ".join(map(_found_by_compiler, ("libasan.so", "libstdc++.so")))
    words = ["--batch", str(seeds), str(own / "current.ptx"), str(number), str(seconds)]
    with open(own / "out", "wb") as out, open(own / "errors", "wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.fuzzing.native", *words, str(library)],
            env={**os.environ, **_SETTINGS, "LD_PRELOAD": preloaded},
            cwd=ROOT,
            stdout=out,
            stderr=errors,
        )


def _found_by_compiler(name: str) -> str:
    words = ["g++", f"-print-file-name={name}"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def run(minutes: float, processes: int, seed: int, folder: Path) -> Summary:
    """Batches until the time is over."""
    until = time.monotonic() + 60 * minutes
    folder.mkdir(parents=True, exist_ok=True)
    library, summary = checked_library(), Summary()
    with tempfile.TemporaryDirectory() as made:
        seeds = Path(made) / "seeds"
        seeds.mkdir()
        for number, data in enumerate(reader_named("ptx").seeds()):
            (seeds / f"{number:04}").write_bytes(data)
        number = seed * 100_000
        running: dict[int, subprocess.Popen[bytes]] = {}
        while running or time.monotonic() < until - 2:
            while len(running) < processes and (rest := until - time.monotonic()) > 2:
                number += 1
                running[number] = _batch(Path(made), number, seeds, library, rest)
            for one, process in list(running.items()):
                if process.poll() is None and time.monotonic() > until + 30:
                    process.kill()
                if process.poll() is not None:
                    del running[one]
                    _note(summary, Path(made) / str(one), process.returncode, folder)
            time.sleep(0.05)
    lines = [f"{summary.modules} modules, {len(summary.findings)} findings"]
    lines += [f"{place}: {message}" for place, message in summary.findings.items()]
    (folder / "summary.txt").write_text("\n".join(lines) + "\n")
    return summary


def _note(summary: Summary, own: Path, status: int, folder: Path) -> None:
    summary.modules += (own / "out").read_bytes().count(b"done")
    said = (own / "errors").read_text(errors="replace")
    if status == 0 and not said:
        return
    place = place_of(said, status)
    if place in summary.findings:
        return
    stem = folder / f"native-{len(summary.findings)}"
    current = own / "current.ptx"
    stem.with_suffix(".ptx").write_bytes(current.read_bytes() if current.exists() else b"")
    stem.with_suffix(".txt").write_text(f"{place}\n\n{said[:20_000]}\n")
    summary.findings[place] = said.strip()[:200]


def place_of(said: str, status: int) -> str:
    """A name for what happened: where a sanitizer speaks of, or the last line."""
    error, frame = _ERROR.search(said), _FRAME.search(said)
    if error is not None:
        where = error[1] or (frame and f"{frame[2]}, {frame[1]}")
        return f"{error[2] or error[3]} in {where}"
    return f"status {status}: {(said.strip().splitlines() or [''])[-1][:120]}"


def main(words: Sequence[str] | None = None) -> int:
    """The command line; status 1 when anything failed."""
    options = argparse.ArgumentParser(prog="python -m tests.fuzzing.native", description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--minutes", type=float, default=1.0)
    options.add_argument("--processes", type=int, default=1)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--batch", nargs=4, help=argparse.SUPPRESS)
    asked = options.parse_args(words)
    if asked.batch is not None:
        setattr(machine, "machine_library", lambda: asked.folder)  # noqa: B010 (imported there)
        seeds, current, seed, seconds = asked.batch
        run_batch(Path(seeds), Path(current), int(seed), float(seconds))
        return 0
    found = run(asked.minutes, asked.processes, asked.seed, asked.folder)
    print(f"native: {found.modules} modules, {len(found.findings)} findings")
    for place in found.findings:
        print(f"  {place}")
    return 1 if found.findings else 0


if __name__ == "__main__":
    sys.exit(main())
