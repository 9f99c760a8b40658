"""How many programs of a public collection run on the emulated device: draws, builds, runs, sorts.

    python -m benchmarks.public_programs build [--jobs N] COLLECTION WORK
    python -m benchmarks.public_programs run [--jobs N] --limit 60 WORK [NAME …]
    python -m benchmarks.public_programs load WORK
    python -m benchmarks.public_programs compare WORK
    python -m benchmarks.public_programs table WORK

A program is a folder with a Makefile whose target `run` starts it. The sorted names of all folders
that end in the suffix are put into a random order by the written-down state; the first COUNT that
this machine's nvcc compiles are the sample. Nothing is edited: the Makefile is called with the
NVCC_APPEND_FLAGS that `cutune run` prints, in a copy of the folder.

`load` assembles all PTX of each program, whether it is reached or not, and looks for calls that the
replacement libcudart lacks.

`run` takes the first command of `make -n run`. To be small enough for an emulator, its last whole
number (in this field nearly always the number of repetitions) becomes 1 and others above 4096
become 4096; where a program ends with an error that way, it is run again with its own numbers,
and where it does not end, with numbers of at most 256. Time is processor time.

`compare` wants a GPU: it runs the same files with the same command lines under NVIDIA's libcudart,
and names the programs that print another result there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from benchmarks.outcomes import KINDS, Outcome, different_lines, judge, refused
from cutune.emulator.assemble import assemble
from cutune.emulator.link import append_flags, runtime_library
from cutune.emulator.run import program_environment
from cutune.ptx.types import PtxError
from cutune.toolchain.nvcc import find_nvcc

STATE = 20261121
COUNT = 200
LARGEST, SMALL = 4096, 256
BUILD_LIMIT_S = 900
MEMORY_BYTES = 6 << 30
FILE_BYTES = 1 << 30
DOES_NOT_COMPILE = "does not compile"
PATIENCE = 20  # seconds of waiting per second of the limit, on a busy machine

_PTX = re.compile(rb"\.version \d+\.\d+\s*\n[^\0]*\0")
_PATH = re.compile(r"/|\.[A-Za-z]")


def draw(collection: Path, suffix: str) -> list[str]:
    """All program folders in the order in which they are tried."""
    names = sorted(
        path.name
        for path in collection.iterdir()
        if path.name.endswith(suffix) and (path / "Makefile").exists()
    )
    return random.Random(STATE).sample(names, len(names))


def build(collection: Path, work: Path, suffix: str, count: int, jobs: int) -> None:
    """Build programs in their order until `count` compile; what was built before is kept."""
    tree = work / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    for path in collection.iterdir():
        if not (tree / path.name).exists():
            (tree / path.name).symlink_to(path)
    record = work / "builds.json"
    built: dict[str, str] = json.loads(record.read_text()) if record.exists() else {}
    append_flags(find_nvcc())  # what all builds need, once
    untried = [name for name in draw(collection, suffix) if name not in built]
    while untried and (missing := count - _compiled(built)) > 0:
        lot, untried = untried[:missing], untried[missing:]
        for name in lot:  # all before the first is built: some include files of others
            _copy(collection / name, tree / name)
        with ThreadPoolExecutor(jobs) as pool:
            folders = [tree / name for name in lot]
            for name, how in zip(lot, pool.map(_build_one, folders), strict=True):
                built[name] = how
                record.write_text(json.dumps(built, indent=1))
                print(f"{len(built):4d} {name}: {how}", flush=True)


def _compiled(built: Mapping[str, str]) -> int:
    return sum(how != DOES_NOT_COMPILE for how in built.values())


def _copy(source: Path, folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
        shutil.copytree(source, folder, symlinks=True)


def _build_one(folder: Path) -> str:
    """`built`, `no build` when only plain nvcc compiles it, or that it does not compile."""
    flags = append_flags(find_nvcc())
    if _make(folder, "compute_80", {"NVCC_APPEND_FLAGS": flags}):
        return "built"
    subprocess.run(["make", "clean"], cwd=folder, capture_output=True, check=False)
    return "no build" if _make(folder, "sm_80", {}) else DOES_NOT_COMPILE


def _make(folder: Path, architecture: str, settings: Mapping[str, str]) -> bool:
    command = ["make", "CC=nvcc", f"ARCH={architecture}"]
    with (folder / "build.log").open("a") as log:
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, **settings},
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=BUILD_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def commands(folder: Path) -> list[list[str]]:
    """Command lines to try: the reduced one first, then the program's own with one repetition."""
    done = subprocess.run(
        ["make", "-n", "run", "CC=nvcc", "ARCH=compute_80", "LAUNCHER="],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    for line in done.stdout.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        at = next((k for k, word in enumerate(words) if (folder / word).is_file()), len(words))
        if at < len(words) and os.access(folder / words[at], os.X_OK):
            argv = [word for word in words[at:] if word not in ("2>&1", "&")]
            tried = [reduced(argv), with_one_repetition(argv), argv]
            return [list(each) for each in dict.fromkeys(map(tuple, tried))]
    return []


def with_one_repetition(argv: Sequence[str]) -> list[str]:
    """The last whole number becomes 1."""
    numbers = [k for k, word in enumerate(argv) if k and word.isdigit()]
    return [("1" if numbers and k == numbers[-1] else word) for k, word in enumerate(argv)]


def reduced(argv: Sequence[str], largest: int = LARGEST) -> list[str]:
    """One repetition, and no whole number above the largest."""
    words = with_one_repetition(argv)
    return [str(min(int(word), largest)) if word.isdigit() else word for word in words]


def execute(folder: Path, argv: Sequence[str], limit_s: float) -> Outcome:
    """Run a program once and judge it by what it printed."""
    log = folder / "run.log"
    program = folder / argv[0]
    environment = program_environment(program)
    environment["CUTUNE_EMULATOR_THREADS"] = "1"  # seconds are those of one core
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(program.resolve()), *argv[1:]],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
        ended, seconds = _wait(process, limit_s)
    text = log.read_bytes().decode("utf-8", "replace")
    absent = next((w for w in argv[1:] if _PATH.search(w) and not (folder / w).exists()), "")
    kind, said = judge(text, process.returncode, absent) if not ended else (ended, "")
    if ended and (why := refused(text)):
        kind, said = "unsupported", why
    return Outcome(
        folder.name,
        kind,
        shlex.join(argv),
        round(seconds, 1),
        process.returncode,
        said[:300],
    )


