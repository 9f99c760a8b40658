"""The last lines of `tune`: what became of each launch. Takes outcomes, prints them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cutune.cli.report.choices import standard_output
from cutune.cli.report.programs import aligned
from cutune.stages.outcomes import LaunchOutcome, Outcome

#: A reason is cut behind so many characters: its message stands above in full.
LONGEST = 120


def print_summary(found: Sequence[LaunchOutcome]) -> None:
    """A line of counts, then one per launch: place, kernel, outcome, why, code."""
    counts = Counter(one.outcome for one in found)
    counted = ", ".join(f"{counts[each]} {each.value}" for each in Outcome if counts[each])
    console = standard_output()
    plural = "launch" if len(found) == 1 else "launches"
    console.print(f"{len(found)} {plural}: {counted or 'nothing to tune'}")
    for line in aligned([_row(one) for one in found]):
        console.print(f"  {line}", markup=False, soft_wrap=True)


def _row(one: LaunchOutcome) -> tuple[str, ...]:
    launch, why = one.launch, one.why.removeprefix(f"kernel '{one.launch.kernel}' ")
    short = why if len(why) <= LONGEST else f"{why[:LONGEST]}…"
    remark = f"{short} [{one.code}]" if one.code else short
    return f"{launch.file}:{launch.line}", launch.kernel, one.outcome.value, remark
