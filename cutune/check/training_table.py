"""What `cutune evaluate --training` prints: how far fitting changes what a model chooses.

Table 2 of the paper: MWP-CWP on collected counters against MWP-CWP on fitted ones.

Takes a fitted kernel and its launches at the training sizes (`collect --fit paper`), gives per
size the best block and its cycles from either; a good fit has both alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from cutune.core.diagnostics import CutuneError
from cutune.model.fit.fitted_model import FittedModel, PublishedCounts
from cutune.model.fit.published_counters import COUNTERS, TrainingCounters, training_counters
from cutune.model.measurement.measurement import Measurement
from cutune.model.performance.published_models import compose_mwp_cwp
from cutune.model.rational.functions import constant_function
from cutune.model.rational.program import evaluate, point
from cutune.model.selection.chooser import LaunchSizes, ask
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import Block, shape, threads_of

#: The sizes that the paper's table shows.
SHOWN_SIZES = (256, 512)


@dataclass(frozen=True)
class TrainingRow:
    """One kernel at one size: the best block by collected and by fitted counters, in cycles."""

    kernel: str
    size: int
    best: Block
    best_cycles: float
    chosen: Block
    chosen_cycles: float
    #: The model on collected counters at the chosen block: it should equal `chosen_cycles`.
    collected_cycles: float

    @property
    def cells(self) -> tuple[str, ...]:
        best, chosen = f"{self.best_cycles:.0f}", f"{self.chosen_cycles:.0f}"
        blocks = (shape(self.best), best, shape(self.chosen), chosen)
        return (self.kernel, str(self.size), *blocks, f"{self.collected_cycles:.0f}")

    @property
    def ratio(self) -> float:
        """Fitted by collected cycles at the chosen block."""
        return self.chosen_cycles / self.collected_cycles


def training_rows(
    model: FittedModel, measured: Sequence[Measurement], device: DeviceProfile
) -> Iterator[TrainingRow]:
    """The rows of one kernel; none where it was not counted at these sizes."""
    launches = training_counters(model.kernel, measured)
    for size in SHOWN_SIZES:
        at = {one.block: one for one in launches if one.size == size}
        kept = model.restricted(at.keys())
        if not kept.blocks:
            continue
        try:
            question = ask(model, {}, size)
        except CutuneError:
            continue  # its thread space is a variable of its own
        true = {block: _on_collected(kept, at[block], question, device) for block in kept.blocks}
        fitted = dict(zip(kept.blocks, _cycles(kept, question, device), strict=True))
        best, chosen = _least(true), _least(fitted)
        yield TrainingRow(
            *(model.kernel.name, size, best, true[best]), *(chosen, fitted[chosen], true[chosen])
        )


def _on_collected(
    model: FittedModel, launch: TrainingCounters, question: LaunchSizes, device: DeviceProfile
) -> float:
    names = (model.kernel.variables[0],)
    constants = (constant_function(names, Fraction(launch.values[name])) for name in COUNTERS)
    one = replace(model.restricted([launch.block]), published=PublishedCounts(*constants))
    return _cycles(one, question, device)[0]


def _cycles(model: FittedModel, question: LaunchSizes, device: DeviceProfile) -> list[float]:
    at = point(question.sizes, question.extents)
    values = evaluate(compose_mwp_cwp(model, device), at)["cycles"]
    count = len(model.blocks)
    return [float(values)] * count if values.ndim == 0 else [float(value) for value in values]


def _least(cycles: dict[Block, float]) -> Block:
    """The fastest; of equals the smallest, then the narrowest, as in the paper."""
    return min(cycles, key=lambda b: (cycles[b], threads_of(b), b[0]))
