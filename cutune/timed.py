"""What timings of a kernel are used for: to break ties, and to test whether the model suits it.

Takes a fitted kernel and launches that were swept on a GPU (`collect --on gpu`). Letting timings
override the model was measured to hurt: they hold at their own size and alignment only. Those of
one size count, the smallest at which the kernel takes three times as long as its launch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from cutune.device import DeviceProfile
from cutune.diagnostics import Code, CutuneError, Diagnostic
from cutune.fitted import FittedModel
from cutune.question import choose_block
from cutune.selection import dense_ranks, from_range
from cutune.sweep import SweptLaunch

#: Times of a launch by the launch floor: wanted, needed, and of blocks that tell something.
WANTED, NEEDED, TELLING = 3.0, 1.5, 1.3
#: Times that differ by less are equal.
EQUAL = 0.005
#: A correlation says something where times spread by that; below the limit it warns.
SPREAD, LIMIT = 1.1, 0.75
FEWEST_BLOCKS = 5


def with_timings(
    model: FittedModel, launches: Iterable[SweptLaunch], device: DeviceProfile
) -> tuple[FittedModel, Diagnostic | None]:
    """The model with a rank per block by time, and a warning where it orders blocks otherwise."""
    floor = float(device.model.floor_us)
    launch = _reference(launches, floor)
    if launch is None:
        return model, None
    times = [launch.microseconds.get(block, math.inf) for block in model.blocks]
    least = min(times)
    keys = [
        (
            math.inf if math.isinf(time) else float(int(math.log(time / least) / EQUAL)),
            from_range(math.prod(block), 64, 96) if model.one_dimensional else 0.0,
        )
        for time, block in zip(times, model.blocks, strict=True)
    ]
    ranked = replace(model, timing_ranks=dense_ranks(keys))
    agreement = suitability(model, launch, device)
    if agreement is None or agreement >= LIMIT:
        return ranked, None
    kernel, shown = model.facts.kernel, f"{agreement:.2f}"
    return ranked, Diagnostic.at(Code.UNSUITED_MODEL, None, kernel=kernel, correlation=shown)


def _reference(launches: Iterable[SweptLaunch], floor: float) -> SweptLaunch | None:
    """The launch whose times count: one that is not bound by launching, if there is one."""
    ordered = sorted(launches, key=lambda one: one.size or 0)
    least = [one.microseconds[one.best] for one in ordered]
    wanted = [one for one, time in zip(ordered, least, strict=True) if time >= WANTED * floor]
    needed = [one for one, time in zip(ordered, least, strict=True) if time > NEEDED * floor]
    return wanted[0] if wanted else needed[-1] if needed else None


def suitability(model: FittedModel, launch: SweptLaunch, device: DeviceProfile) -> float | None:
    """Rank correlation (Spearman) of predicted and measured times.

    None where too few blocks take longer than launching, or all take about as long.
    """
    try:
        sizes = {n: v for n, v in launch.sizes.items() if n in model.facts.parameters}
        choice = choose_block(model, device, sizes, launch.size)
    except CutuneError:
        return None
    least = TELLING * float(device.model.floor_us)
    pairs = [
        (prediction.predicted_ms, launch.microseconds[prediction.block])
        for prediction in choice.ranked
        if launch.microseconds.get(prediction.block, 0.0) > least
    ]
    measured = [time for _, time in pairs]
    if len(pairs) < FEWEST_BLOCKS or max(measured) < SPREAD * min(measured):
        return None
    return _correlation([time for time, _ in pairs], measured)


def _correlation(first: Sequence[float], second: Sequence[float]) -> float:
    # Takes a second to import, and most commands have no timings.
    from scipy.stats import spearmanr  # noqa: PLC0415

    found = float(spearmanr(np.array(first), np.array(second)).statistic)
    return 0.0 if math.isnan(found) else found
