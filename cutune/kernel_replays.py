"""Replays of one kernel, step by step. Takes a subject, gives counters.

First full launches are counted; then residues of the sizes are probed for alignment classes; then
all candidates are traced in each class.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from cutune.cells import all_rows, cells, out_of_line
from cutune.classes import alignment_classes
from cutune.collect import Subject
from cutune.counts import HELD_OUT_LIMIT, count_functions
from cutune.measure import COUNTS, MeasuredKernel, Measurement
from cutune.plan import (
    Replay,
    count_launches,
    feature_launches,
    probe_blocks,
    probe_launches,
    training_launches,
)
from cutune.relations import holding, tying

Progress = Callable[[str, int, int], None]


def counted_kernel(
    subject: Subject, known: Sequence[Measurement], progress: Progress
) -> tuple[Subject, list[Measurement]]:
    """The kernel as it is going to be measured, and its counts as far as they were not known.

    Where they show that some of its parameters are no sizes, or follow from others, it is counted
    again without these.
    """
    found = _counted(subject, known, progress)
    held = holding(subject.kernel, _counts(found))
    if held is not None:
        subject = replace(subject, kernel=held)
        found = _counted(subject, known, progress)
    if count_functions(subject.kernel, _counts(found)).worst_error > HELD_OUT_LIMIT:
        tied = tying(subject.kernel)
        if tied is not None:
            subject = replace(subject, kernel=tied)
            found = _counted(subject, known, progress)
    repeated = {m.key for m in known}
    return subject, [m for m in found.values() if m.key not in repeated]


def _counts(found: Mapping[tuple[object, ...], Measurement]) -> list[Measurement]:
    return [m for m in found.values() if m.purpose == COUNTS]


def _counted(
    subject: Subject, known: Sequence[Measurement], progress: Progress
) -> dict[tuple[object, ...], Measurement]:
    done = _own(subject.kernel, known)
    replays = list(count_launches(subject.kernel))
    new = _replayed(subject, "counting", replays, done, progress)
    return {**done, **{m.key: m for m in new}}


def collect_kernel(
    subject: Subject, known: Sequence[Measurement], progress: Progress, training: bool = False
) -> Iterator[Measurement]:
    """Replay a counted kernel at the planned sizes and blocks; what is known is not repeated.

    `training`: also at those of the published method.
    """
    kernel = subject.kernel
    done = _own(kernel, known)

    def measured(what: str, replays: Sequence[Replay]) -> Iterator[Measurement]:
        for measurement in _replayed(subject, what, replays, done, progress):
            done[measurement.key] = measurement
            yield measurement

    counts = count_functions(kernel, [m for m in done.values() if m.purpose == COUNTS])
    yield from measured("finding classes", list(probe_launches(kernel, counts)))
    classes = alignment_classes(kernel, list(done.values()))
    rows = all_rows(classes)
    few = cells(kernel, classes, list(done.values())).telling_rows(classes)
    if not kernel.asserted and len(few) < len(rows):
        blocks, another = probe_blocks(kernel), out_of_line(classes)
        checked = feature_launches(kernel, counts, classes, {another, *few}, blocks)
        yield from measured("checking classes", list(checked))
        if cells(kernel, classes, list(done.values())).are_sound(another, blocks):
            rows = sorted(few)
    tracing = feature_launches(kernel, counts, classes, rows)
    yield from measured("tracing", list(tracing))
    if training:
        yield from measured("training", list(training_launches(kernel, counts)))


def _own(
    kernel: MeasuredKernel, known: Sequence[Measurement]
) -> dict[tuple[object, ...], Measurement]:
    """What is known of a kernel, in this version of its code and of its description."""
    wanted = (kernel.entry, kernel.code, kernel.variables)
    return {m.key: m for m in known if (m.entry, m.code, m.variables) == wanted}


def _replayed(
    subject: Subject,
    what: str,
    replays: Sequence[Replay],
    done: Mapping[tuple[object, ...], Measurement],
    progress: Progress,
) -> Iterator[Measurement]:
    """The launches of a plan that are not done."""
    replayer, shown = subject.replayer(), f"{subject.kernel.kernel}: {what}"
    # The machine runs outside of Python's lock: one launch per core at a time.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda replay: replayer.replay(replay, done), replays)
        for index, measurement in enumerate(results):
            progress(shown, index, len(replays))
            if measurement.key not in done:
                yield measurement
    progress(shown, len(replays), len(replays))
