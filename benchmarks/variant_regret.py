"""How far the chosen variants and blocks are from the best of recorded sweeps over both.

    python -m benchmarks regret --variants            # all sets that were swept so
    python -m benchmarks.variant_regret polybench 03  # only these

No timing enters the choice. A launch whose configuration was not valid in the sweep counts as the
program's own. Variants that were swept, but are not legal for the kernel, are no configurations.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.program_sets import JUDGES, SAMPLES, recorded_sweep, set_name
from benchmarks.regret import SMALL, tuned
from cutune.core.diagnostics import CutuneError
from cutune.device.profile import DeviceProfile
from cutune.device.thread_block import Block
from cutune.fit.fitted_model import FittedModel
from cutune.fit.measurement.sweep import SweptLaunch, read_sweep
from cutune.models.selection.variants import VariantChooser

#: A launch that takes up to this share more than the program's own has lost nothing.
NO_LOSS = 0.97


@dataclass(frozen=True)
class Case:
    """One launch, and what was chosen of its kernel and these variants of it."""

    launch: SweptLaunch
    variant: str
    block: Block
    microseconds: float
    legal: frozenset[str]

    @property
    def regret(self) -> float:
        """How much slower than the best configuration, as a fraction."""
        legal = (times for name, times in self.launch.variants.items() if name in self.legal)
        times = [self.launch.microseconds, *legal]
        return self.microseconds / min(min(one.values()) for one in times if one) - 1

    @property
    def gain(self) -> float:
        """The time of the program's own configuration by that of the chosen one."""
        return self.launch.microseconds[self.launch.own] / self.microseconds


def main(only: Sequence[str] = ()) -> None:
    """A line per launch, and the scores of each set and of all."""
    device = DeviceProfile.named("h200")
    found: list[Case] = []
    for folder in (SAMPLES, *JUDGES):
        recorded = recorded_sweep(folder, with_variants=True)
        if (only and folder.name not in only) or not recorded.exists():
            continue
        own = list(_cases(folder, read_sweep(recorded).launches, device))
        print(f"{set_name(folder)}:")
        for case in sorted(own, key=lambda one: -one.regret):
            print(f"  {_words(case)}")
        print(scores(own))
        found += own
    print(f"all: {scores(found)}")


def scores(cases: Sequence[Case]) -> str:
    """Geometric means, and how many launches lost nothing."""
    regret = np.expm1(np.mean([np.log1p(case.regret) for case in cases]))
    gain = np.exp(np.mean([np.log(case.gain) for case in cases]))
    safe = np.mean([case.gain >= NO_LOSS for case in cases])
    return (
        f"{len(cases)} launches: regret {100 * regret:.1f} %, gain {gain:.2f}, "
        f"no loss {100 * safe:.1f} %, least gain {min(case.gain for case in cases):.2f}"
    )


def _words(case: Case) -> str:
    launch = case.launch
    block = "x".join(map(str, case.block))
    return (
        f"{launch.program} {launch.kernel} {launch.size}: {case.variant or 'plain'} {block}, "
        f"regret {100 * case.regret:.1f} %, gain {case.gain:.2f}"
    )


def _cases(folder: Path, launches: Iterable[SweptLaunch], device: DeviceProfile) -> Iterator[Case]:
    by_program: dict[str, list[SweptLaunch]] = {}
    for launch in launches:
        by_program.setdefault(launch.program, []).append(launch)
    for program, own in by_program.items():
        models = tuned(folder / f"{program}.cu", _sizes(folder, program), device)
        choosers = dict(_choosers(models, device))
        legal = {m.kernel.name: frozenset(v.kernel.variant for v in m.variants) for m in models}
        for launch in own:
            yield _case(launch, choosers, legal.get(launch.kernel, frozenset()))


def _sizes(folder: Path, program: str) -> Sequence[str]:
    if folder == SAMPLES:
        return SMALL
    plan = json.loads((folder / "sizes.json").read_text())
    return [str(size) for size in plan[program]["emulated"]]


def _choosers(
    models: Iterable[FittedModel], device: DeviceProfile
) -> Iterator[tuple[str, VariantChooser]]:
    for model in models:
        try:
            yield model.kernel.name, VariantChooser(model, device)
        except CutuneError:
            continue  # nothing that the device can launch


def _case(
    launch: SweptLaunch, choosers: Mapping[str, VariantChooser], legal: frozenset[str]
) -> Case:
    own = Case(launch, "", launch.own, launch.microseconds[launch.own], legal)
    chooser = choosers.get(launch.kernel)
    if chooser is None:
        return own
    sizes = {name: size for name, size in launch.sizes.items() if name in chooser.size_names}
    if launch.extents is not None:
        extents = dict(zip(("extent_x", "extent_y", "extent_z"), launch.extents, strict=True))
        sizes |= {word: extents[variable] for word, variable in chooser.extent_words.items()}
    try:
        choice = chooser.choose(sizes, launch.size)
    except CutuneError:
        return own
    times = launch.variants.get(choice.variant, {}) if choice.variant else launch.microseconds
    time = times.get(choice.chosen.block)
    chosen = choice.chosen.block
    return own if time is None else Case(launch, choice.variant, chosen, time, legal)


if __name__ == "__main__":
    main(sys.argv[1:])
