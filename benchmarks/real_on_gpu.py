"""Real programs on a GPU: own blocks against tuned, kernel time by CUPTI and wall time.

    python -m benchmarks.real_programs draw --collection DIR --names FILE WORK      # and OWN
    python -m benchmarks.real_on_gpu tune [--limit S] WORK [NAME …]
    python -m benchmarks.real_on_gpu pack WORK OWN FOLDER
    cd FOLDER && python3 -m benchmarks.time_real . OUTPUT [SECONDS [FIRST [COUNT]]]  # on the GPU
    python -m benchmarks.real_on_gpu table OUTPUT …

Programs are tuned for DEVICE as real_programs does it, but with variants, on the emulated device
and at small sizes. `pack` builds each once more as it is, and puts both binaries, their files, and
what measures them into FOLDER: there they run with the command line of `make run`, fewer
repetitions where these would take long. Inputs that nobody has are made up there.

`table` compares the GPU time of all kernels whose launches are tunable, and of runs the least.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from benchmarks.made_up_inputs import MAKERS
from benchmarks.real_programs import (
    MAKE,
    Found,
    keep,
    make_run,
    read,
    repetitions,
    run_command,
    tuned,
)

HERE = Path(__file__).parent
DEVICE, MAKE_SM_90 = "h200", MAKE.replace("sm_80", "sm_90")
SECONDS = 400.0
CARRIED = ("__init__.py", "time_real.py", "made_up_inputs.py", "kernel_times.cpp")
#: Files of a program that it may read while it runs.
DATA = ("*.in", "*.dat", "*.bin")
WAYS = ("own", "tuned")


@dataclass(frozen=True)
class Input:
    """An input that is made up: where the program looks for it, and its size in `make run`."""

    path: str
    maker: str
    size: int


@dataclass(frozen=True)
class Case:
    """Needs of a program besides its Makefile.

    Attributes:
        run, vary: the small runs, where those that real_programs derives are none or are advised
            against by a message.
        small: inputs of the small runs.
        inputs: inputs of `make run`.
        arguments: of the run on the GPU, where `make run` would check results for minutes.
    """

    run: str = ""
    vary: str = ""
    small: tuple[Input, ...] = ()
    inputs: tuple[Input, ...] = ()
    arguments: str = ""


_TEMPERATURES = ("../data/hotspot3D/power_512x8", "../data/hotspot3D/temp_512x8")
_CELLS = 512 * 512 * 8
CASES = {
    "aidw-cuda": Case(run="./main {n} 0 1", vary="--vary n=1,2,4", arguments="100 0 {r}"),
    "ert-cuda": Case(run="./main {n} 256", vary="--vary n=2,4"),
    "hotspot3D-cuda": Case(
        run=f"./main {{n}} 8 1 {' '.join(_TEMPERATURES)} output.out",
        vary="--vary n=64,128",
        small=tuple(Input(path, "hotspot3d", _CELLS) for path in _TEMPERATURES),
        inputs=tuple(Input(path, "hotspot3d", _CELLS) for path in _TEMPERATURES),
    ),
    "mriQ-cuda": Case(
        run="./main {n}.bin output",
        vary="--vary n=512,1024,2048,4096",
        small=tuple(Input(f"{n}.bin", "mri_q", n) for n in (512, 1024, 2048, 4096)),
        inputs=(Input("datasets/128x128x128/input/128x128x128.bin", "mri_q", 128**3),),
    ),
    "su3-cuda": Case(run="./main -i 1 -l {n} -t 128 -v 3 -w 1", vary="--vary n=4,8,12,16"),
    "tonemapping-cuda": Case(
        run="./main {n}.hdr 1",
        vary="--vary n=64,128,256",
        small=tuple(Input(f"{n}.hdr", "tonemapping", n) for n in (64, 128, 256)),
        inputs=(Input("../tonemapping-sycl/input.hdr", "tonemapping", 1024),),
    ),
}


def tune(work: Path, names: Sequence[str], limit_s: float) -> None:
    """Tune the drawn programs that were not tuned yet, or those named."""
    known = {one.name for one in read(work)}
    drawn = (work / "names.txt").read_text().split()
    for name in names or [name for name in drawn if name not in known]:
        try:
            keep(work, _tuned(work / "tree" / name, limit_s))
        except (OSError, ValueError) as error:
            keep(work, Found(name, False, diagnostic=f"not judged: {error}"))


def _tuned(folder: Path, limit_s: float) -> Found:
    """From small runs; at its own size where CT418 says that only what was run is known."""
    case = CASES.get(folder.name, Case())
    for made in (*case.small, *case.inputs):
        MAKERS[made.maker](folder / made.path, made.size)
    small = (case.run, case.vary.split()) if case.run else run_command(folder)
    found = tuned(folder, limit_s, ("--device", DEVICE), MAKE_SM_90, small)
    if "CT418" not in found.codes or not small[1]:
        return found
    larger = tuned(folder, limit_s, ("--device", DEVICE), MAKE_SM_90, (own_size(folder), []))
    if larger.tuned:
        return larger
    return tuned(folder, limit_s, ("--device", DEVICE), MAKE_SM_90, small)


def own_size(folder: Path) -> str:
    """The command of `make run`, with one repetition."""
    words, repeated = make_run(folder), repetitions(folder)
    if repeated is not None:
        words[repeated] = "1"
    return shlex.join(words)


def pack(work: Path, own: Path, folder: Path) -> None:
    """All programs that ended tuned, in both builds, and what measures them."""
    for name in ("bin", "benchmarks"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name in CARRIED:
        shutil.copy(HERE / name, folder / "benchmarks")
    build_library(folder)
    plan = []
    for one in read(work):
        if one.tuned:
            plan.append(_packed(work / "tree" / one.name, own / "tree" / one.name, one, folder))
            print(one.name, *plan[-1]["arguments"], flush=True)
    (folder / "plan.json").write_text(json.dumps(plan, indent=1))


def build_library(folder: Path) -> None:
    """The library that records kernels, beside its CUPTI: another version has other records."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise FileNotFoundError("nvcc is not on PATH")
    cuda = next(place for place in _cuda_folders(nvcc) if (place / "include").exists())
    include = next(path.parent for path in cuda.rglob("cupti.h"))
    library = next(path for path in cuda.rglob("libcupti.so.*") if path.is_file())
    shutil.copy(library, folder / library.name)
    words = ["g++", "-O2", "-shared", "-fPIC", "-static-libstdc++", "-static-libgcc"]
    words += [f"-I{include}", str(HERE / "kernel_times.cpp"), "-o", str(folder / "kernel_times.so")]
    words += [str(folder / library.name), "-Wl,-rpath,$ORIGIN"]
    subprocess.run(words, check=True)


