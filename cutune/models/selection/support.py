"""The sizes for which the counts of a model hold. Takes a model, gives a range per variable.

Beyond them the program's own block and kernel stay: `cutune select` says so, and the selection
routine of a tuned program does the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from cutune.fit.fitted_model import FittedModel, SizeRange
from cutune.fit.measurement.size_relations import only_at
from cutune.models.constants import REACH_EXACT, REACH_NUMERICAL, REACH_ON_DATA

#: From this size on, products of the model are not exact.
LARGEST_SIZE = 1 << 31


def supported(model: FittedModel) -> dict[str, SizeRange]:
    """The least and the largest value of each variable of a kernel's counts.

    Arguments that had one value when the kernel was measured have that value only.
    """
    kernel = model.kernel
    pairs = zip(kernel.variables, model.reached, strict=True)
    ranges = {name: _widened(model, reached) for name, reached in pairs}
    return ranges | {name: SizeRange(value, value) for name, value in only_at(kernel)}


def measured_only_at(model: FittedModel) -> dict[str, int]:
    """Integers of which one value is known, by the names that users have for them."""
    ranges = supported(model).items()
    return model.kernel.as_asked((name, r.least) for name, r in ranges if r.least == r.largest)


def outside(ranges: Mapping[str, SizeRange], sizes: Mapping[str, int]) -> dict[str, SizeRange]:
    """The variables whose value lies where the counts are not known to hold, with their range."""
    return {
        name: held
        for name, held in ranges.items()
        if name in sizes and not held.least <= sizes[name] <= held.largest
    }


def _widened(model: FittedModel, reached: SizeRange) -> SizeRange:
    if model.kernel.on_data and reached.least == reached.largest:
        return reached  # what never varied tells nothing of other values
    # What was met so many times beyond its samples is asked as far again.
    factor = REACH_EXACT if model.is_exact else max(REACH_NUMERICAL, reached.factor)
    factor = REACH_ON_DATA if model.kernel.on_data else factor
    least, largest = -(-reached.least // factor), reached.largest * factor
    return SizeRange(max(1, least), min(LARGEST_SIZE, largest))
