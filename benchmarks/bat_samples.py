"""Prepares the samples of the suite BAT for a machine with a GPU.

`python -m benchmarks.bat_samples prepare FOLDER` writes what `bat_runs.py` runs on a machine with
a GPU: instrumented sources, configurations that are drawn, and those of the exhaustive tables.
`--gpus N` says how many GPUs that has, `--configurations N` how many are drawn (200).
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cutune.passes import InstrumentTunables
from cutune.search.program_space import ProgramSpace, Setting
from cutune.source.rewrite.output import write_unit
from cutune.source.rewrite.pipeline import TranslationUnit, run_passes
from cutune.space.annotation import Value
from cutune.space.parameter import shown
from cutune.space.space import Configuration
from tests.support.bat_samples import FOLDER, SAMPLES, ReadSample, Sample

Json = dict[str, Any]
ROOT = Path(__file__).parents[1]
#: Sizes of the tables: of MD and Sort the first class, of the others one that takes longer.
TABLE_WORDS = {"triad": "-s 2", "md": "-s 1", "sort": "-s 1", "reduction": "-s 2 1"}
#: One precision, one level of the host's compiler, one GPU.
TABLE_VALUES: Mapping[str, Value] = {
    "PRECISION": 32,
    "COMPILER_OPTIMIZATION_HOST": 2,
    "GPUS": 1,
}
#: What may take so long that it is not repeated: one thread sums everything.
TABLE_PROBED = {"reduction"}
#: What copies to and from the host in its region is timed on one GPU at a time.
TABLE_ALONE = {"triad"}
#: The kernels that a configuration runs, by their names in the machine code; else all.
TABLE_KERNELS = {"reduction": "6reduceILi{BLOCK_SIZE}E"}


def plan_of(
    sample: Sample, folder: Path, device: str, gpus: int, count: int, generator: random.Random
) -> Json:
    """The configurations of a sample; its source is written."""
    read = ReadSample(sample, gpus)
    space = read.space(device)
    step = InstrumentTunables(with_regions=True)
    unit = run_passes((step,), TranslationUnit(read.program))
    flags = read.analyzer.toolchain.compile_flags(read.program.source.path)
    write_unit(unit, flags, folder, "tunables")
    return {
        "check": [_checked(space, sample, one) for one in _drawn(space, sample, count, generator)],
        "exhaustive": _table(space, sample) if sample.name in TABLE_WORDS else {},
    }


def _drawn(
    space: ProgramSpace, sample: Sample, count: int, generator: random.Random
) -> list[tuple[Configuration, int]]:
    """Different configurations with a size class: where there are fewer, all, at all classes."""
    whole = space.space
    if whole.size <= count:
        return [(one, size) for one in whole for size in range(1, 5)]
    numbers = generator.sample(range(whole.size), count)
    return [(whole.configuration(number), 1) for number in numbers]


def _checked(space: ProgramSpace, sample: Sample, drawn: tuple[Configuration, int]) -> Json:
    configuration, size = drawn
    values = {name: shown(value) for name, value in configuration.items()}
    words = f"-s {size} {values.get('GPUS', '')}".strip()
    flags = flags_of(space, sample, configuration)
    return {"values": values, "flags": flags, "words": words, "host": host_of(space, configuration)}


def flags_of(space: ProgramSpace, sample: Sample, configuration: Configuration) -> list[str]:
    """The options of nvcc for the program of a configuration."""
    flags = sample.asked().flags_at(space.values(configuration, Setting.FLAG))
    return [*space.definitions(configuration), *flags]


def host_of(space: ProgramSpace, configuration: Configuration) -> str:
    """Its host integers, as in CUTUNE_SET."""
    host = space.values(configuration, Setting.HOST)
    return ",".join(f"{name}={shown(value)}" for name, value in host.items())


def _table(space: ProgramSpace, sample: Sample) -> Json:
    """All configurations of one precision and host level, by programs."""
    programs: dict[tuple[str, ...], Json] = {}
    for one in space.space:
        if all(one.get(name, value) == value for name, value in TABLE_VALUES.items()):
            flags = flags_of(space, sample, one)
            compiled = {n: shown(v) for n, v in one.items() if n in space.compiled_names}
            program = {"flags": flags, "values": compiled, "hosts": []}
            programs.setdefault(tuple(flags), program)["hosts"].append(host_of(space, one))
    return {
        "words": TABLE_WORDS[sample.name],
        "kernel": TABLE_KERNELS.get(sample.name, ""),
        "is_probed": sample.name in TABLE_PROBED,
        "is_alone": sample.name in TABLE_ALONE,
        "programs": list(programs.values()),
    }


def prepare(
    folder: Path, names: Iterable[str], device: str, gpus: int, count: int, target: Sequence[str]
) -> None:
    """Write the sources of some samples and the plan."""
    generator = random.Random(25)
    folder.mkdir(parents=True, exist_ok=True)
    samples = {
        name: plan_of(SAMPLES[name], folder, device, gpus, count, generator) for name in names
    }
    includes = [
        f"-I{os.path.relpath(path, ROOT)}" for path in (ROOT / "cutune" / "include", FOLDER)
    ]
    plan = {"flags": ["-std=c++17", *target, *includes], "samples": samples}
    (folder / "plan.json").write_text(json.dumps(plan))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=["prepare"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--configurations", type=int, default=200)
    parser.add_argument("--device", default="h200")
    options = parser.parse_args()
    # The code of kernels can be compared where it is not compressed.
    target = ["-cudart", "static", "-arch=native", "-no-compress"]
    prepare(options.folder, SAMPLES, options.device, options.gpus, options.configurations, target)


if __name__ == "__main__":
    main()
