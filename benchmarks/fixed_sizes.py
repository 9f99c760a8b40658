"""Kernels whose choice ends at a size that the runs kept fixed, with the size and its value.

Tunes the samples and the judge sets without a GPU, as `benchmarks.regret` does, and lists each
kernel whose counts are known at one value of an integer alone: elsewhere its own block stays.

    python -m benchmarks.fixed_sizes                     # all
    python -m benchmarks.fixed_sizes 13 14 polybench     # only these
    python -m benchmarks.fixed_sizes --models DIR        # models are kept there, taken from there
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.regret import models_of, swept_gpu
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.measurement.sweep import read_sweep
from cutune.model.selection.chooser import measured_only_at
from cutune.toolchain.device.profile import DeviceProfile
from tests.support.swept_programs import JUDGES, SAMPLES, recorded_sweep, set_name


def ends(models: Iterable[FittedModel]) -> Iterator[str]:
    """A line for each kernel with such a size."""
    for model in models:
        if held := measured_only_at(model):
            values = ", ".join(f"{name} = {value}" for name, value in held.items())
            yield f"{Path(model.kernel.origin.path).name}: {model.kernel.name} at {values}"


def main(only: Sequence[str] = (), kept: Path | None = None) -> None:
    """Print the kernels of each set, and how many there are of how many."""
    found = known = 0
    for folder in (SAMPLES, *JUDGES):
        if only and folder.name not in only:
            continue
        recorded = recorded_sweep(folder)
        gpu = swept_gpu(read_sweep(recorded)) if recorded.exists() else DeviceProfile.named("h200")
        models = models_of(folder, gpu, kept)
        lines = [*ends(models)]
        for line in lines:
            print(f"{set_name(folder)}/{line}")
        found, known = found + len(lines), known + len(models)
        print(f"{set_name(folder)}: {len(lines)} of {len(models)} kernels", flush=True)
    print(f"{found} of {known} kernels ({found / max(1, known):.1%})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--models", type=Path)
    arguments = parser.parse_args()
    main(arguments.sets, arguments.models)
