"""The expected regret of a choice. Takes a model and its choice, gives regret by kind of kernel.

Timings of unseen kernels tell: the launches of the judge sets (`benchmarks.expected_regret`).
"""

from __future__ import annotations

from cutune.fit.fitted_model import FittedModel
from cutune.models.constants import EXPECTED_REGRET
from cutune.models.selection.choose import Selection

#: Launches that take little longer than launching, and kernels that: are counted on data; divide
#: their work among the threads of a block; wait at barriers; loop over memory; do neither.
LAUNCH, DATA, SHARED, BARRIERS, LOOP, STRAIGHT = (
    "launch-bound",
    "data-dependent",
    "grid kept",
    "barriers",
    "loop",
    "straight",
)
KINDS = (LAUNCH, DATA, SHARED, BARRIERS, LOOP, STRAIGHT)


def kind_of(model: FittedModel, choice: Selection) -> str:
    """The kind of a launch: what the precision of a choice depends on most."""
    kernel = model.kernel
    if choice.launch_bound:
        return LAUNCH
    if kernel.on_data:
        return DATA
    if kernel.keeps_grid:
        return SHARED
    if not model.barriers.is_zero:
        return BARRIERS
    return LOOP if model.looped else STRAIGHT


def expected_regret(model: FittedModel, choice: Selection) -> tuple[float, float] | None:
    """Regret as a fraction of the best time: geometric mean, and 90th percentile.

    None where nothing is predicted: the program's own block may be far from the best.
    """
    return EXPECTED_REGRET[kind_of(model, choice)] if choice.ranked else None