def _wait(process: subprocess.Popen[bytes], limit_s: float) -> tuple[str, float]:
    """Why the program was ended (empty: it ended by itself), and its processor time in seconds."""
    begin = time.monotonic()
    spent = 0.0
    while True:
        try:
            process.wait(0.3)
            return "", spent
        except subprocess.TimeoutExpired:
            spent = max(spent, _processor_seconds(process.pid))
            waited = time.monotonic() - begin
            why = "time-out" if spent > limit_s or waited > PATIENCE * limit_s else ""
            if _resident_bytes(process.pid) > MEMORY_BYTES:
                why = "memory"
            if why:
                process.send_signal(signal.SIGKILL)
                process.wait()
                return why, spent


def _processor_seconds(process: int) -> float:
    try:
        # After the name in parentheses: state, 10 numbers, then user and system time.
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def _resident_bytes(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096
    except (OSError, IndexError):
        return 0


def run_one(folder: Path, limit_s: float) -> Outcome:
    """The outcome with the first command line that the program accepts.

    An error status without a word may mean that the numbers are too small for it; a failed check
    counts unless the program's own numbers pass it.
    """
    worst: Outcome | None = None
    for argv in commands(folder):
        outcome = execute(folder, argv, limit_s)
        if outcome.kind in ("passed", "ended", "unsupported", "no input"):
            return outcome
        if outcome.kind == "time-out":
            if worst is not None and worst.kind == "wrong":
                return worst
            return _small(folder, argv, limit_s) or outcome
        if worst is None or list(KINDS).index(outcome.kind) > list(KINDS).index(worst.kind):
            worst = outcome
    return worst or Outcome(folder.name, "not started")


def _small(folder: Path, argv: Sequence[str], limit_s: float) -> Outcome | None:
    """The outcome with numbers of at most SMALL, if there are others and the program takes them."""
    small = reduced(argv, SMALL)
    if small == list(argv):
        return None
    outcome = execute(folder, small, limit_s)
    return outcome if outcome.kind in ("passed", "ended", "wrong", "fault") else None


def run(work: Path, names: Sequence[str], limit_s: float, jobs: int) -> None:
    """Run the programs that were built, or those named; outcomes are kept in results.json."""
    built: dict[str, str] = json.loads((work / "builds.json").read_text())
    record = work / "results.json"
    known = json.loads(record.read_text()) if record.exists() else {}
    writing = threading.Lock()

    def run_and_keep(name: str) -> None:
        outcome = run_one(work / "tree" / name, limit_s)
        with writing:
            known[name] = asdict(outcome)
            record.write_text(json.dumps(known, indent=1))
            print(f"{name}: {outcome.kind} {outcome.seconds} s {outcome.said}", flush=True)

    chosen = names or [n for n, how in built.items() if how == "built" and n not in known]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run_and_keep, chosen))


