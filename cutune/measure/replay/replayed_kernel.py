"""Replays of one kernel, step by step. Takes a subject, gives counters.

First full launches are counted; then residues of the sizes are probed for alignment classes; then
all candidates are traced in each class.

Where no function of its sizes gives the work of a kernel, or it fails at others, its launches can
still be replayed as the program makes them, with each candidate: if neither branches nor addresses
depend on data, that counts what the program itself would have counted, had there been time to
execute it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod
from typing import TypeVar

from cutune.core.diagnostics import CutuneError
from cutune.core.progress import Progress
from cutune.emulator.launch_log import LaunchRecord
from cutune.measure.replay import plan
from cutune.measure.replay.replay import integer_argument, recorded_extents
from cutune.measure.replay.subjects import Subject
from cutune.model.fit import count_functions
from cutune.model.fit.count_functions import CountFunctions, HeldOut
from cutune.model.measurement import alignment, size_relations
from cutune.model.measurement.measurement import RUN, MeasuredKernel, Measurement, Purpose
from cutune.toolchain.device.thread_block import Block

T = TypeVar("T")
Known = dict[tuple[object, ...], Measurement]


def small_strides(subject: Subject, counts: CountFunctions) -> dict[str, int]:
    """Small sizes that no launch has varied, where requests cost otherwise than at large ones.

    Alignment classes assume that a size matters by its residue. For a small stride between
    neighbours it does not: with 4 channels of a pixel a warp reads 512 bytes in a row, with 772
    each thread has a sector of its own.
    """
    factors = size_relations.small_factors(subject.kernel).items()
    return {name: value for name, value in factors if _is_stride(subject, counts, name, value)}


def _is_stride(subject: Subject, counts: CountFunctions, name: str, value: int) -> bool:
    plans = plan.stride_launches(subject.kernel, counts, name, value)
    try:
        small, large = (alignment.features_of([subject.replay(one, {})]) for one in plans)
    except CutuneError:  # the kernel does nothing there, or too much
        return False
    # Loads and stores. How many sectors are new hangs on how often a loop comes back to them.
    return alignment.distance(small[:2], large[:2]) > alignment.TOLERANCE


#: If 8 times the blocks do less than this times the work, the kernel strides by the grid.
GRID_STRIDE_WORK_RATIO = 2
NO_FUNCTION = "no function of its sizes was found that gives its work"


@dataclass(frozen=True)
class CountedKernel:
    """A kernel that was counted. `problem`: why there is no model; empty: `functions` are."""

    subject: Subject
    new: tuple[Measurement, ...]
    functions: CountFunctions | None
    problem: str


def counted_kernel(
    subject: Subject, known: Sequence[Measurement], progress: Progress
) -> CountedKernel:
    """Count full launches that were not counted before, and some that are held out.

    It is counted again without parameters that are no sizes, follow from others, or are strides.
    """
    for guess in subject.guesses:
        guessed = counted_kernel(replace(subject, kernel=guess, guesses=()), known, progress)
        if not guessed.problem:
            return guessed
    measured = _counted(subject, known, progress)
    while (held := _with_constants_held(subject, _counts(measured))) is not None:
        subject = replace(subject, kernel=held)
        measured = _counted(subject, known, progress)
    checked = _checked(subject, measured)
    simpler = _simpler(subject.kernel, checked)
    if simpler is not None:
        subject = replace(subject, kernel=simpler)
        measured = _counted(subject, known, progress)
        checked = _checked(subject, measured)
    if checked is None or not checked.holds:
        other = _otherwise(subject, known, progress)
        if other is not None:
            subject, measured, checked = other
    kernel, repeated = subject.kernel, _own(subject.kernel, known)
    functions: CountFunctions | None = None
    larger: list[Measurement] = []
    problem = NO_FUNCTION
    if checked is not None:
        if checked.holds and (strides := small_strides(subject, checked.functions)):
            held = size_relations.with_held(kernel, strides)
            return counted_kernel(replace(subject, kernel=held), known, progress)
        functions = replace(checked.functions, strides=_strides(subject))
        if functions.holds and not kernel.asserted:
            # A launch larger than those that were counted.
            larger = [subject.replay(plan.first_look(kernel, functions), repeated)]
        problem = _problem(kernel, checked, functions, _counts(measured)[-1], larger)
    new = tuple(m for m in (*measured.values(), *larger) if m.key not in repeated)
    return CountedKernel(subject, new, functions, problem)


def _with_constants_held(subject: Subject, counted: Sequence[Measurement]) -> MeasuredKernel | None:
    """The kernel without small constants that leave no work where they are large, or None."""
    kernel = subject.kernel
    if (all_held := size_relations.with_constants_fixed(kernel, counted)) is None:
        return None
    idle = next(launch for launch in counted if not launch.working_threads)
    held = {}
    for name, value in size_relations.small_constants(kernel).items():
        with suppress(CutuneError):
            sizes = {**dict(idle.sizes), name: value}
            if subject.run(Purpose.COUNTS, sizes, idle.block).working_threads:
                held[name] = value
    return size_relations.with_held(kernel, held) if held else all_held


def _simpler(kernel: MeasuredKernel, checked: HeldOut | None) -> MeasuredKernel | None:
    """The kernel with fewer sizes, if its counts are no functions of all of them."""
    if checked is None or not checked.holds:
        return size_relations.with_sizes_tied(kernel)
    # Loops of a few rounds are compiled to other code than long ones: no function has both.
    wrong_below = {name for name, holds in checked.holds_below.items() if not holds}
    return size_relations.with_bounds_fixed(kernel, wrong_below)


def _checked(subject: Subject, measured: Known) -> HeldOut | None:
    """Count held-out launches and add them to `measured`; None: there are no functions."""
    kernel = subject.kernel
    if not count_functions.have_functions(kernel, _counts(measured)):
        return None
    functions = count_functions.count_functions(kernel, _counts(measured))
    full = (*plan.check_launches(kernel, functions), *plan.small_launches(kernel))
    measured |= _held_out(subject, [*full, *plan.far_launches(kernel, functions)], measured)
    checked = count_functions.held_out(kernel, list(measured.values()))
    if not checked.holds:
        measured |= _held_out(subject, plan.check_launches(kernel, functions, again=True), measured)
        checked = count_functions.held_out(kernel, list(measured.values()))
    return checked


def _held_out(subject: Subject, plans: Iterable[plan.Replay], done: Known) -> Known:
    """The launches of a plan that succeed: in some the kernel fails, or takes too long."""
    measured = {}
    for one in plans:
        with suppress(CutuneError):
            measurement = subject.replay(one, done)
            measured[measurement.key] = measurement
    return measured


def _otherwise(
    subject: Subject, known: Sequence[Measurement], progress: Progress
) -> tuple[Subject, Known, HeldOut] | None:
    kernel, covered = subject.kernel, size_relations.with_extents_covered(subject.kernel)
    # With as many threads as its sizes say, or with many rounds of a loop.
    ways = [] if covered is None else [covered]
    ways += size_relations.with_strides(kernel) if count_functions.is_looped(kernel) else []
    # With as many threads as each launch of the program has.
    ways += [] if (held := size_relations.with_extents_held(kernel)) is None else [held]
    for way in ways:
        other = replace(subject, kernel=way)
        *_, largest = plan.count_launches(way)
        try:
            # First: where it is too much work, as for a loop over this size, no other is needed.
            other.replay(largest, _own(way, known))
            measured = _counted(other, known, progress)
        except CutuneError:
            continue
        checked = _checked(other, measured)
        if checked is not None and checked.holds:
            return other, measured, checked
    return None


def _problem(
    kernel: MeasuredKernel,
    checked: HeldOut,
    functions: CountFunctions,
    largest: Measurement,
    larger: Sequence[Measurement],
) -> str:
    if functions.holds and (reason := count_functions.bounded_elsewhere(kernel, functions, larger)):
        return reason
    if not checked.holds:
        off = (
            f", {count_functions.off_text(checked.deviation)}{checked.where}"
            if checked.where
            else ""
        )
        return NO_FUNCTION + off
    return count_functions.uncertain_accesses(kernel, largest)


def _strides(subject: Subject) -> tuple[str, ...]:
    """The numbers of blocks that do not change the work, because a loop strides by the grid."""
    names, block = [], plan.count_block(subject.kernel)
    for name, launches in plan.striding_launches(subject.kernel):
        with suppress(CutuneError):  # too much work for a loop over one size
            runs = (subject.run(Purpose.COUNTS, sizes, block) for sizes in launches)
            one, more = (sum(run.executions) for run in runs)
            if more < GRID_STRIDE_WORK_RATIO * one:
                names.append(name)
    return tuple(names)


def _counts(measured: Known) -> list[Measurement]:
    return [m for m in measured.values() if m.purpose == Purpose.COUNTS]


def _counted(subject: Subject, known: Sequence[Measurement], progress: Progress) -> Known:
    done = _own(subject.kernel, known)
    new = _replayed(subject, "counting", list(plan.count_launches(subject.kernel)), done, progress)
    return {**done, **{m.key: m for m in new}}


def collect_kernel(
    counted: CountedKernel, known: Sequence[Measurement], progress: Progress, training: bool = False
) -> Iterator[Measurement]:
    """Replay a counted kernel at the planned sizes and blocks; known launches are not repeated."""
    subject, counts = counted.subject, counted.functions
    assert counts is not None
    kernel = subject.kernel
    done = _own(kernel, [*known, *counted.new])

    def measured(what: str, replays: Sequence[plan.Replay]) -> Iterator[Measurement]:
        for measurement in _replayed(subject, what, replays, done, progress):
            done[measurement.key] = measurement
            yield measurement

    yield from measured("finding classes", list(plan.probe_launches(kernel, counts)))
    classes = alignment.alignment_classes(kernel, list(done.values()))
    rows = alignment.all_rows(classes)
    few = alignment.cells(kernel, classes, list(done.values())).basis_rows(classes)
    if not kernel.asserted and len(few) < len(rows):
        blocks, another = plan.probe_blocks(kernel), alignment.all_misaligned(classes)
        checked = plan.feature_launches(kernel, counts, classes, {another, *few}, blocks)
        yield from measured("checking classes", list(checked))
        if alignment.cells(kernel, classes, list(done.values())).are_sound(another, blocks):
            rows = sorted(few)
    yield from measured("tracing", list(plan.feature_launches(kernel, counts, classes, rows)))
    if training:
        yield from measured("training", list(plan.training_launches(kernel, counts)))


def _own(kernel: MeasuredKernel, known: Sequence[Measurement]) -> Known:
    return {m.key: m for m in known if m.belongs_to(kernel)}


def _replayed(
    subject: Subject, what: str, replays: Sequence[plan.Replay], done: Known, progress: Progress
) -> Iterator[Measurement]:
    shown = f"{subject.kernel.name}: {what}"
    # The machine runs outside of Python's lock: one launch per core at a time.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda replay: subject.replay(replay, done), replays)
        for index, measurement in enumerate(results):
            progress(shown, index, len(replays))
            if measurement.key not in done:
                yield measurement
    progress(shown, len(replays), len(replays))


# ---- at the sizes of the program's launches alone

#: Launches that are looked at, of as many sizes or arguments.
MOST_LAUNCHES = 8
#: Warps that execute a block of code, of all blocks of code: so much of a launch is traced in full.
TRACED_IN_FULL = 1_000_000

Sizes = tuple[tuple[str, int], ...]
#: Growth is measured between two launches whose work differs by this factor at least.
LEAST_GROWTH = 2


@dataclass(frozen=True)
class OwnSizes:
    """A kernel that was counted at the sizes of the program's launches, and these launches."""

    subject: Subject
    measured: Sequence[Measurement]
    launches: Sequence[LaunchRecord]


