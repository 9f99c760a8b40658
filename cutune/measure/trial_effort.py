"""The cost of trying candidates, in warp instructions, and the choice of what there is time for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import log2

from cutune.measure.candidate_trials import LAUNCHES
from cutune.measure.program_runs import RecordedRun
from cutune.measure.replay.plan import fits_launches
from cutune.measure.replay.subjects import Subject
from cutune.model.measurement.measurement import MeasuredKernel
from cutune.toolchain.device.thread_block import Block

#: Warp instructions that trying all candidates of all kernels may take: some ten seconds.
TRIAL_BUDGET = 2_000_000_000
#: The same of one kernel that has to be tried, since only an annotation allows its candidates.
ASSERTED_BUDGET = 3_000_000_000
#: As many as the emulated device executes in a second, or more.
INSTRUCTIONS_PER_SECOND = 400_000_000

#: Candidates among which a choice is made at least.
FEWEST_CANDIDATES = 6


def affordable(
    subjects: Sequence[Subject], made: RecordedRun
) -> tuple[list[Subject], list[Subject]]:
    """Split kernels into those whose candidates are tried, and the others.

    Kernels that an annotation asserts are always tried; of the others the cheapest, within
    `TRIAL_BUDGET`, and none where the run is not executed to its end.
    """
    efforts = [0 if s.kernel.asserted else effort([s], made) for s in subjects]
    tried, spent = [subject.kernel.asserted for subject in subjects], 0
    if not (made.run.launches_only or made.run.is_cut):
        for place in sorted(range(len(subjects)), key=efforts.__getitem__):
            spent += efforts[place]
            tried[place] |= spent <= TRIAL_BUDGET
    pairs = list(zip(subjects, tried, strict=True))
    return [s for s, is_tried in pairs if is_tried], [s for s, is_tried in pairs if not is_tried]


def effort(subjects: Iterable[Subject], made: RecordedRun, unknown: int = 0) -> int:
    """Warp instructions to try every candidate in one run; `unknown` for a kernel not executed."""
    return sum(
        experiments([subject], made, LAUNCHES) * one_of_each(subject, made) or unknown
        for subject in subjects
    )


def experiments(subjects: Iterable[Subject], made: RecordedRun, most: int) -> int:
    """The number of launches that will be tried: `most` of each site and instance."""
    own = {id(r): r for subject in subjects for r in subject.launches_in(made.launches)}
    counts = Counter((record.site, record.signature) for record in own.values())
    return sum(min(count, most) for count in counts.values())


def one_of_each(subject: Subject, made: RecordedRun) -> int:
    """Warp instructions of one launch with every candidate; 0 where there is no launch."""
    return _most_work(subject, made) * len(fitting(subject.kernel))


def with_fewer_candidates(
    subject: Subject, recorded: Iterable[RecordedRun], budget: int
) -> Subject:
    """The kernel with as many candidates as `budget` allows in the cheapest of its runs."""
    works = [work for made in recorded if (work := _most_work(subject, made))]
    most = max(FEWEST_CANDIDATES, budget // min(works, default=1))
    return thinned(subject, most) if most < len(fitting(subject.kernel)) else subject


def with_fewer_trials(subject: Subject, made: RecordedRun) -> Subject:
    """An asserted kernel with as many candidates as there is time to try; others as they are.

    If a launch was not executed for want of time, only `FEWEST_CANDIDATES` stay.
    """
    own = subject.launches_in(made.launches)
    if not subject.kernel.asserted or not own:
        return subject
    if made.run.is_cut and not all(record.is_executed for record in own):
        return thinned(subject, FEWEST_CANDIDATES)
    budget = ASSERTED_BUDGET // experiments([subject], made, LAUNCHES)
    return with_fewer_candidates(subject, [made], budget)


def thinned(subject: Subject, most: int) -> Subject:
    """The kernel with at most so many candidates, which lie far apart."""
    kernel = subject.kernel
    if most >= len(kernel.remaining()):
        return subject
    left = fitting(kernel)
    # Counts of a kernel whose grid stays are taken with its smallest block.
    kept = [kernel.original, *([min(left)] if kernel.keeps_grid else [])]
    while len(kept) < min(most, len({*left, *kept})):
        kept.append(max(left, key=lambda block: min(_distance(block, one) for one in kept)))
    rejected = {*kernel.candidates(), *kernel.rejected} - {*kept}
    return replace(subject, kernel=replace(kernel, rejected=tuple(sorted(rejected))))


def fitting(kernel: MeasuredKernel) -> list[Block]:
    """The candidates with which all recorded launches can be made."""
    covered = [extents for _, extents in kernel.recorded]
    return [block for block in kernel.remaining() if fits_launches(kernel, block, covered)]


def _most_work(subject: Subject, made: RecordedRun) -> int:
    return max((r.warp_instructions for r in subject.launches_in(made.launches)), default=0)


def _distance(block: Block, other: Block) -> float:
    """Doublings from one block to the other, summed over the dimensions."""
    return sum(abs(log2(one / two)) for one, two in zip(block, other, strict=True))
