"""A tuned program against the original. Takes both and ways to run them, gives differences.

Each is run with the same command lines, on the emulated device or on a GPU. Compared are exit
status, standard output, standard error and named files: bit for bit, or numbers within a tolerance
and all other text exactly. The original runs twice, and must succeed; the parts of its output that
differ between its own runs (times, addresses, random numbers) are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cutune.collect.run import Run
from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.evaluation.baseline import Baseline, Conditions, baseline
from cutune.evaluation.outcome import outcome_of


def verify(
    original: Sequence[Run], tuned: Sequence[Run], conditions: Conditions
) -> Iterator[tuple[Baseline, Diagnostic | None]]:
    """Run both programs at each size; gives what the original did and what differs.

    Raises:
        CutuneError: CT441 when a program cannot be started, and as `baseline`.
    """
    for first, second in zip(original, tuned, strict=True):
        known = baseline(first, conditions)
        known, reason = known.confirmed(outcome_of(second, conditions.place))
        if reason is None:
            yield known, None
            continue
        command = second.shown
        yield known, Diagnostic.at(Code.OUTPUT_DIFFERS, command=command, reason=reason)