@dataclass(frozen=True)
class _Launch:
    """A recorded launch that was replayed; `work`: executions of blocks of code by warps."""

    subject: Subject
    sizes: Sizes
    work: int

    @property
    def covered(self) -> Block:
        return recorded_extents(self.subject.record, self.subject.kernel.grid_kept)

    def with_block(self, purpose: str, block: Block) -> Measurement:
        sizes = dict(self.sizes)
        if self.work <= TRACED_IN_FULL:
            found = self.subject.run(purpose, sizes, block, trace_every=1)
        else:
            found = self.subject.run(purpose, sizes, block, is_sampled=True)
        return replace(found, executed_blocks=prod(found.grid))


def at_own_sizes(subject: Subject, launches: Sequence[LaunchRecord]) -> OwnSizes | None:
    """Replay launches of a kernel as they were made; None where they tell no model."""
    if not subject.code.oblivious:
        return None
    subject = replace(subject, kernel=replace(subject.kernel, on_data=True))
    made: list[_Launch] = []
    with suppress(CutuneError):
        made = list(_made(subject, subject.launches_in(launches)))
    # Launches of equal sizes have to do equal work.
    if not made or len({m.sizes for m in made}) < len({(m.sizes, m.work) for m in made}):
        return None
    smaller, most = smaller_and_largest(made, lambda one: one.work)
    kernel = subject.kernel
    covered = [smaller.covered, most.covered]
    by_block: dict[Block, tuple[Measurement, Measurement]] = {}
    for block in (b for b in kernel.remaining() if plan.fits_launches(kernel, b, covered)):
        with suppress(CutuneError):
            before = smaller.with_block(Purpose.SMALLER, block)
            by_block[block] = before, most.with_block(Purpose.FEATURES, block)
    counted = plan.count_block(kernel) if kernel.keeps_grid else kernel.original
    if counted not in by_block:
        return None
    subject = subject.without({*kernel.candidates()} - by_block.keys())
    totals = [replace(one, purpose=Purpose.COUNTS) for one in by_block[counted]]
    known = {one.sizes for one in totals}
    for launch in made:
        # The others tell what the work depends on where the runs vary several sizes.
        if launch.sizes not in known and plan.fits_launches(kernel, counted, [launch.covered]):
            with suppress(CutuneError):
                totals.append(launch.with_block(Purpose.COUNTS, counted))
    of_blocks = (one for pair in by_block.values() for one in pair)
    # As if the program had been run for them.
    setting, of_all = subject.kernel.setting, (*totals, *of_blocks)
    described = (replace(one, setting=setting, source=RUN) for one in of_all)
    measured = list({one.key: one for one in described}.values())
    return OwnSizes(subject, measured, [smaller.subject.record, most.subject.record])


