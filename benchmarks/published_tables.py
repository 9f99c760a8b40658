"""The model against tables of times that other people have published.

    git -C CLONE archive HEAD kernels cachefiles/convolution_milo | tar -x -C DIR
    python -m benchmarks.published_tables DIR [--designed 240] [--builds FOLDER]

DIR has the tables of AutoTuningAssociation/benchmark_hub, and their kernels. A space has thousands
of configurations; cutune's own search says which are looked at, with the predicted time in place of
a timing: each of these is compiled, some blocks of its launch are counted on the emulated device,
and the model predicts a time. What it finds fastest is looked up. Times judge, and nothing is taken
from them. Beside it stands a random sixteen, the mean of many draws.

Configurations that differ only in what hardly changes the code say how far a table is of one mind:
no chooser that goes by the code can be expected to be better than their mean.

Only configurations count whose code is published: the kernel of the convolution has no way without
shared memory, so that `use_shmem` is 1. Configurations that failed where they were timed are left
out, as one would find them out by trying.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import inf, isfinite
from os import cpu_count
from pathlib import Path
from statistics import fmean, geometric_mean
from tempfile import TemporaryDirectory
from threading import get_ident

from cutune.core.diagnostics import CutuneError
from cutune.emulator.launch_log import LaunchRecord, Pointer
from cutune.measure.replay.counted_launch import counted_launch, static_counters
from cutune.search.predicted_start import shortlist
from cutune.search.techniques.registry import DEFAULT, search, technique_named
from cutune.search.techniques.tries import Allowance, Timed, Tries
from cutune.space.annotation import Value
from cutune.space.space import Configuration, Space
from cutune.space.t1 import read_t1
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import Block
from cutune.toolchain.nvcc import find_nvcc

#: The devices of the tables, and their profiles.
DEVICES = {"A100": "a100", "A4000": "rtxa4000", "A6000": "rtxa6000"}
#: So many of the model's first are tried.
SHORTLIST = 16
DRAWS = 1000

#: A configuration: names and values.
Key = tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class Published:
    """A kernel of the tables.

    Attributes:
        source: where its code is.
        entry: its name in the compiled code.
        extents: the points of its problem.
        pointers: its arguments.
        fixed: parameters without a choice here.
        alike: a parameter by which the code hardly differs.
    """

    name: str
    source: str
    entry: str
    extents: tuple[int, int]
    pointers: int
    fixed: Mapping[str, int] = field(default_factory=dict)
    alike: str = ""

    def block(self, one: Configuration) -> tuple[int, int, int]:
        return int(one["block_size_x"]), int(one["block_size_y"]), 1

    def grid(self, one: Configuration) -> tuple[int, int, int]:
        points = (int(one[f"block_size_{a}"]) * int(one[f"tile_size_{a}"]) for a in "xy")
        x, y = (-(-most // each) for most, each in zip(self.extents, points, strict=True))
        return x, y, 1


KERNELS = (
    Published(
        "convolution_milo",
        "convolution_milo.cu",
        "_Z18convolution_kernelPfS_S_",
        (4096, 4096),
        3,
        {"use_shmem": 1},
        "read_only",
    ),
)


@dataclass(frozen=True)
class Counting:
    """Compiles and counts configurations, each code once."""

    kernel: Published
    source: Path
    builds: Path

    def ptx(self, one: Configuration) -> str:
        """The compiled code; what the preprocessor makes equal is one file."""
        flags = [f"-D{name}={value}" for name, value in one.items()]
        made = ["g++", "-E", "-P", "-x", "c++", *flags, str(self.source)]
        text = subprocess.run(made, capture_output=True, text=True, check=True).stdout
        path = self.builds / f"{sha256(text.encode()).hexdigest()[:20]}.ptx"
        if not path.exists():
            command = ["nvcc", "-std=c++11", "-arch=compute_80", "-ptx", *flags, str(self.source)]
            part = path.with_suffix(f".{get_ident()}")  # others may make the same
            subprocess.run([*command, "-o", str(part)], check=True, capture_output=True)
            part.replace(path)
        return path.read_text("utf-8")

    def microseconds(self, one: Configuration, device: DeviceProfile) -> float:
        """The predicted time; infinite where the device cannot run it."""
        ptx, kernel = self.ptx(one), self.kernel
        try:
            static = static_counters(find_nvcc(), ptx, device.architecture)
        except CutuneError:
            return inf  # more static shared memory than a block may have
        launch = _ghost_launch(kernel.entry, kernel.grid(one), kernel.block(one), kernel.pointers)
        launched = counted_launch(ptx, launch, static)
        assert launched is not None, "its work depends on data"
        return launched.microseconds(device)


def _ghost_launch(kernel: str, grid: Block, block: Block, pointers: int) -> LaunchRecord:
    """A launch with so many pointers as its only arguments, none of which is ever looked at."""
    words = range(0, 8 * pointers, 8)
    arrays = tuple(Pointer(offset, 0, 0, 0) for offset in words)
    parameters = bytes(8 * pointers)
    return LaunchRecord(0, None, kernel, "", grid, block, 0, parameters, arrays, 0, 0)


def _key(one: Configuration) -> Key:
    return tuple(sorted(one.items()))


def designed(
    counting: Counting, space: Space, device: DeviceProfile, most: int
) -> tuple[int, list[Configuration]]:
    """How many configurations an experiment design counts, and the shortlist, its best first."""
    waiting: dict[Key, Future[float]] = {}
    with ThreadPoolExecutor(cpu_count()) as pool:

        def asked(one: Configuration) -> Future[float]:
            key = _key(one)
            if key not in waiting:
                waiting[key] = pool.submit(counting.microseconds, one, device)
            return waiting[key]

        def expected(some: Iterable[Configuration]) -> None:
            for one in some:
                asked(one)

        def timed(one: Configuration) -> Timed:
            time = asked(one).result()
            return Timed(time if isfinite(time) else None)

        tries = Tries(space, timed, Allowance(most), expected)
        middle = tuple(table.closest({}) for table in space.tables)
        search(technique_named(DEFAULT), tries, middle)
    chosen = shortlist(tries, SHORTLIST)
    return len(tries.known), [space.of_rows(rows) for rows in chosen]


def table_of(path: Path) -> dict[Key, float]:
    """The milliseconds of all configurations that ran."""
    with gzip.open(path) as file:
        document = json.load(file)
    names: Sequence[str] = document["tune_params_keys"]
    records = document["cache"].values()
    return {
        _key({name: one[name] for name in names}): one["time"]
        for one in records
        if isinstance(one["time"], float)
    }


def random_best(times: Sequence[float], count: int) -> float:
    """The mean of the best of so many at random."""
    generator = random.Random(0)
    return fmean(min(generator.sample(times, count)) for _ in range(DRAWS))


def said_of_alike(name: str, known: Mapping[Key, float]) -> str:
    """How far apart configurations are that differ in one parameter alone."""
    sets: dict[Key, list[float]] = {}
    for key, time in known.items():
        sets.setdefault(tuple(pair for pair in key if pair[0] != name), []).append(time)
    several = [times for times in sets.values() if len(times) > 1]
    apart = sorted(max(times) / min(times) for times in several)
    least = min(map(geometric_mean, several)) / min(known.values())
    return (
        f"{len(several)} times configurations differ in {name} alone: a tenth by more than"
        f" {apart[len(apart) * 9 // 10]:.2f} times, at most by {apart[-1]:.2f};"
        f" the least mean is {100 * (least - 1):.1f} % off the best"
    )


def space_of(kernel: Published, folder: Path) -> Space:
    """The published space, as far as its code is published."""
    options = read_t1(folder / "kernels" / f"{kernel.name}.json")
    parameters = [
        replace(one, values=(kernel.fixed[one.name],)) if one.name in kernel.fixed else one
        for one in options.parameters
    ]
    return Space.of(parameters, options.conditions, {})


def main(folder: Path, builds: Path, most: int) -> None:
    """Print a line per kernel and device."""
    for kernel in KERNELS:
        space = space_of(kernel, folder)
        counting = Counting(kernel, folder / "kernels" / kernel.source, builds)
        for gpu, profile in DEVICES.items():
            every = table_of(folder / "cachefiles" / kernel.name / f"{gpu}.json.gz")
            known = {_key(one): every[_key(one)] for one in space if _key(one) in every}
            if kernel.alike:
                print(f"{kernel.name} {gpu}: {said_of_alike(kernel.alike, known)}", flush=True)
            count, first = designed(counting, space, DeviceProfile.named(profile), most)
            about = f"{kernel.name} {gpu}", f"{count} of {len(known)}"
            _print(about, known, [_key(one) for one in first], min(every.values()))


def _print(
    about: tuple[str, str],
    known: Mapping[Key, float],
    ranked: Sequence[Key],
    best_of_all: float,
) -> None:
    ran, best = [key for key in ranked if key in known], min(known.values())
    first, tried = known[ran[0]], min(known[key] for key in ran)
    drawn = random_best([*known.values()], SHORTLIST)
    off = (f"{100 * (time / best - 1):.1f} %" for time in (first, tried, drawn))
    values = ",".join(str(value) for _, value in ran[0])
    print(
        f"{about[0]}: first choice {{}} off the best, best of {SHORTLIST} {{}},"
        f" a random {SHORTLIST} {{}}; {about[1]} compiled and counted;"
        f" the best of all published is {100 * (1 - best_of_all / best):.1f} % faster;"
        f" first {values}".format(*off),
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--designed", type=int, default=240)
    parser.add_argument("--builds", type=Path)
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        place = options.builds or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        main(options.folder, place, options.designed)