def _cuda_folders(nvcc: str) -> Iterator[Path]:
    """Where a toolkit may lie: above its nvcc, or at its usual place."""
    yield Path(nvcc).resolve().parent.parent
    yield Path("/usr/local/cuda").resolve()


def _packed(tree: Path, own: Path, one: Found, folder: Path) -> dict[str, Any]:
    """Both binaries, the files that the program reads, and its line of the plan."""
    if not (own / "main").exists():
        subprocess.run(shlex.split(MAKE_SM_90), cwd=own, check=True, capture_output=True)
    for way, place in (("tuned", tree), ("own", own)):
        shutil.copy(place / "main", folder / "bin" / f"{one.name}.{way}")
    files = folder / "files" / one.name
    files.mkdir(parents=True, exist_ok=True)
    for path in (path for pattern in DATA for path in sorted(own.glob(pattern))):
        shutil.copy(path, files)
    case = CASES.get(one.name, Case())
    words, repeated = make_run(own), repetitions(own)
    own_repetitions = int(words[repeated]) if repeated is not None else None
    if repeated is not None:
        words[repeated] = "{r}"
    return {
        "program": one.name,
        "arguments": case.arguments.split() or words[1:],
        "own_repetitions": own_repetitions,
        "kernels": sorted(set(one.tuned)),
        "inputs": [list(astuple(made)) for made in case.inputs],
    }


@dataclass(frozen=True)
class Compared:
    """A program on a GPU. Gains are its own time by that of the tuned program."""

    program: str
    repetitions: str
    launches: int
    own_ms: float
    tuned_ms: float
    share: float
    wall_gain: float
    own_wall_s: float
    launched: str
    output: str

    @property
    def gain(self) -> float:
        """Of the GPU time of tunable kernels."""
        return self.own_ms / self.tuned_ms


def compared(entry: Mapping[str, Any]) -> Compared:
    """Of each way the run with the least."""
    runs = entry["runs"]
    tunable = set(entry["kernels"])
    best = {way: min(runs[way], key=lambda run: _total(run, tunable)) for way in WAYS}
    own, tuned_ms = (_total(best[way], tunable) / 1e6 for way in WAYS)
    wall = [min(run["wall_s"] for run in runs[way]) for way in WAYS]
    of_all = _total(best["own"], None) / 1e6
    blocks = {way: {(row[2], row[3]) for row in _rows(best[way], tunable)} for way in WAYS}
    return Compared(
        entry["program"].removesuffix("-cuda"),
        f"{entry['repetitions'] or ''}",
        sum(int(row[0]) for row in _rows(best["own"], tunable)),
        own,
        tuned_ms,
        own / of_all,
        wall[0] / wall[1],
        wall[0],
        "other" if blocks["own"] != blocks["tuned"] else "same",
        _same(runs),
    )