def _made(subject: Subject, launches: Sequence[LaunchRecord]) -> Iterator[_Launch]:
    """The launches that differ in their arguments, counted with the program's own block."""
    different = {(r.grid, r.block, _numbers(r)): r for r in reversed(launches)}
    sized = [(recorded_sizes(subject, record), record) for record in different.values()]
    for sizes, record in _telling(sized)[:MOST_LAUNCHES]:
        launched = replace(subject, record=record)
        found = launched.run(Purpose.COUNTS, dict(sizes), record.block)
        yield _Launch(launched, sizes, sum(found.executions))


def _telling(launches: Sequence[tuple[Sizes, T]]) -> list[tuple[Sizes, T]]:
    """The last launch, and those in which a size is least; then the others, in their order."""
    places = range(len(launches[0][0]) if launches else 0)
    least = [min(launches, key=lambda one: one[0][place][1]) for place in places]
    first = {id(one): one for one in (*launches[:1], *least)}
    return [*({**first, **{id(one): one for one in launches}}).values()]


def _numbers(record: LaunchRecord) -> bytes:
    numbers = bytearray(record.parameters)
    for pointer in record.pointers:
        numbers[pointer.offset : pointer.offset + 8] = bytes(8)
    return bytes(numbers)


def recorded_sizes(subject: Subject, asked: LaunchRecord) -> Sizes:
    """The values of the kernel's variables in the launch as the program asked for it."""
    kernel, extents = subject.kernel, recorded_extents(asked, subject.kernel.grid_kept)
    values = {
        name: integer_argument(asked, subject.code, position)
        for name, position in zip(kernel.parameters, kernel.positions, strict=True)
    }
    values |= {f"extent_{axis}": extent for axis, extent in zip("xyz", extents, strict=True)}
    return tuple((name, values[name]) for name in kernel.variables)


def smaller_and_largest(launches: Sequence[T], work: Callable[[T], int]) -> tuple[T, T]:
    """Two launches between which growth is measured: the largest, and one with less work.

    That is the largest with at most half the work: the smallest may hardly fill one block.
    """
    ordered = sorted(launches, key=work)
    most = ordered[-1]
    smaller = [one for one in ordered if work(one) * LEAST_GROWTH <= work(most)]
    return smaller[-1] if smaller else ordered[0], most
