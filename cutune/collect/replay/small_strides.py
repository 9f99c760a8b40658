"""Small sizes that are strides. Takes a subject and its counts, gives sizes to hold."""

from __future__ import annotations

from cutune.collect.replay.plan import stride_launches
from cutune.collect.replay.subjects import Subject
from cutune.core.diagnostics import CutuneError
from cutune.fit.count_functions import CountFunctions
from cutune.fit.measurement.alignment_classes import TOLERANCE, distance, features_of
from cutune.fit.measurement.size_relations import small_factors


def small_strides(subject: Subject, counts: CountFunctions) -> dict[str, int]:
    """Small sizes that no launch has varied, where requests cost otherwise than at large ones.

    Alignment classes say that a size matters by its residue: what 4 and 772 have in common. For a
    small stride between neighbours that is not so: with 4 channels of a pixel a warp reads 512
    bytes in a row, with 772 each thread has a sector of its own.
    """
    factors = small_factors(subject.kernel).items()
    return {name: value for name, value in factors if _is_stride(subject, counts, name, value)}


def _is_stride(subject: Subject, counts: CountFunctions, name: str, value: int) -> bool:
    replayer = subject.replayer()
    try:
        small, large = (
            features_of([replayer.replay(plan, {})])
            for plan in stride_launches(subject.kernel, counts, name, value)
        )
    except CutuneError:  # the kernel does nothing there, or too much
        return False
    # Loads and stores. How many sectors are new hangs on how often a loop comes back to them.
    return distance(small[:2], large[:2]) > TOLERANCE
