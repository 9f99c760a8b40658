"""Whole commands of which a word or a file is damaged: `python -m tests.fuzzing.commands FOLDER`.

A command ends within its limits of CPU time and memory, without a traceback; where its status is
not 0 a message with a code says why; and `cutune nvcc` ends as nvcc itself does. FOLDER gets a
folder per finding, with the words, all files and what was said. No coverage guides this: the
readers below have targets of their own.
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
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cutune.cli.main import main as cutune
from cutune.cli.options import parser
from cutune.cli.parser import VERBS
from cutune.toolchain.device.profile import DeviceProfile
from tests.fuzzing.mutations import STRANGE, mutated
from tests.fuzzing.reader import ROOT, reader_named
from tests.support.killed_commands import WORKS

MOST_SECONDS, MOST_BYTES = 60, 2 << 30
_CODE = re.compile(r"\[CT\d+\]")
_FRAME = re.compile(r'File ".*?/(cutune/[^"]*)", line \d+, in (\w+)')
_SOURCES = ("tests/corpus/programs/*.cu", "tests/corpus/tiles/*.cu", "samples/polybench/*.cu")
#: Kinds that run no compiler, and are tried more often.
_CHEAP = (
    *(("select", ""), ("fit", ""), ("convert", ""), ("convert", ".csv"), ("fit", ".json")),
    *(("device", ""), ("device", ".json"), ("help", ""), ("bat", ""), ("report", "")),
)
_QUICK = ("-std=c++14", "--nvcc-flag=-arch=compute_80", "-q")
_RUN = ("--run", "./{program} {n}", "--vary", "n=100,200")


@dataclass(frozen=True)
class Command:
    """Words of cutune, and the files that they are about.

    Attributes:
        damaged: the name of the file that is mutated; "" for the words.
        reader: whose words mutations insert.
    """

    words: tuple[str, ...]
    files: Mapping[str, bytes]
    damaged: str
    reader: str

    def mutated(self, seed: int) -> Command:
        """A word, or the file, becomes another."""
        rng = random.Random(seed)
        if self.damaged:
            data = reader_named(self.reader).mutated(self.files[self.damaged], seed, 100_000)
            return replace(self, files={**self.files, self.damaged: data})
        words = list(self.words)
        for _ in range(rng.choice((1, 1, 2, 4))):
            _change(rng, words)
        return replace(self, words=tuple(words))


def _change(rng: random.Random, words: list[str]) -> None:
    """Another word behind the verb: one that is mutated, strange, or an option of the verb."""
    verb = parser().verbs().get(words[0])
    options = [*(verb.options if verb else ()), "-c"]
    place = rng.randrange(1, len(words) + 1)
    strange = str(rng.choice(STRANGE)).encode("utf-8", "replace").decode().replace("\0", "")
    action = rng.randrange(5)
    if action == 0:
        words[place : place + 1] = []
    elif action == 1:
        words[place:place] = [rng.choice(options)]
    elif action == 2:
        words[place:place] = [rng.choice(options), strange]
    elif place < len(words):
        text = mutated(rng, words[place], ["{n}", "{program}", "=", ",", "..", "-", "n=1", strange])
        # None that a system passes has more bytes, or this one.
        words[place] = text.replace("\0", "")[:20_000] if action == 3 else strange


@dataclass(frozen=True)
class Ended:
    """How a process has ended. A status below 0 is a signal."""

    status: int
    said: str
    megabytes: int


def run(words: Sequence[str], folder: Path) -> Ended:
    """Run cutune there, in a process and a session of its own."""
    said = folder.with_suffix(".said")
    pid = os.fork()
    if pid == 0:
        _cutune(words, folder, said)
    stop_at = time.monotonic() + 3 * MOST_SECONDS
    while (ended := os.wait4(pid, os.WNOHANG))[0] == 0:
        if time.monotonic() > stop_at:
            os.killpg(pid, signal.SIGKILL)
        time.sleep(0.005)
    _, status, _ = ended
    text = said.read_text("utf-8", "replace")
    used = re.search(r"most (\d+)$", text)
    return Ended(os.waitstatus_to_exitcode(status), text, int(used[1]) if used else 0)


def _cutune(words: Sequence[str], folder: Path, said: Path) -> None:
    os.setsid()
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, source in ((0, nothing), (1, file), (2, file)):
        os.dup2(source, number)
    sys.stdout = os.fdopen(1, "w", buffering=1, encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
    status = 70
    try:
        status = cutune(list(words))
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    used = (resource.getrusage(who).ru_maxrss for who in (0, resource.RUSAGE_CHILDREN))
    print(f"most {max(used) >> 10}", file=sys.stderr, flush=True, end="")
    os._exit(status)


def failure_of(command: Command, folder: Path) -> str:
    """What is wrong about how a command ends, by its place; "" where nothing is."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in command.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    ended = run(command.words, folder)
    if "Traceback (most" in ended.said:
        frames = _FRAME.findall(ended.said) or [("", "")]
        error = ended.said.strip().splitlines()[-2 if "\nmost" in ended.said else -1]
        return f"{error.partition(':')[0][:60]} in {' '.join(frames[-1])}"
    if ended.status < 0:
        return f"signal {-ended.status} in {command.words[0]}"
    if ended.megabytes > MOST_BYTES >> 20:
        return f"memory in {command.words[0]}"
    if command.words[0] == "nvcc":
        return _unlike_nvcc(command, folder, ended.status)
    if command.words[0] == "run":
        return ""  # its status is that of the program
    if ended.status not in (0, 1, 2, 3):
        return f"status {ended.status} of {command.words[0]}"
    if ended.status and not _CODE.search(ended.said):
        return f"no message of {command.words[0]}"
    return ""


