"""Sizes that a choice is shown for unless others are asked for. Takes a model, gives sizes."""

from __future__ import annotations

import math

from cutune.fit.fitted_model import FittedModel
from cutune.fit.measurement.size_relations import extents_at

#: Matrices, and long vectors.
USUAL_SIZES = (1000, 1024, 2048, 4096)
STREAMING_SIZES = (100_000, 1_000_000, 10_000_000)
#: So many launches of the runs stand for all of them.
MOST_AS_RUN = 3


def usual_sizes(model: FittedModel) -> tuple[int, ...]:
    """Sizes that keep a GPU busy, for all data parameters alike."""
    return STREAMING_SIZES if is_stream(model) else USUAL_SIZES


def sizes_as_run(model: FittedModel) -> list[dict[str, int]]:
    """Sizes of launches of the program itself, the smallest and the largest too.

    For kernels whose threads do not follow from their sizes, which nothing else can be asked of.
    """
    kernel = model.kernel
    threads = {
        (
            *zip(kernel.parameters, values, strict=True),
            *((word, extents["xyz".index(word[-1])]) for word in kernel.extent_words),
        ): math.prod(extents)
        for values, extents in kernel.recorded
    }
    ordered = sorted(threads, key=lambda sizes: (threads[sizes], sizes))
    step = max(1, (len(ordered) - 1) / (MOST_AS_RUN - 1))
    places = dict.fromkeys(round(index * step) for index in range(min(len(ordered), MOST_AS_RUN)))
    return [dict(ordered[place]) for place in places]


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
