"""How many programs of a public collection run on the emulated device: draws, builds, runs, sorts.

    python -m benchmarks.public_programs build COLLECTION WORK
    python -m benchmarks.public_programs run --limit 60 WORK [NAME …]
    python -m benchmarks.public_programs table WORK

A program is a folder with a Makefile whose target `run` starts it. The sorted names of all folders
that end in the suffix are put into a random order by the written-down state; the first COUNT that
this machine's nvcc compiles are the sample. Nothing is edited: the Makefile is called with the
NVCC_APPEND_FLAGS that `cutune run` prints, in a copy of the folder.

`run` takes the first command of `make -n run`. To be small enough for an emulator, its last whole
number (in this field nearly always the number of repetitions) becomes 1 and others above 4096
become 4096; where a program ends with an error that way, it is run again with its own numbers, and
where it does not end, with numbers of at most 256. Time is processor time.
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
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cutune.emulator.link import append_flags
from cutune.emulator.run import program_environment
from cutune.toolchain import find_nvcc

STATE = 20261121
COUNT = 200
LARGEST, SMALL = 4096, 256
BUILD_LIMIT_S = 900
MEMORY_BYTES = 6 << 30
FILE_BYTES = 1 << 30
PATIENCE = 20  # seconds of waiting per second of the limit, on a busy machine

_PASSED = re.compile(r"\b(pass(ed)?|success(ful|fully)?|correct|verified|ok)\b", re.IGNORECASE)
_WRONG = re.compile(
    r"\b(fail(ed|ure)?|incorrect|mismatch(es|ed)?|wrong|not correct|error at)\b", re.IGNORECASE
)
_NO_HARM = re.compile(r"\b(0|no|not|without|never|if)\s+\w*\s*(fail|mismatch|error|wrong)", re.I)
_NO_INPUT = re.compile(
    r"no such (file|folder|directory)|(could not|cannot|can't|can not|unable to|failed to|not able "
    r"to) (open|find|load|import|read)|cannot be opened|file open fail|error opening|input file",
    re.IGNORECASE,
)
_PATH = re.compile(r"/|\.[A-Za-z]")
_REFUSED = re.compile(r"^(cutune: .*not supported.*|PTX line .*)$", re.MULTILINE)
_FAULT = re.compile(
    r"^cutune: (?!.*not supported)(illegal|misaligned|trap|deadlock|assert|copy|cuda|out of|"
    r"kernel|launch|time|it |.*: ).*$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Outcome:
    """What became of a program. `kind` is one of KINDS; `said` the lines that tell why."""

    name: str
    kind: str
    command: str = ""
    seconds: float = 0.0
    status: int = 0
    said: str = ""


#: From good to bad, with what each means.
KINDS = {
    "passed": "ended, and its own check passed",
    "ended": "ended with status 0; it prints no check",
    "time-out": "was still running at the limit, without a complaint",
    "no input": "ended with an error status because a file is not in the collection",
    "not started": "its Makefile has no `run` command",
    "memory": "wanted more memory than it was given",
    "unsupported": "uses an instruction or call that the emulated device refuses",
    "no build": "compiles with plain nvcc, but not for the emulated device",
    "fault": "ended by an error that the emulated device reported",
    "error": "ended with an error status of its own",
    "crash": "ended by a signal",
    "wrong": "its own check failed",
}


def draw(collection: Path, suffix: str) -> list[str]:
    """All program folders in the order in which they are tried."""
    names = sorted(
        path.name
        for path in collection.iterdir()
        if path.name.endswith(suffix) and (path / "Makefile").exists()
    )
    return random.Random(STATE).sample(names, len(names))


def build(collection: Path, work: Path, suffix: str, count: int) -> None:
    """Build programs in their order until `count` compile; what was built before is kept."""
    tree = work / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    for path in collection.iterdir():
        if not (tree / path.name).exists():
            (tree / path.name).symlink_to(path)
    record = work / "builds.json"
    built: dict[str, str] = json.loads(record.read_text()) if record.exists() else {}
    for name in draw(collection, suffix):
        if sum(how != "does not compile" for how in built.values()) >= count:
            break
        if name not in built:
            built[name] = _build_one(collection / name, tree / name)
            record.write_text(json.dumps(built, indent=1))
            print(f"{len(built):4d} {name}: {built[name]}", flush=True)


def _build_one(source: Path, folder: Path) -> str:
    """`built`, `no build` when only plain nvcc compiles it, or `does not compile`."""
    if folder.is_symlink():
        folder.unlink()
        shutil.copytree(source, folder, symlinks=True)
    flags = append_flags(find_nvcc())
    if _make(folder, "compute_80", {"NVCC_APPEND_FLAGS": flags}):
        return "built"
    subprocess.run(["make", "clean"], cwd=folder, capture_output=True, check=False)
    return "no build" if _make(folder, "sm_80", {}) else "does not compile"


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
    if ended and (refused := _REFUSED.search(text)):
        kind, said = "unsupported", refused.group()
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


def judge(text: str, status: int, absent: str = "") -> tuple[str, str]:
    """The kind of outcome of a program that ended, and the lines that decided it.

    `absent` is a file that the command line names and the collection lacks.
    """
    if refused := _REFUSED.search(text):
        return "unsupported", refused.group()
    if fault := _FAULT.search(text):
        return ("memory" if "out of device memory" in fault.group() else "fault"), fault.group()
    if status and (missing := _NO_INPUT.search(text)):
        return "no input", " ".join(text[: missing.end() + 60].split())[-160:]
    if status and absent:
        return "no input", absent
    if status < 0:
        return "crash", f"{signal.Signals(-status).name}: {' '.join(text.split())[-200:]}"
    wrong = [
        line for line in text.splitlines() if _WRONG.search(line) and not _NO_HARM.search(line)
    ]
    if wrong:
        return "wrong", wrong[0].strip()
    if status:
        return "error", f"status {status}: {' '.join(text.split())[-200:]}"
    passed = next((line for line in text.splitlines() if _PASSED.search(line)), "")
    return ("passed", passed.strip()) if passed else ("ended", "")


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


def run(work: Path, names: Sequence[str], limit_s: float) -> None:
    """Run the programs that were built, or those named; outcomes are kept in results.json."""
    built: dict[str, str] = json.loads((work / "builds.json").read_text())
    record = work / "results.json"
    known = json.loads(record.read_text()) if record.exists() else {}
    for name in names or [n for n, how in built.items() if how == "built" and n not in known]:
        outcome = run_one(work / "tree" / name, limit_s)
        known[name] = asdict(outcome)
        record.write_text(json.dumps(known, indent=1))
        print(f"{name}: {outcome.kind} {outcome.seconds} s {outcome.said}", flush=True)


def table(work: Path) -> None:
    """Outcomes with their programs, as Markdown."""
    built: dict[str, str] = json.loads((work / "builds.json").read_text())
    known = json.loads((work / "results.json").read_text())
    results = {name: Outcome(**known[name]) for name in known if name in built}
    for name, how in built.items():
        if how == "no build":
            results[name] = Outcome(name, "no build")
    counts = Counter(outcome.kind for outcome in results.values())
    print(f"{len(built)} tried, {len(results)} compile\n")
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
    running.add_argument("--limit", type=float, default=60.0)
    verbs.add_parser("table").add_argument("work", type=Path)
    options = parser.parse_args()
    if options.verb == "build":
        build(options.collection, options.work.resolve(), options.suffix, options.count)
    elif options.verb == "run":
        run(options.work.resolve(), options.names, options.limit)
    else:
        table(options.work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