def _unlike_nvcc(command: Command, folder: Path, status: int) -> str:
    own = subprocess.run(command.words, cwd=folder, capture_output=True, check=False).returncode
    return f"nvcc: {status}, not {own}" if bool(own) != bool(status) else ""


def commands(folder: Path) -> list[Command]:
    """Those that are damaged; a program is tuned for them in this folder."""
    found = [*_of_sources(), *of_tables()]
    work = WORKS["tune"](folder)
    work.reset()
    work.finish()
    root = folder / "work"
    files = {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.suffix != ".html"
    }
    found += _of_workspaces(files)
    return [*found, *(replace(one, damaged="") for one in found if one.damaged)]


def _of_sources() -> Iterator[Command]:
    for path in sorted(path for pattern in _SOURCES for path in ROOT.glob(pattern)):
        headers = {one.name: one.read_bytes() for one in path.parent.glob("*.h")}
        files = {"a.cu": path.read_bytes(), **headers}
        yield Command(("inspect", "a.cu", *_QUICK), files, "a.cu", "cuda")
        words = ("instrument", "a.cu", *_QUICK, "--variants=none", "-o", "out.cu")
        yield Command(words, files, "a.cu", "cuda")
        yield Command(
            ("nvcc", "-c", "a.cu", "-arch=compute_80", "-o", "a.o"), files, "a.cu", "cuda"
        )
    scripts = (ROOT / "tests/corpus/python").glob("*.py")
    for path in sorted(scripts):
        yield Command(("inspect", "a.py"), {"a.py": path.read_bytes()}, "a.py", "cuda")


def of_tables() -> Iterator[Command]:
    times = {"times.csv": b"n,block,ms\n100,32,0.5\n200,64,0.25\n200,32,\n"}
    words = ("--table", "times.csv", "--sizes", "n", "--choose", "block", "-o", "a.h")
    yield Command(("fit", *words), times, "times.csv", "csv")
    yield Command(("convert", "times.csv", "a.json", "--sizes=n"), times, "times.csv", "csv")
    for seed in reader_named("t1").seeds():
        words = ("inspect", "a.cu", "--tunables", "--space", "space.json", *_QUICK)
        files = {"a.cu": (ROOT / _SOURCES[2]).with_name("gemm.cu").read_bytes()}
        yield Command(words, {**files, "space.json": seed}, "space.json", "t1")
    gpu = json.dumps(DeviceProfile.named("h200").to_json()).encode()
    yield Command(("device", "./gpu.json"), {"gpu.json": gpu}, "gpu.json", "json")


def _of_workspaces(files: Mapping[str, bytes]) -> Iterator[Command]:
    state = [name for name in files if name.startswith(".cutune/") and name.endswith(("n", "l"))]
    for name in state:
        for words in (
            ("fit",),
            ("select", "sums", "n=1000", "m=32"),
            ("emit", "a.cu", *_QUICK, "--variants=none", "-o", "out.cu"),
            ("tune", "a.cu", *_RUN, *_QUICK, "--variants=none", "-o", "out.cu"),
            ("report",),
            ("nvcc", "-std=c++14", "-arch=compute_80", "-c", "a.cu", "-o", "a.o"),
        ):
            yield Command(words, files, name, "json")
    for verb in VERBS:
        program, *rest = shlex.split(verb.example)
        # Not what installs a compiler.
        if program == "cutune" and verb.name != "doctor":
            named = {"app.cu": "a.cu", "app.tuned.cu": "tuned.cu"}
            yield Command(tuple(named.get(word, word) for word in rest), files, "", "cuda")
    for name in ("a.cu", "tuned.cu"):
        yield Command(("run", name, "100", *_QUICK), files, name, "cuda")
    yield Command(("tune", "a.cu", *_RUN, *_QUICK, "--variants=none"), files, "a.cu", "cuda")
    words = ("verify", "a.cu", "tuned.cu", "--run", "./{program} 100", *_QUICK)
    yield Command(words, files, "tuned.cu", "cuda")


def fuzz(folder: Path, minutes: float, seed: int) -> Mapping[str, str]:
    """For so many minutes of the clock; where a finding of each place lies."""
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, str] = {}
    tried: Counter[str] = Counter()
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as made:
        all_of_them = commands(Path(made) / "tuned")
        by_kind: dict[tuple[str, str], list[Command]] = {}
        for one in all_of_them:
            by_kind.setdefault((one.words[0], Path(one.damaged).suffix), []).append(one)
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            kind = rng.choice([*by_kind, *_CHEAP * 4])
            number = rng.randrange(1 << 30)
            command = rng.choice(by_kind[kind]).mutated(number)
            tried[" ".join(kind)] += 1
            failure = failure_of(command, Path(made) / "work")
            if failure and failure not in found:
                found[failure] = f"finding-{len(found)}"
                kept = folder / found[failure]
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(Path(made) / "work", kept)
                shutil.copy(Path(made) / "work.said", kept / "said")
                (kept / "words.json").write_text(json.dumps([failure, *command.words]))
                print(failure, kept, flush=True)
    print(json.dumps({"tried": tried, "findings": found}, indent=1))
    return found


def main() -> int:
    """The command line; status 1 where something was found."""
    options = argparse.ArgumentParser(prog="python -m tests.fuzzing.commands", description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--minutes", type=float, default=1.0)
    options.add_argument("--seed", type=int, default=1)
    asked = options.parse_args()
    return 1 if fuzz(asked.folder.resolve(), asked.minutes, asked.seed) else 0


if __name__ == "__main__":
    sys.exit(main())
