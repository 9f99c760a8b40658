"""Times every value set of the programs of a set of tiles, on a machine with a GPU.

    python3 -m benchmarks.tile_sweep OUTPUT.json [--set tiles_second] [--seconds 460] [NAME …]

Needs nothing but Python and nvcc. Builds all on all cores, then runs one process after the other,
each for all sizes of a value set; launches are timed by `tile_timing.cpp`. Every value set has a
run, then every one another in reverse order, so that a clock that drifts favours none; the median
counts. Results are compared with those of the program's own values. OUTPUT is written after each
process; called again, the sweep goes on where it ended. Prints the best values per program and
size. `--nvcc-flags` takes the place of `-arch` for the GPU that is there.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from statistics import median
from threading import get_ident
from typing import Any

from benchmarks.tile_programs import SETS, TileProgram, Values, tile_programs

Json = dict[str, Any]
TIMING = Path(__file__).with_name("tile_timing.cpp")
REPETITIONS, ROUNDS = 15, 2
#: A process may take so long; those of the slowest values take a few.
RUN_SECONDS = 60.0
#: Results, and numbers that programs print, may differ by so much of the largest.
TOLERANCE = 1e-4
WRAPPED = (
    "cudaLaunchKernel",
    "__cudaLaunchKernel",
    "__cudaGetKernel",
    "cudaMalloc",
    "cudaFree",
    "cudaMemcpy",
)
METHOD = (
    f"CUDA events around each launch, repeated in place: median of {REPETITIONS} after 10 ms of"
    " warm-up, launches below 0.2 ms several in a row, L2 not flushed; a program's time is the sum"
    f" of its launches, and the median of {ROUNDS} processes"
)


@dataclass(frozen=True)
class Job:
    """A program at some values."""

    program: TileProgram
    values: Values

    @property
    def key(self) -> str:
        """Values as text, such as `TILE=16`."""
        named = self.program.named(self.values)
        return ",".join(f"{name}={value}" for name, value in named.items())


# ---- builds


@dataclass(frozen=True)
class Builds:
    """Programs that are compiled once."""

    folder: Path
    flags: Sequence[str]

    def timing(self) -> Path:
        """What times launches, as an object. Ends the sweep where it does not compile."""
        made = self._made("timing", ".o", TIMING.read_text(), ["-c", str(TIMING)])
        if isinstance(made, str):
            sys.exit(made)
        return made

    def program(self, job: Job, timing: Path) -> Path | str:
        """A program, or why there is none."""
        name, text = job.program.name, job.program.source(job.values)
        source = self.folder / f"{name}-{sha256(text.encode()).hexdigest()[:16]}.cu"
        if not source.exists():
            _write(source, text)
        wrapped = ",".join(f"--wrap={function}" for function in WRAPPED)
        words = ["-Dmain=tiles_main", *job.program.flags(job.values), str(source), str(timing)]
        return self._made(name, "", text, [*words, "-Xlinker", wrapped])

    def _made(self, name: str, ending: str, text: str, words: Sequence[str]) -> Path | str:
        asked = json.dumps([text, *self.flags, *words])
        path = self.folder / f"{name}-{sha256(asked.encode()).hexdigest()[:16]}{ending}"
        if path.exists():
            return path
        # A name of its own until it is whole.
        part = path.with_suffix(f".{get_ident()}.part{ending}")
        command = ["nvcc", "-O2", "-std=c++17", *self.flags, *words, "-o", str(part)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if "error" in line]
            return f"not compiled: {(said or [done.stderr.strip()])[0][:300]}"
        os.replace(part, path)
        return path


def _write(path: Path, text: str) -> None:
    """Write a file so that nobody sees half of it."""
    # Several threads may write the same text.
    part = path.with_name(f"{path.name}.{get_ident()}.part")
    part.write_text(text)
    os.replace(part, path)


# ---- runs


def run(job: Job, binary: Path, references: Path, is_reference: bool, seconds: float) -> Json:
    """All sizes of a value set: per size launches and outputs, as the program's answers say."""
    sizes = job.program.sizes.items()
    words = [" ".join([name, *map(str, arguments)]) for name, arguments in sizes]
    use = "write" if is_reference else "compare"
    command = f"{REPETITIONS} {references} {use} {job.program.outputs} {' -- '.join(words)}"
    try:
        done = subprocess.run(
            [str(binary), *command.split()],
            env={"CUDA_VISIBLE_DEVICES": "0", **os.environ},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {name: {"ok": False, "said": "took too long"} for name, _ in sizes}
    answers = answers_of(done.stdout)
    lost: Json = {"status": done.returncode, "said": done.stderr.strip()[-300:]}
    return {name: {**lost, **answers.get(name, {})} for name, _ in sizes}


def answers_of(output: str) -> dict[str, Json]:
    """What a process has said, size by size; no status where it ended before."""
    found: dict[str, Json] = {}
    for part in re.split(r"^@size ", output, flags=re.MULTILINE)[1:]:
        name, *lines = part.splitlines()
        answer: Json = {"launches": [], "errors": [], "printed": []}
        for line in lines:
            word, _, rest = line.partition(" ")
            if word == "@launch":
                answer["launches"].append(json.loads(rest))
            elif word == "@output":
                answer["errors"].append(json.loads(rest)["error"])
            elif word == "@status":
                answer["status"] = int(rest)
            elif word == "@failed":
                answer["said"] = rest
            else:
                answer["printed"].append(line)
        found[name] = answer
    return found


def is_right(answer: Json, reference: Json) -> bool:
    """Does a run say and leave what the own values do?"""
    if answer.get("status") != 0 or not answer.get("launches") or not answer.get("errors"):
        return False
    is_near = max(answer["errors"]) <= TOLERANCE
    return is_near and agree(answer["printed"], reference.get("printed", []))


def agree(one: Sequence[str], other: Sequence[str]) -> bool:
    """Are two outputs the same words, and nearly the same numbers?"""
    words, wanted = " ".join(one).split(), " ".join(other).split()
    return len(words) == len(wanted) and all(map(_is_near, words, wanted))


def _is_near(word: str, wanted: str) -> bool:
    if word == wanted:
        return True
    try:
        # Without the comma behind it; whole numbers must be the same.
        found, expected = float(word.rstrip(",:")), float(wanted.rstrip(",:"))
    except ValueError:
        return False
    return "e" in wanted and math.isclose(found, expected, rel_tol=TOLERANCE)


# ---- results


@dataclass
class Results:
    """What is known: per program, values and size the times of all rounds."""

    path: Path
    data: Json = field(default_factory=dict)

    def load(self) -> Results:
        """Read what is there."""
        if self.path.exists():
            self.data = json.loads(self.path.read_text())
        self.data.setdefault("method", METHOD)
        self.data.setdefault("programs", {})
        return self

    def of(self, job: Job) -> Json:
        """The entry of a value set."""
        programs = self.data["programs"]
        own = {"own": Job(job.program, job.program.own).key, "sizes": job.program.sizes}
        program = programs.setdefault(job.program.name, {**own, "references": {}, "sets": {}})
        empty: Json = {"values": job.program.named(job.values), "rounds": 0, "sizes": {}}
        entry: Json = program["sets"].setdefault(job.key, empty)
        return entry

    def references(self, program: TileProgram) -> Json:
        """What the own values printed, per size."""
        found: Json = self.data["programs"].get(program.name, {}).get("references", {})
        return found

    def add(self, job: Job, answers: Mapping[str, Json]) -> None:
        """Take one run in, and write the file."""
        entry, references = self.of(job), self.references(job.program)
        entry["rounds"] += 1
        for size, answer in answers.items():
            known = entry["sizes"].setdefault(size, {"ok": True, "rounds": []})
            known["ok"] = known["ok"] and is_right(answer, references.get(size, {}))
            if not known["ok"]:
                kept = ("status", "said", "printed", "errors")
                known["failure"] = {k: answer[k] for k in kept if k in answer}
                continue
            known["error"] = max(answer["errors"])
            known["rounds"].append([one.pop("milliseconds") for one in answer["launches"]])
            known["milliseconds"] = round(median(map(sum, known["rounds"])), 6)
            known["launches"] = answer["launches"]
        self.save()

    def save(self) -> None:
        """Write the file, whole or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        _write(self.path, json.dumps(self.data))


# ---- the sweep


def sweep(results: Results, programs: Sequence[TileProgram], builds: Builds, end: float) -> bool:
    """Build and run everything, as long as there is time; is it complete?"""
    jobs = [Job(program, values) for program in programs for values in program.value_sets()]
    start = time.monotonic()
    timing = builds.timing()

    def built(job: Job) -> Path | str:
        return builds.program(job, timing) if time.monotonic() < end else "no time"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        binaries = dict(zip(jobs_keys(jobs), pool.map(built, jobs), strict=True))
    print(f"{len(jobs)} programs built in {time.monotonic() - start:.0f} s", flush=True)
    for job in jobs:
        binary = binaries[job.program.name, job.values]
        if isinstance(binary, str) and binary != "no time":
            results.of(job)["failure"] = binary
            print(f"{job.program.name} {job.key}: {binary}", flush=True)
    unknown: set[str] = set()
    for job, is_reference in plan(results, jobs, builds.folder):
        binary = binaries[job.program.name, job.values]
        if isinstance(binary, str) or job.program.name in unknown:
            continue
        left = end - time.monotonic()
        if left <= 0:
            return False
        folder = references_of(builds.folder, job.program)
        folder.mkdir(parents=True, exist_ok=True)
        answers = run(job, binary, folder, is_reference, min(left, RUN_SECONDS))
        if time.monotonic() >= end:
            return False
        if not is_reference:
            results.add(job, answers)
        elif not keep_references(results, job, answers, folder):
            unknown.add(job.program.name)
    return "no time" not in binaries.values() and not unknown


def jobs_keys(jobs: Sequence[Job]) -> list[tuple[str, Values]]:
    """What tells jobs apart."""
    return [(job.program.name, job.values) for job in jobs]


def plan(results: Results, jobs: Sequence[Job], folder: Path) -> Iterator[tuple[Job, bool]]:
    """Runs that are missing: of own values for their results, then rounds there and back."""
    for job in jobs:
        is_whole = (references_of(folder, job.program) / "whole").exists()
        if job.values == job.program.own and not (is_whole and results.references(job.program)):
            yield job, True
    for number in range(ROUNDS):
        for job in jobs if number % 2 == 0 else reversed(jobs):
            if results.of(job)["rounds"] <= number:
                yield job, False


def references_of(folder: Path, program: TileProgram) -> Path:
    """Where the results of a program's own values are kept."""
    return folder / "references" / program.name


def keep_references(results: Results, job: Job, answers: Mapping[str, Json], folder: Path) -> bool:
    """Take the results of the own values as right, where the program itself says so of all."""
    if wrong := {size: one for size, one in answers.items() if one.get("status") != 0}:
        print(f"{job.program.name} fails, and is left out: {wrong}", flush=True)
        return False
    results.of(job)
    for size, answer in answers.items():
        results.references(job.program)[size] = {"printed": answer["printed"]}
    (folder / "whole").touch()
    results.save()
    return True


def summary(results: Results) -> Iterator[str]:
    """A line per program and size: the best values, and the own ones."""
    for name, program in sorted(results.data["programs"].items()):
        sets = program["sets"]
        for size in program["sizes"]:
            of_size = {key: one["sizes"].get(size, {}) for key, one in sets.items()}
            times = {k: s["milliseconds"] for k, s in of_size.items() if s.get("ok")}
            wrong = sum(s.get("ok") is False for s in of_size.values())
            line = f"{name:18}{size:7} {len(times)} of {len(sets)} sets, {wrong} wrong"
            if times:
                best = min(times, key=times.__getitem__)
                line += f"; best {times[best]:.4f} ms {best}"
            if own := times.get(program["own"]):
                line += f"; own {own:.4f} ms, {own / times[best]:.2f} times, {program['own']}"
            yield line


def about() -> dict[str, str]:
    """The GPU, its driver and its compute capability."""
    asked = "--query-gpu=name,driver_version,compute_cap"
    query = ["nvidia-smi", asked, "--format=csv,noheader"]
    # Several GPUs of a machine are alike.
    said = subprocess.check_output(query, text=True).splitlines()[0]
    return dict(zip(("device", "driver", "compute_capability"), said.split(", "), strict=True))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--set", choices=SETS, default=SETS[0])
    parser.add_argument("--seconds", type=float, default=460.0)
    parser.add_argument("--builds", type=Path, default=Path("/tmp/tile_sweep"))
    parser.add_argument("--nvcc-flags", default="")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    options.builds.mkdir(parents=True, exist_ok=True)
    results = Results(options.output).load()
    if not options.nvcc_flags:
        results.data.update(about())
        options.nvcc_flags = f"-arch=sm_{results.data['compute_capability'].replace('.', '')}"
    programs = [
        p for p in tile_programs(options.set) if not options.names or p.name in options.names
    ]
    builds = Builds(options.builds.resolve(), shlex.split(options.nvcc_flags))
    start = time.monotonic()
    is_complete = sweep(results, programs, builds, end)
    results.save()
    print("\n".join(summary(results)))
    done = Counter(
        one["rounds"] for p in results.data["programs"].values() for one in p["sets"].values()
    )
    rounds = ", ".join(
        f"{count} sets with {number} rounds" for number, count in sorted(done.items())
    )
    complete = "complete" if is_complete else f"NOT COMPLETE, call again for {ROUNDS} rounds"
    print(f"{complete}: {rounds}; {time.monotonic() - start:.0f} s")
    return 0 if is_complete else 1


if __name__ == "__main__":
    sys.exit(main())