def _same(runs: Mapping[str, Any]) -> str:
    """Do both print the same? Where each prints several things, so does the program itself."""
    printed = {way: {(run["status"], run["output"]) for run in runs[way]} for way in WAYS}
    if printed["own"] == printed["tuned"] and len(printed["own"]) == 1:
        return "same" if all(status == 0 for status, _ in printed["own"]) else "same, fails"
    return "varies by itself" if len(printed["own"]) > 1 else "OTHER"


def _rows(run: Mapping[str, Any], kernels: set[str] | None) -> list[list[str]]:
    """Launches, nanoseconds, block and name of kernels: of these, or of all."""
    return [row for row in run["kernels"] if kernels is None or base_name(row[3], kernels)]


def _total(run: Mapping[str, Any], kernels: set[str] | None) -> int:
    return sum(int(row[1]) for row in _rows(run, kernels))


def base_name(mangled: str, kernels: set[str]) -> str | None:
    """Which of these kernels has this name, or that of one of its variants: `name__variant`."""
    name = demangled(mangled).partition("<")[0].rpartition("::")[2]
    if name in kernels:
        return name
    return next((each for each in kernels if name.startswith(f"{each}__")), None)


@cache
def demangled(name: str) -> str:
    """The name of a function as its source has it, without parameters."""
    words = ["c++filt", "-p", name]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def table(outputs: Sequence[Path]) -> Iterator[str]:
    """A line per program as Markdown, and what all of them come to."""
    entries = {entry["program"]: entry for entry in _measured(outputs)}
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---" * len(COLUMNS) + "|"
    found = []
    for name, entry in sorted(entries.items()):
        if "error" in entry or not _is_recorded(entry):
            reason = entry.get("error", "no tunable kernel was recorded")
            yield f"| {name.removesuffix('-cuda')} | {reason} |{' |' * (len(COLUMNS) - 2)}"
        else:
            found.append(compared(entry))
            yield _row(found[-1])
    yield ""
    for which, some in (
        ("all", found),
        ("other launches", [one for one in found if one.launched == "other"]),
    ):
        if some:
            yield f"{which}: {_summary(some)}"


COLUMNS = (
    *("program", "repetitions", "launches", "own ms", "tuned ms", "gain", "of GPU time"),
    *("own wall s", "wall gain", "launched", "output"),
)


def _row(one: Compared) -> str:
    cells = (
        *(one.program, one.repetitions, str(one.launches), f"{one.own_ms:.3f}"),
        *(f"{one.tuned_ms:.3f}", f"{one.gain:.3f}", f"{100 * one.share:.0f} %"),
        *(f"{one.own_wall_s:.2f}", f"{one.wall_gain:.3f}", one.launched, one.output),
    )
    return f"| {' | '.join(cells)} |"


def _summary(found: Sequence[Compared]) -> str:
    gains = [one.gain for one in found]
    walls = [one.wall_gain for one in found]
    return (
        f"{len(found)} programs, GPU time {geometric_mean(gains):.3f} on the geometric mean, least"
        f" {min(gains):.3f}; wall time {geometric_mean(walls):.3f}, least {min(walls):.3f};"
        f" same output {sum(one.output == 'same' for one in found)}"
    )


def _measured(outputs: Sequence[Path]) -> Iterator[dict[str, Any]]:
    for output in outputs:
        yield from map(json.loads, (output / "times.jsonl").read_text().splitlines())


def _is_recorded(entry: Mapping[str, Any]) -> bool:
    kernels = set(entry["kernels"])
    return all(_total(run, kernels) for way in WAYS for run in entry["runs"][way])


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    verbs = parser.add_subparsers(dest="verb", required=True)
    tuning = verbs.add_parser("tune")
    tuning.add_argument("--limit", type=float, default=SECONDS)
    tuning.add_argument("work", type=Path)
    tuning.add_argument("names", nargs="*")
    packing = verbs.add_parser("pack")
    for name in ("work", "own", "folder"):
        packing.add_argument(name, type=Path)
    verbs.add_parser("table").add_argument("outputs", type=Path, nargs="+")
    options = parser.parse_args()
    if options.verb == "tune":
        tune(options.work.resolve(), options.names, options.limit)
    elif options.verb == "pack":
        pack(options.work.resolve(), options.own.resolve(), options.folder.resolve())
    else:
        print(*table(options.outputs), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
