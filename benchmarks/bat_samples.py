"""The samples of the suite BAT: where they stand, what is asked of them, their spaces.

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
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cutune.analysis.analyzer import Analyzer
from cutune.device.profile import DeviceProfile
from cutune.frontend.program import Program
from cutune.frontend.syntax.headers import expand_response_files
from cutune.passes import InstrumentTunables
from cutune.rewrite.output import write_unit
from cutune.rewrite.pipeline import TranslationUnit, run_passes
from cutune.search.program_space import ProgramSpace, Setting, device_values, program_space
from cutune.space.asked import Asked
from cutune.space.condition import Value
from cutune.space.parameter import read_option, shown
from cutune.space.space import Configuration
from cutune.toolchain.steps.toolchain import Toolchain

Json = dict[str, Any]
ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "samples" / "bat"
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


@dataclass(frozen=True)
class Sample:
    """One benchmark.

    Attributes:
        size: the published number of configurations, per GPU; of Sort without constraints.
        tunes: options `--tune` of what stands in no pragma; the first values are the defaults.
        words: behind the size in the command line.
    """

    name: str
    size: int
    tunes: tuple[str, ...] = ()
    words: str = ""

    @property
    def path(self) -> Path:
        """Its source."""
        return FOLDER / f"{self.name}.cu"

    @property
    def run(self) -> str:
        """Its command line."""
        return f"{{program}} {{n}}{self.words}"

    @property
    def takes_gpus(self) -> bool:
        """Does it work on several GPUs?"""
        return "{GPUS}" in self.words

    def asked(self, gpus: int = 1) -> Asked:
        """What its command line says of parameters, on a machine with so many GPUs."""
        options = self.path.with_suffix(".options")
        flags = expand_response_files(["--options-file", str(options)]) if options.exists() else ()
        tunes = [*self.tunes, *([f"GPUS={_listed(gpus)}"] if self.takes_gpus else [])]
        return Asked(tuple(map(read_option, tunes)), (), tuple(flags))


def _listed(gpus: int) -> str:
    return ",".join(map(str, range(1, gpus + 1)))


SAMPLES: Mapping[str, Sample] = {
    sample.name: sample
    for sample in (
        Sample("triad", 40_960),
        Sample("md", 20_480),
        Sample(
            "reduction",
            394_240,
            (
                "COMPILER_OPTIMIZATION_HOST=2,0,1,3",
                "COMPILER_OPTIMIZATION_DEVICE=3,0,1,2",
                "USE_FAST_MATH=none,use_fast_math",
                "MAX_REGISTERS=none,20,40,60,80,100,120",
            ),
            " {GPUS}",
        ),
        Sample("sort", 14_112),
        Sample("stencil2d", 1, (), " {GPUS}"),
    )
}


@dataclass(frozen=True)
class ReadSample:
    """A sample that is read, with nvcc."""

    sample: Sample
    gpus: int = 1

    @cached_property
    def analyzer(self) -> Analyzer:
        """With its options; variants of its kernels are no parameters of the suite."""
        flags = self.parameters.flags_at({})
        return Analyzer(Toolchain(flags=flags), with_variants=False)

    @cached_property
    def parameters(self) -> Asked:
        """What the suite says of its parameters."""
        return self.sample.asked(self.gpus)

    @cached_property
    def program(self) -> Program:
        """Its program."""
        return self.analyzer.load(str(self.sample.path), require_nvcc=True)

    def space(self, device: str) -> ProgramSpace:
        """Its space on a device."""
        known = device_values(DeviceProfile.named(device), self.gpus)
        return program_space(self.program, self.parameters, self.sample.run, ["n"], known)


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
        "check": [_checked(space, one) for one in _drawn(space, sample, count, generator)],
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


def _checked(space: ProgramSpace, drawn: tuple[Configuration, int]) -> Json:
    configuration, size = drawn
    values = {name: shown(value) for name, value in configuration.items()}
    words = f"-s {size} {values.get('GPUS', '')}".strip()
    flags = flags_of(space, configuration)
    return {"values": values, "flags": flags, "words": words, "host": host_of(space, configuration)}


def flags_of(space: ProgramSpace, configuration: Configuration) -> list[str]:
    """The options of nvcc for the program of a configuration."""
    flags = space.asked.flags_at(space.values(configuration, Setting.FLAG))
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
            flags = flags_of(space, one)
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
