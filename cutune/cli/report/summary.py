"""The last lines of `tune`: what became of each launch. Takes outcomes, gives words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cutune.cli.report.tuned import Summary
from cutune.stages.outcomes import LaunchOutcome, Outcome

#: A reason is cut behind so many characters: its message stands above in full.
LONGEST = 120


def summary_of(found: Sequence[LaunchOutcome]) -> Summary:
    """A line of counts, then one per launch: place, kernel, outcome, why, code."""
    counts = Counter(one.outcome for one in found)
    counted = ", ".join(f"{counts[each]} {each.value}" for each in Outcome if counts[each])
    plural = "launch" if len(found) == 1 else "launches"
    line = f"{len(found)} {plural}: {counted or 'nothing to tune'}"
    return Summary(line, [_row(one) for one in found])


def _row(one: LaunchOutcome) -> list[str]:
    launch, why = one.launch, one.why.removeprefix(f"kernel '{one.launch.kernel}' ")
    short = why if len(why) <= LONGEST else f"{why[:LONGEST]}…"
    remark = f"{short} [{one.code}]" if one.code else short
    return [f"{launch.file}:{launch.line}", launch.kernel, one.outcome.value, remark]
