"""Do programs give the same bits with every variant? Builds, forces each in turn, compares.

    python -m benchmarks.forced_variants draw COLLECTION NAMES FOLDER   # 60 public programs, copied
    python -m benchmarks.forced_variants run OUTPUT [SET|NAME|FOLDER …] [--on gpu] [--brief]
    python -m benchmarks.forced_variants table OUTPUT

A program is built as it is, and with launches that take random blocks and the variant that the
environment names, as `cutune shake` does it. It runs at two sizes with its own configurations, with
three seeds, and with each variant that any of its kernels has. What it prints must be the same, and
so must all bytes that it copies from the GPU (`copied_bytes.cpp`). A program that differs is
compared once more by the rules of `shake`, without the bytes: floating-point atomics add up in any
order.

Programs: samples and judge sets (all, without SET), or folders that `draw` copied. `draw` takes
COUNT of the sorted names of NAMES, by STATE. What their Makefiles compile is what is built, and
`make run` says how they run, with whole numbers of at most LARGE, and SMALL. A program that stands
in OUTPUT is not judged again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.compile_lines import compiled_files
from benchmarks.public_programs import reduced
from cutune.check.shake import SeededRun, Shaken, build_both, shake, trials_of
from cutune.check.verify import Conditions, outcome_of
from cutune.core.diagnostics import CutuneError
from cutune.measure import try_copies
from cutune.measure.agreement import Agreement
from cutune.measure.program_runs import Run
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.variants.registry import checked_names
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.nvcc import find_nvcc
from cutune.toolchain.toolchain import Toolchain
from tests.support.module_paths import module_paths
from tests.support.swept_programs import JUDGES, SAMPLES, set_name

STATE, COUNT = 20261124, 60
LARGE, SMALL = 2048, 256
SAMPLE_SIZES = (64, 100)
#: Seconds for the original at one size, and for all of a program.
ORIGINAL_SECONDS, SECONDS = 30.0, 420.0
GPU_FLAGS = ("-arch=sm_90", "-cudart=shared")
COPIED = "copied.txt"


@dataclass(frozen=True)
class Subject:
    """A program. `commands`: how it runs, with its path as `{program}`; `folder`: where."""

    name: str
    sources: tuple[str, ...]
    flags: tuple[str, ...]
    commands: tuple[str, ...]
    folder: str
    seeds: tuple[int, ...] = (1, 2, 3)


@dataclass(frozen=True)
class Found:
    """The result of a program. `outcome`: `same`, `same within tolerance`, `differs`, …"""

    name: str
    outcome: str
    variants: tuple[str, ...] = ()
    launches: int = 0
    runs: int = 0
    said: str = ""


def draw(collection: Path, names: Path, folder: Path) -> None:
    """Copy the drawn programs; what they include from other folders is copied by hand."""
    listed = sorted(names.read_text().split())
    for name in sorted(random.Random(STATE).sample(listed, COUNT)):
        shutil.copytree(collection / name, folder / name, symlinks=True)


def own_programs(sets: Sequence[str]) -> Iterator[Subject]:
    """Programs of samples and judge sets: all, or those of these sets or names."""
    for place in (SAMPLES, *JUDGES):
        sizes = {path.stem: SAMPLE_SIZES for path in place.glob("*.cu")}
        if place != SAMPLES:
            known = json.loads((place / "sizes.json").read_text())
            sizes = {name: one["emulated"] for name, one in known.items()}
        for name, of_program in sorted(sizes.items()):
            if sets and not {name, set_name(place)} & {*sets}:
                continue
            commands = tuple(f"{{program}} {size}" for size in of_program)
            source = str(place / f"{name}.cu")
            yield Subject(f"{set_name(place)}/{name}", (source,), (), commands, str(place))


def public_program(folder: Path) -> Subject:
    """The program of a Makefile."""
    files = compiled_files(folder)
    flags = tuple(next(iter(files.values()), ()))
    commands = tuple(dict.fromkeys(_commands(folder))) or ("{program}",)
    return Subject(folder.name, tuple(map(str, files)), flags, commands, str(folder))


def _commands(folder: Path) -> Iterator[str]:
    """How `make run` starts the program, at two sizes."""
    words = ["make", "-n", "-B", "run", "CC=nvcc", "NVCC=nvcc", "ARCH=sm_90", "LAUNCHER="]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    for line in done.stdout.replace("\\\n", " ").splitlines():
        words = [word for word in shlex.split(line, comments=True) if word not in ("2>&1", "&")]
        if words and words[0].startswith("./") and not words[0].endswith(".sh"):
            for largest in (LARGE, SMALL):
                arguments = reduced(words, largest)[1:]
                yield " ".join(["{program}", *map(shlex.quote, arguments)])
            return


def judged(subject: Subject, exact: Conditions, folder: Path) -> Found:
    """Build and compare a program; the working directory is where it runs."""
    if not subject.sources:
        return Found(subject.name, "no sources")
    flags = (*subject.flags, *(GPU_FLAGS if exact.device is None else ()))
    analyzer = Analyzer(Toolchain(flags=flags), try_copies=try_copies)
    loaded = analyzer.load_all(subject.sources, require_nvcc=True)
    launches = sum(len(program.tunable_launches) for program in loaded)
    if not launches:
        return Found(subject.name, "nothing tunable")
    programs = [analyzer.with_checked_variants(program) for program in loaded]
    names = checked_names(programs)
    target = () if exact.device is None else None
    built = build_both(analyzer, programs, folder, target)
    found = Found(subject.name, "same", tuple(names), launches)
    trials = trials_of(subject.seeds, names)
    for command in subject.commands:
        words = tuple(shlex.split(command))
        original, shaken = (Run(words, {}, _preloaded(), program=str(one)) for one in built)
        first = outcome_of(original, replace(exact, files=()), limit_seconds=ORIGINAL_SECONDS)
        if first.status is None:
            found = replace(found, said=f"{found.said}{command}: too long; ")
            continue
        found = _with_run(found, original, shaken, trials, exact)
        if found.outcome == "differs":
            break
    return found if found.runs else replace(found, outcome="does not end")


def _preloaded() -> dict[str, str]:
    return {"LD_PRELOAD": os.environ["COPIED_LIBRARY"], "COPIED_BYTES": COPIED}


def _with_run(
    found: Found, original: Run, shaken: Run, trials: Sequence[SeededRun], exact: Conditions
) -> Found:
    """Add one more run."""
    found = replace(found, runs=found.runs + 1)
    first = _compared(original, shaken, trials, exact)
    if first.trial is None:
        return found
    conditions = replace(exact, files=(), agreement=Agreement())
    second = _compared(original, shaken, trials, conditions)
    said = f"{found.said}{shlex.join(original.words)}: {first.trial}: {first.reason}; "
    if second.trial is None:
        return replace(found, outcome="same within tolerance", said=said)
    said = f"{found.said}{shlex.join(original.words)}: {second.trial}: {second.reason}; "
    return replace(found, outcome="differs", said=said)


def _compared(
    original: Run, shaken: Run, trials: Sequence[SeededRun], conditions: Conditions
) -> Shaken:
    (one,) = shake([original], [shaken], trials, conditions, jobs=1)
    return one


def one_subject(text: str, on: str) -> int:
    """Judge a program in this process; prints what was found."""
    values = json.loads(text)
    lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    subject = Subject(**{**values, **lists})
    device = DeviceProfile.named("h200") if on == "emulated" else None
    try:
        with TemporaryDirectory() as folder:
            exact = Conditions(device, (COPIED,), 1, Agreement(True), None)
            found = judged(subject, exact, Path(folder))
    except CutuneError as error:
        found = Found(subject.name, "error", said=str(error.diagnostic.message)[:300])
    print(json.dumps(asdict(found)))
    return 0


def run(output: Path, subjects: Sequence[Subject], on: str, jobs: int) -> None:
    """Judge programs side by side, each in a process and a copy of its folder.

    What was judged in a run that ended early is judged already.
    """
    known = output.read_text().splitlines() if output.exists() else []
    names = {json.loads(line)["name"] for line in known}
    with TemporaryDirectory() as folder, output.open("a") as file:
        library = Path(folder) / "copied_bytes.so"
        includes = [f"-I{path}" for path in find_nvcc().include_directories]
        source = Path(__file__).with_name("copied_bytes.cpp")
        words = ["g++", "-O2", "-shared", "-fPIC", *includes, str(source), "-o", str(library)]
        subprocess.run([*words, "-ldl"], check=True)
        found = {"COPIED_LIBRARY": str(library), "PYTHONPATH": module_paths()}
        environment = {**os.environ, **found}

        writing = threading.Lock()

        def judge_and_keep(subject: Subject) -> None:
            text = json.dumps(asdict(_apart(subject, on, environment)))
            with writing:
                file.write(text + "\n")
                file.flush()
                print(text[:300], flush=True)

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(judge_and_keep, (one for one in subjects if one.name not in names)))


def _apart(subject: Subject, on: str, environment: Mapping[str, str]) -> Found:
    """The findings of a process of its own, in a copy of the program's folder."""
    command = [sys.executable, "-m", "benchmarks.forced_variants", "one", "--on", on]
    with TemporaryDirectory() as own:
        place = _copied(Path(subject.folder), Path(own))
        try:
            done = subprocess.run(
                [*command, json.dumps(asdict(subject))],
                cwd=place,
                env=environment,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Found(subject.name, "time-out")
    if done.returncode:
        return Found(subject.name, "crash", said=done.stderr[-500:])
    return Found(**json.loads(done.stdout.splitlines()[-1]))


def _copied(folder: Path, place: Path) -> Path:
    """A copy of a folder, beside links to what was beside it."""
    for other in folder.parent.iterdir():
        if other != folder:
            (place / other.name).symlink_to(other)
    return Path(shutil.copytree(folder, place / folder.name, symlinks=True))


def table(output: Path) -> None:
    """How many programs have which outcome; those that are not the same, with the reason."""
    found = [json.loads(line) for line in output.read_text().splitlines()]
    with_variants = Counter(one["outcome"] for one in found if one["variants"])
    for outcome, count in Counter(one["outcome"] for one in found).most_common():
        print(f"{outcome}: {count}, {with_variants[outcome]} with variants")
    print(f"variants: {sum(len(one['variants']) for one in found)}")
    for one in found:
        if one["outcome"] not in ("same", "nothing tunable"):
            print(f"{one['name']}: {one['outcome']}: {one['said']}")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    verbs = parser.add_subparsers(dest="verb", required=True)
    drawing = verbs.add_parser("draw")
    for name in ("collection", "names", "folder"):
        drawing.add_argument(name, type=Path)
    running = verbs.add_parser("run")
    running.add_argument("output", type=Path)
    running.add_argument("places", nargs="*")
    running.add_argument("--jobs", type=int, default=os.cpu_count())
    running.add_argument("--brief", action="store_true", help="one size, one seed")
    single = verbs.add_parser("one")
    single.add_argument("subject")
    for verb in (running, single):
        verb.add_argument("--on", choices=("emulated", "gpu"), default="emulated")
    verbs.add_parser("table").add_argument("output", type=Path)
    options = parser.parse_args()
    if options.verb == "draw":
        draw(options.collection, options.names, options.folder)
    elif options.verb == "one":
        return one_subject(options.subject, options.on)
    elif options.verb == "table":
        table(options.output)
    else:
        folders = [Path(place) for place in options.places if Path(place).is_dir()]
        sets = [place for place in options.places if not Path(place).is_dir()]
        subjects = [public_program(folder.resolve()) for folder in folders]
        if sets or not folders:
            subjects += own_programs(sets)
        if options.brief:
            subjects = [replace(one, commands=one.commands[-1:], seeds=(1,)) for one in subjects]
        run(options.output.resolve(), subjects, options.on, options.jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