def compare(work: Path, limit_s: float) -> None:
    """Run what ended on the emulated device on the GPU, and say what is printed differently."""
    known = json.loads((work / "results.json").read_text())
    ended = {name: entry for name, entry in known.items() if entry["kind"] in ("passed", "ended")}
    unequal = 0
    for name, entry in ended.items():
        folder = work / "tree" / name
        emulated = (folder / "run.log").read_bytes().decode("utf-8", "replace")
        argv = shlex.split(entry["command"])
        try:
            done = subprocess.run(
                [str((folder / argv[0]).resolve()), *argv[1:]],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            print(f"{name}: does not end on the GPU")
            continue
        printed = done.stdout.decode("utf-8", "replace")
        different = different_lines(emulated, printed)
        if done.returncode != entry["status"]:
            different.insert(0, f"status {entry['status']} | {done.returncode}")
        unequal += bool(different)
        for line in different[:12]:
            print(f"{name}: {line}", flush=True)
    print(f"{len(ended)} programs, {unequal} with lines that differ")


def load(work: Path) -> None:
    """Parts of each built program that the emulated device refuses; kept in loads.json."""
    built: dict[str, str] = json.loads((work / "builds.json").read_text())
    record = work / "loads.json"
    known = json.loads(record.read_text()) if record.exists() else {}
    missing = _missing_calls()
    for name in [n for n, how in built.items() if how == "built" and n not in known]:
        files = [path for path in (work / "tree" / name).rglob("*") if _is_program(path)]
        known[name] = sorted({why for path in files for why in _refused_parts(path, missing)})
        record.write_text(json.dumps(known, indent=1))
        print(f"{name}: {known[name] or 'loads'}", flush=True)


def _is_program(path: Path) -> bool:
    if path.is_symlink() or not path.is_file() or not os.access(path, os.X_OK):
        return False
    return path.read_bytes()[:4] == b"\x7fELF"


def _missing_calls() -> set[str]:
    """Entry points that the replacement library only refuses: weak, in place of any other."""
    library = runtime_library(find_nvcc())
    done = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True)
    return {
        words[-1].partition("@")[0]
        for words in map(str.split, done.stdout.splitlines())
        if words[-2] == "W"
    }


def _refused_parts(program: Path, missing: set[str]) -> Iterator[str]:
    done = subprocess.run(["nm", "-D", "-u", program], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        name = line.split()[-1].partition("@")[0]
        if name in missing and name.startswith("cuda"):
            yield name
    units = [m.group().rstrip(b"\0").decode("latin-1") for m in _PTX.finditer(program.read_bytes())]
    separate = b"__cudaRegisterLinkedBinary" in program.read_bytes()
    for text in ["\n".join(units)] if separate and units else units:
        try:
            assemble(text)
        except PtxError as error:
            yield error.reason


def table(work: Path) -> None:
    """Outcomes with their programs, as Markdown."""
    built: dict[str, str] = json.loads((work / "builds.json").read_text())
    known = json.loads((work / "results.json").read_text())
    results = {name: Outcome(**known[name]) for name in known if name in built}
    for name, how in built.items():
        if how == "no build":
            results[name] = Outcome(name, "no build")
    counts = Counter(outcome.kind for outcome in results.values())
    loads = json.loads((work / "loads.json").read_text())
    clean = sum(not loads[name] for name in results if name in loads)
    print(f"{len(built)} tried, {len(results)} compile, {clean} load\n")
    print("| outcome | programs | |\n|---|---|---|")
    for kind, meaning in KINDS.items():
        if counts[kind]:
            print(f"| {kind} | {counts[kind]} | {meaning} |")
    for kind in KINDS:
        print(f"\n{kind}: {', '.join(sorted(n for n, o in results.items() if o.kind == kind))}")
    for outcome in results.values():
        if outcome.kind not in ("passed", "ended", "time-out"):
            print(f"\n{outcome.name}: {outcome.kind}: `{outcome.command}`: {outcome.said}")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    verbs = parser.add_subparsers(dest="verb", required=True)
    building = verbs.add_parser("build")
    building.add_argument("collection", type=Path)
    building.add_argument("work", type=Path)
    building.add_argument("--suffix", default="-cuda")
    building.add_argument("--count", type=int, default=COUNT)
    running = verbs.add_parser("run")
    running.add_argument("work", type=Path)
    running.add_argument("names", nargs="*")
    comparing = verbs.add_parser("compare")
    comparing.add_argument("work", type=Path)
    for verb in (running, comparing):
        verb.add_argument("--limit", type=float, default=60.0)
    for verb in (building, running):
        verb.add_argument("--jobs", type=int, default=1)
    verbs.add_parser("load").add_argument("work", type=Path)
    verbs.add_parser("table").add_argument("work", type=Path)
    options = parser.parse_args()
    if options.verb == "build":
        build(
            options.collection, options.work.resolve(), options.suffix, options.count, options.jobs
        )
    elif options.verb == "run":
        run(options.work.resolve(), options.names, options.limit, options.jobs)
    elif options.verb == "compare":
        compare(options.work.resolve(), options.limit)
    elif options.verb == "load":
        load(options.work.resolve())
    else:
        table(options.work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
