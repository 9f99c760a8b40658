"""What timings of a kernel are used for: to test whether the model suits it.

Takes a fitted kernel and launches that were swept on a GPU (`collect --on gpu`). Letting timings
override the model or break its ties was measured to hurt: they hold at their own size and alignment
only. Those of one size count, the smallest at which the kernel takes three times as long as its
launch. Where the model chooses well there, also what little it predicts to be gained counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.device.profile import DeviceProfile
from cutune.fit.fitted_model import FittedModel
from cutune.fit.measurement.sweep import SweptLaunch
from cutune.models.constants import (
    FEWEST_BLOCKS,
    INFORMATIVE_TIME,
    LEAST_CORRELATION,
    LEAST_SPREAD,
    MINIMUM_TIME,
    NO_LONGER,
    PREFERRED_TIME,
)
from cutune.models.selection.choose import BlockChoice
from cutune.models.selection.question import choose_block


def with_timings(
    model: FittedModel, launches: Iterable[SweptLaunch], device: DeviceProfile
) -> tuple[FittedModel, Diagnostic | None]:
    """The model, confirmed or not, and a warning where it orders blocks otherwise than times do."""
    floor = float(device.model.floor_us)
    launch = _reference(launches, floor)
    if launch is None:
        return model, None
    trusted = replace(model, confirmed_on=device.name)
    choice = choice_at(trusted, launch, device)
    agreement = None if choice is None else suitability(choice, launch, device)
    if agreement is not None and agreement < LEAST_CORRELATION:
        kernel, shown = model.kernel.name, f"{agreement:.2f}"
        return model, Diagnostic.at(Code.UNSUITED_MODEL, None, kernel=kernel, correlation=shown)
    return trusted if choice is not None and _is_confirmed(choice, launch) else model, None


def choice_at(model: FittedModel, launch: SweptLaunch, device: DeviceProfile) -> BlockChoice | None:
    """What the model says of that launch."""
    sizes = {n: v for n, v in launch.sizes.items() if n in model.kernel.parameters}
    try:
        return choose_block(model, device, sizes, launch.size)
    except CutuneError:
        return None


def _is_confirmed(choice: BlockChoice, launch: SweptLaunch) -> bool:
    """Is another block chosen than the program's own, and no slower?"""
    if choice.block == choice.original:
        return False
    chosen, own = (launch.microseconds.get(block) for block in (choice.block, choice.original))
    return chosen is not None and own is not None and chosen <= NO_LONGER * own


def _reference(launches: Iterable[SweptLaunch], floor: float) -> SweptLaunch | None:
    """The launch whose times count: one that is not bound by launching, if there is one."""
    ordered = sorted(launches, key=lambda one: one.size or 0)
    least = [one.microseconds[one.best] for one in ordered]
    preferred = [
        one for one, time in zip(ordered, least, strict=True) if time >= PREFERRED_TIME * floor
    ]
    enough = [one for one, time in zip(ordered, least, strict=True) if time > MINIMUM_TIME * floor]
    return preferred[0] if preferred else enough[-1] if enough else None


def suitability(choice: BlockChoice, launch: SweptLaunch, device: DeviceProfile) -> float | None:
    """Rank correlation (Spearman) of predicted and measured times.

    None where too few blocks take longer than launching, or all take about as long.
    """
    least = INFORMATIVE_TIME * float(device.model.floor_us)
    pairs = [
        (prediction.predicted_ms, launch.microseconds[prediction.block])
        for prediction in choice.ranked
        if launch.microseconds.get(prediction.block, 0.0) > least
    ]
    measured = [time for _, time in pairs]
    if len(pairs) < FEWEST_BLOCKS or max(measured) < LEAST_SPREAD * min(measured):
        return None
    return _correlation([time for time, _ in pairs], measured)


def _correlation(first: Sequence[float], second: Sequence[float]) -> float:
    # Takes a second to import, and most commands have no timings.
    from scipy.stats import spearmanr  # noqa: PLC0415

    found = float(spearmanr(np.array(first), np.array(second)).statistic)
    return 0.0 if math.isnan(found) else found
