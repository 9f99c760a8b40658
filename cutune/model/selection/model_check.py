"""Does the model suit a kernel that was timed? Takes a fitted kernel and launches swept on a GPU.

Timings (`collect --on gpu`) test the model, they do not override it or break its ties: measured,
that made choices worse, because a timing holds at its own size and alignment only. The timings of
one size are used: the smallest at which the kernel takes `PREFERRED_TIME` times the launch floor.
A model that chooses well there is confirmed: small predicted gains then count too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.measurement.sweep import SweptLaunch
from cutune.model.performance.constants import (
    FEWEST_BLOCKS,
    INFORMATIVE_TIME,
    LEAST_CORRELATION,
    LEAST_SPREAD,
    MINIMUM_TIME,
    NO_LONGER,
    PREFERRED_TIME,
)
from cutune.model.selection.choose import Selection
from cutune.model.selection.chooser import choose_block
from cutune.toolchain.device.profile import DeviceProfile


def with_timings(
    model: FittedModel, launches: Iterable[SweptLaunch], device: DeviceProfile
) -> tuple[FittedModel, Diagnostic | None]:
    """The model, confirmed or not, and a warning if its order of blocks differs from the times'."""
    floor = float(device.model.floor_us)
    launch = _reference(launches, floor)
    if launch is None:
        return model, None
    trusted = replace(model, confirmed_on=device.name)
    choice = choice_at(trusted, launch, device)
    agreement = None if choice is None else suitability(choice, launch, device)
    if agreement is not None and agreement < LEAST_CORRELATION:
        kernel, shown = model.kernel.name, f"{agreement:.2f}"
        return model, Diagnostic.at(Code.UNSUITED_MODEL, kernel=kernel, correlation=shown)
    return trusted if choice is not None and _is_confirmed(choice, launch) else model, None


def choice_at(model: FittedModel, launch: SweptLaunch, device: DeviceProfile) -> Selection | None:
    """The model's choice for that launch; None where it has no answer."""
    sizes = {n: v for n, v in launch.sizes.items() if n in model.kernel.parameters}
    try:
        return choose_block(model, device, sizes, launch.size)
    except CutuneError:
        return None


def _is_confirmed(choice: Selection, launch: SweptLaunch) -> bool:
    """Does the model choose a block other than the program's own, and is that block no slower?"""
    if choice.block == choice.original:
        return False
    chosen, own = (launch.microseconds.get(block) for block in (choice.block, choice.original))
    return chosen is not None and own is not None and chosen <= NO_LONGER * own


def _reference(launches: Iterable[SweptLaunch], floor: float) -> SweptLaunch | None:
    """The launch whose times are used: long enough for the launch overhead not to dominate."""
    ordered = sorted(launches, key=lambda launch: launch.size or 0)
    times = [(launch, launch.microseconds[launch.best]) for launch in ordered]
    preferred = (launch for launch, time in times if time >= PREFERRED_TIME * floor)
    enough = (launch for launch, time in reversed(times) if time > MINIMUM_TIME * floor)
    return next(preferred, None) or next(enough, None)


def suitability(choice: Selection, launch: SweptLaunch, device: DeviceProfile) -> float | None:
    """Rank correlation (Spearman) of predicted and measured times.

    None where too few blocks take longer than the launch overhead, or all take about as long.
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
    # Takes a second to import, and most commands have no timings.
    from scipy.stats import spearmanr  # noqa: PLC0415

    predicted = [time for time, _ in pairs]
    correlation = float(spearmanr(np.array(predicted), np.array(measured)).statistic)
    return 0.0 if math.isnan(correlation) else correlation
