"""The last lines of `tune`: the outcome of each launch, in words.

Takes launches, measured kernels and messages, gives outcomes; takes these, gives a `Summary`.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cutune.cli.report.tuned import Summary
from cutune.stages.outcomes import LaunchOutcome, TuningOutcome

#: A reason is cut behind so many characters: its message stands above in full.
LONGEST = 120


def summary_of(outcomes: Sequence[LaunchOutcome]) -> Summary:
    """A line of counts, then one per launch: place, kernel, outcome, why, code."""
    counts = Counter(one.outcome for one in outcomes)
    counted = ", ".join(f"{counts[each]} {each.value}" for each in TuningOutcome if counts[each])
    plural = "launch" if len(outcomes) == 1 else "launches"
    line = f"{len(outcomes)} {plural}: {counted or 'nothing to tune'}"
    return Summary(line, [_row(one) for one in outcomes], _advice(outcomes))


def _advice(outcomes: Sequence[LaunchOutcome]) -> str:
    """How to learn what would help refused launches; empty where there are none."""
    refused = (_near(one.launch.file) for one in outcomes if one.outcome is TuningOutcome.REFUSED)
    files = shlex.join(dict.fromkeys(refused))
    return f"what would help, if anything does: cutune inspect --suggest {files}" if files else ""


def _row(one: LaunchOutcome) -> list[str]:
    launch, why = one.launch, one.why.removeprefix(f"kernel '{one.launch.kernel}' ")
    short = why if len(why) <= LONGEST else f"{why[:LONGEST].rsplit(' ', 1)[0]} …"
    remark = f"{short} [{one.code}]" if one.code else short
    return [f"{_near(launch.file)}:{launch.line}", launch.kernel, one.outcome.value, remark]


def _near(file: str) -> str:
    """The path from the current folder of a file that lies in it, as one would type it."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
