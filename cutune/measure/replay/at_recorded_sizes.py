"""Kernels at the program's own sizes alone. Takes recorded launches, gives measurements of these.

Where no function of its sizes gives the work of a kernel, or it fails at others, its launches can
still be replayed as the program makes them, with each candidate: if neither branches nor addresses
depend on data, that counts what the program itself would have counted, had there been time to
execute it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod
from typing import Protocol, TypeVar

from cutune.core.diagnostics import CutuneError
from cutune.emulator.launch_log import LaunchRecord
from cutune.measure.replay.plan import count_block, fits_launches
from cutune.measure.replay.replay import Replayer, integer_argument, recorded_extents
from cutune.measure.replay.subjects import Subject
from cutune.model.measurement.measurement import COUNTS, FEATURES, RUN, SMALLER, Measurement
from cutune.toolchain.device.thread_block import Block

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

    record: LaunchRecord
    sizes: Sizes
    replayer: Replayer
    work: int

    def with_block(self, purpose: str, block: Block) -> Measurement:
        """Replay the launch with another block and trace its addresses."""
        sizes = dict(self.sizes)
        if self.work <= TRACED_IN_FULL:
            found = self.replayer.run(purpose, sizes, block, trace_every=1)
        else:
            found = self.replayer.run(purpose, sizes, block, is_sampled=True)
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
    smaller, most = smaller_and_largest(made)
    kernel = subject.kernel
    covered = [recorded_extents(one.record, kernel.grid_kept) for one in (smaller, most)]
    by_block: dict[Block, tuple[Measurement, Measurement]] = {}
    for block in kernel.remaining():
        if fits_launches(kernel, block, covered):
            with suppress(CutuneError):
                pair = smaller.with_block(SMALLER, block), most.with_block(FEATURES, block)
                by_block[block] = pair
    counted = count_block(kernel) if kernel.keeps_grid else kernel.original
    if counted not in by_block:
        return None
    subject = subject.without({*kernel.candidates()} - by_block.keys())
    totals = (replace(one, purpose=COUNTS) for one in by_block[counted])
    launches_of_all = [*totals, *(one for pair in by_block.values() for one in pair)]
    # As if the program had been run for them.
    setting = subject.kernel.setting
    described = [replace(one, setting=setting, source=RUN) for one in launches_of_all]
    measured = list({one.key: one for one in described}.values())
    return OwnSizes(subject, measured, [smaller.record, most.record])


def _made(subject: Subject, launches: Sequence[LaunchRecord]) -> Iterator[_Launch]:
    """The launches that differ in their arguments, counted with the program's own block."""
    different = {(r.grid, r.block, _numbers(r)): r for r in reversed(launches)}
    for record in [*different.values()][:MOST_LAUNCHES]:
        replayer = replace(subject, record=record).replayer()
        sizes = recorded_sizes(subject, record)
        found = replayer.run(COUNTS, dict(sizes), record.block)
        yield _Launch(record, sizes, replayer, sum(found.executions))


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


class _Worked(Protocol):
    @property
    def work(self) -> int: ...


_W = TypeVar("_W", bound=_Worked)


def smaller_and_largest(experiments: Sequence[_W]) -> tuple[_W, _W]:
    """Two launches between which growth is measured: the largest, and one with less work.

    That is the largest with at most half the work: the smallest may hardly fill one block.
    """
    ordered = sorted(experiments, key=lambda experiment: experiment.work)
    most = ordered[-1]
    smaller = [one for one in ordered if one.work * LEAST_GROWTH <= most.work]
    return (smaller or ordered)[-1 if smaller else 0], most
