"""Arguments that a model reads. Takes names and positions from a file, says what does not fit."""

from __future__ import annotations

from collections.abc import Sequence

from cutune.core.typed import require
from cutune.fit.rational.formulas import tie_of


def check_arguments(
    parameters: Sequence[str],
    positions: Sequence[int],
    tied: Sequence[tuple[str, int, str]],
    required: Sequence[tuple[int, int]],
) -> None:
    """See the fields of `MeasuredKernel` of these names.

    Raises:
        ValueError: they do not; says what should be.
    """
    require(len(positions) == len(parameters), "`positions` are as many as `parameters`")
    sizes = [*parameters, *(name for name, _, _ in tied)]
    require(len({*sizes}) == len(sizes), "each size has a name of its own")
    read = [*positions, *(place for _, place, _ in tied), *(place for place, _ in required)]
    require(len({*read}) == len(read), "each argument is read once")
    for _, _, text in tied:
        require(tie_of(text, parameters), f"`tied`: {text!r} is no part of one size")
