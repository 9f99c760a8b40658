"""Sizes that a choice is shown for unless others are asked for. Takes a model, gives sizes."""

from __future__ import annotations

import math

from cutune.fit.fitted_model import FittedModel
from cutune.fit.measurement.size_relations import extents_at

#: Matrices, and long vectors.
USUAL_SIZES = (1000, 1024, 2048, 4096)
STREAMING_SIZES = (100_000, 1_000_000, 10_000_000)


def usual_sizes(model: FittedModel) -> tuple[int, ...]:
    """Sizes that keep a GPU busy, for all data parameters alike."""
    return STREAMING_SIZES if is_stream(model) else USUAL_SIZES


def is_stream(model: FittedModel) -> bool:
    """Has it about one thread per element of a single size, or always as many for a long one?"""
    most = STREAMING_SIZES[-1]
    extents = extents_at(model.kernel, dict.fromkeys(model.kernel.variables, most))
    is_one_pass = not model.looped and math.prod(extents) <= 2 * most
    return model.one_dimensional and (is_one_pass or _strides_over_long_vectors(model))


def _strides_over_long_vectors(model: FittedModel) -> bool:
    """Do always as many threads share one size, and are they or it beyond those of matrices?

    At a smaller size many of the threads would have nothing to do.
    """
    recorded = model.kernel.recorded
    values = [size for sizes, _ in recorded for size in sizes]
    threads = {extents for _, extents in recorded}
    is_shared = len(model.kernel.parameters) == len(threads) == 1
    return is_shared and max(min(values), *map(math.prod, threads)) > USUAL_SIZES[-1]
