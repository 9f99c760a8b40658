"""The samples of the suite BAT: their sources, command lines and spaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cutune.proof.analysis.analyzer import Analyzer
from cutune.search.program_space import ProgramSpace, device_values, program_space
from cutune.source.program import Program
from cutune.source.syntax.headers import expand_response_files
from cutune.space.parameter import ParameterOptions, read_option
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.toolchain import Toolchain

FOLDER = Path(__file__).parents[2] / "samples" / "bat"


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

    def asked(self, gpus: int = 1) -> ParameterOptions:
        """The parameters of its command line, on a machine with so many GPUs."""
        options = self.path.with_suffix(".options")
        flags = expand_response_files(["--options-file", str(options)]) if options.exists() else ()
        tunes = [*self.tunes, *([f"GPUS={_listed(gpus)}"] if self.takes_gpus else [])]
        return ParameterOptions(tuple(map(read_option, tunes)), (), tuple(flags))


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
        """The analyzer with its options; variants of its kernels are no parameters of the suite."""
        return Analyzer(Toolchain(flags=self.parameters.flags_at({})), with_variants=False)

    @cached_property
    def parameters(self) -> ParameterOptions:
        """Its parameters, as the command line names them."""
        return self.sample.asked(self.gpus)

    @cached_property
    def program(self) -> Program:
        """Its program."""
        return self.analyzer.load(str(self.sample.path), require_nvcc=True)

    def space(self, device: str) -> ProgramSpace:
        """Its space on a device."""
        known = device_values(DeviceProfile.named(device), self.gpus)
        return program_space(self.program, self.parameters, self.sample.run, ["n"], known)
