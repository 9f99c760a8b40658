"""What it takes to try the candidates of kernels. Takes recorded launches, gives instructions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from cutune.collect.replay.subjects import Subject
from cutune.collect.run import Run
from cutune.collect.trial import LAUNCHES
from cutune.emulator.launch_log import LaunchRecord

#: Warp instructions that trying all candidates of all kernels may take: some ten seconds.
TRIAL_BUDGET = 2_000_000_000


def affordable(
    found: Sequence[Subject], run: Run, launches: Sequence[LaunchRecord]
) -> tuple[list[Subject], list[Subject]]:
    """The kernels that are tried, and those that are not.

    Those that an annotation asserts always are; of the others as many as there is time for, the
    cheapest first, and none where the run is not executed to its end.
    """
    tried = [subject for subject in found if subject.kernel.asserted]
    others = sorted(
        (subject for subject in found if not subject.kernel.asserted),
        key=lambda subject: effort([subject], launches),
    )
    left = 0 if run.launches_only or run.is_cut else TRIAL_BUDGET
    spent = 0
    for subject in others:
        spent += effort([subject], launches)
        if spent <= left and left:
            tried.append(subject)
    chosen = {id(subject) for subject in tried}
    return (
        [subject for subject in found if id(subject) in chosen],
        [subject for subject in found if id(subject) not in chosen],
    )


def effort(found: Iterable[Subject], launches: Sequence[LaunchRecord]) -> int:
    """Warp instructions of launches with each candidate, of as many as are tried."""
    return sum(LAUNCHES * one_of_each(subject, launches) for subject in found)


def experiments(found: Iterable[Subject], launches: Sequence[LaunchRecord], most: int) -> int:
    """How many launches are going to be tried, `most` of each site and instance."""
    own = {id(r): r for subject in found for r in launches if subject.is_launch(r)}
    made = Counter((record.site, record.signature) for record in own.values())
    return sum(min(count, most) for count in made.values())


def one_of_each(subject: Subject, launches: Iterable[LaunchRecord]) -> int:
    """Warp instructions of one launch with every candidate; 0 where there is no launch."""
    work = max((r.warp_instructions for r in launches if subject.is_launch(r)), default=0)
    return work * len(subject.kernel.candidates())
