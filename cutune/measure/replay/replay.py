"""Replayed launches: a recorded launch again, at any size and block, without data or memory.

A kernel whose branches and addresses do not depend on loaded data does the same work whatever its
arrays hold. So its pointers may point nowhere (each array gets an address range of its own in
which loads give 0 and stores vanish) and only the blocks of interest need to run.

Integers among the arguments of a launch are replaced. Positions number the arguments, then the
members of those that are structures.

The log of a run has the counters of launches that were counted where they ran.

The least that a thread does needs no function of the sizes: whatever they are, a thread that
accesses memory went a way from the entry to an access, and on to an end.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np

from cutune.core.diagnostics import CutuneError
from cutune.emulator.launch_log import LaunchRecord, Pointer
from cutune.emulator.launch_log import site_counters as counters_of_machine
from cutune.emulator.machine import LaunchCounters, LoadedModule
from cutune.emulator.module_metadata import KernelCode
from cutune.emulator.sampling import run_sampled
from cutune.measure.replay.plan import Replay
from cutune.model.fit.count_functions import is_looped
from cutune.model.measurement.measurement import (
    REPLAYED,
    RUN,
    CodeBlock,
    CompiledKernel,
    LeastWork,
    MeasuredKernel,
    Measurement,
    MemoryInstruction,
    Purpose,
    SiteCounters,
)
from cutune.model.measurement.size_relations import complete, extents_at, with_held
from cutune.source.program import Kernel
from cutune.toolchain.device.thread_block import Block, as_block, grid_of, warps_of
from cutune.toolchain.ptxas import StaticCounters


def least_work(code: KernelCode) -> LeastWork:
    """The least of any thread, and of one that accesses memory."""
    # The blocks of the kernel itself, without those of functions that it calls.
    own = [0]
    for index in own:
        own += [target for target in code.blocks[index].targets if target not in own]
    accessed = {site.block for site in code.sites}
    # A function that is called may be where a thread accesses memory.
    through = [index for index in own if index in accessed or code.blocks[index].calls] or own
    edges = {index: code.blocks[index].targets for index in own}
    slots = {index: code.blocks[index].demand.slots for index in own}
    accesses = dict.fromkeys(own, 0)
    for site in code.sites:
        if site.block in accesses and not site.guarded and site.space in ("global", "generic"):
            accesses[site.block] += 1
    costs = ((slots, own), (slots, through), (accesses, through))
    return LeastWork(*(_shortest(edges, *one) for one in costs))


def _shortest(
    edges: Mapping[int, Sequence[int]], costs: Mapping[int, int], through: Collection[int]
) -> int:
    """The cost of the cheapest way from block 0 through one of some blocks to an end."""
    backward: dict[int, list[int]] = {block: [] for block in edges}
    for block, targets in edges.items():
        for target in targets:
            backward[target].append(block)
    ends = [block for block, targets in edges.items() if not targets]
    to, onwards = _distances([0], edges, costs), _distances(ends, backward, costs)
    ways = [to[i] + onwards[i] - costs[i] for i in through if i in to and i in onwards]
    return min(ways, default=0)


def _distances(
    starts: Sequence[int], edges: Mapping[int, Sequence[int]], costs: Mapping[int, int]
) -> dict[int, int]:
    """The cost of the cheapest way to each node, both ends included (Dijkstra)."""
    found: dict[int, int] = {}
    waiting = [(costs[start], start) for start in starts]
    heapq.heapify(waiting)
    while waiting:
        distance, node = heapq.heappop(waiting)
        if node in found:
            continue
        found[node] = distance
        for target in edges[node]:
            heapq.heappush(waiting, (distance + costs[target], target))
    return found


_COUNTED_SPACES = ("global", "generic", "shared")
#: The counters of the machine that a measurement has unchanged.
_KEPT = {*SiteCounters._fields} & {c.name for c in counters_of_machine()}
NOT_EXECUTED = SiteCounters(**dict.fromkeys(_KEPT, 0), array=-1, low=0, high=0)


def compiled_kernel(code: KernelCode, static: StaticCounters) -> CompiledKernel:
    """The part of a description that follows from the code alone."""
    waits = code.waits
    by_block = zip(code.blocks, waits.steps, waits.chains, strict=True)
    blocks = tuple(
        CodeBlock(
            b.loop, d.slots, steps, d.double, d.special, d.barriers, d.constants, chain, d.single
        )
        for b, d, steps, chain in ((b, b.demand, steps, chain) for b, steps, chain in by_block)
    )
    memory = tuple(
        MemoryInstruction(i, s.kind, s.bytes, s.block, s.space == "shared", s.real, phase)
        for i, (s, phase) in enumerate(zip(code.sites, waits.phases, strict=True))
        if s.space in _COUNTED_SPACES
    )
    return CompiledKernel(static, blocks, memory, code.obliviousness.uncertain, least_work(code))


def site_counters(counted: Mapping[str, int], array: int, start: int) -> SiteCounters:
    """Counters of one memory instruction in one launch, by the machine's names.

    `array`: the pointer parameter that it went through, or -1; `start`: what that points to.
    """
    values: dict[str, Any] = {name: int(counted[name]) for name in _KEPT}
    low, high = (int(counted[end]) - start if array >= 0 else 0 for end in ("lowest", "highest"))
    return SiteCounters(**values, array=array, low=low, high=high)


NOT_SEEN = "kernels of which a member is not seen are left out"


@dataclass(frozen=True)
class IntegerPlace:
    """Where an integer lies in the parameter buffer."""

    offset: int
    bytes: int
    is_signed: bool

    @property
    def slice(self) -> slice:
        return slice(self.offset, self.offset + self.bytes)


def integer_place(record: LaunchRecord, code: KernelCode, position: int) -> IntegerPlace | None:
    """The place of an argument or a member; the program logs where members lie."""
    if position < len(code.parameters):
        parameter = code.parameters[position]
        return IntegerPlace(parameter.offset, parameter.size, not parameter.type.startswith("u"))
    member = next((m for m in record.members if m.position == position), None)
    if member is None or member.argument >= len(code.parameters):
        return None
    whole = code.parameters[member.argument]
    if not 0 <= member.offset <= whole.size - member.bytes:
        return None
    return IntegerPlace(whole.offset + member.offset, member.bytes, member.is_signed)


def integer_argument(record: LaunchRecord, code: KernelCode, position: int) -> int:
    """The value of an integer parameter, or of a member of one, in a recorded launch."""
    place = integer_place(record, code, position)
    assert place is not None, NOT_SEEN
    return int.from_bytes(record.parameters[place.slice], "little", signed=place.is_signed)


def unseen_member(kernel: Kernel, records: Iterable[LaunchRecord], code: KernelCode) -> str | None:
    """A member whose value the launches do not show, or None.

    Copying its structure runs code of the program, or it is not certain which argument is which.
    """
    first = len(kernel.parameters)
    unseen = (
        member.name
        for record in records
        for position, member in enumerate(kernel.members, first)
        if integer_place(record, code, position) is None
    )
    return next(unseen, None)


#: Every array gets 2^40 bytes of addresses of its own, in a range that no allocation can have.
GHOST_BASE = 1 << 56
ARRAY_BYTES = 1 << 40
MAX_ARRAYS = 64
GHOSTS = (GHOST_BASE, MAX_ARRAYS * ARRAY_BYTES)

#: Launches of a module that were counted, by code, grid, block, arguments and what was looked at.
Made = dict[tuple[object, ...], LaunchCounters]

INSTRUCTION_LIMIT = 400_000_000
#: Launches of which all blocks are counted.
IN_FULL = (Purpose.COUNTS, Purpose.CHECK, Purpose.RECHECK, Purpose.OWN_SMALL)
#: Launches with more warps, and more instructions of all of them, are not counted in full.
MANY_WARPS = 20_000
COUNTED_INSTRUCTIONS = 50_000_000
#: Bytes of a size that can be as large as in replays of kernels with a loop, and of others.
LOOPED_BYTES, LOOP_FREE_BYTES = 2, 4
#: Rows of 4-byte elements begin at so many places in a line at most.
ALIGNMENTS = 32
#: Warps that are looked at inside of a grid, and all over it, at least.
INSIDE_WARPS, SPREAD_WARPS = 16, 512


def recorded_extents(record: LaunchRecord, kept: Sequence[bool]) -> Block:
    """Threads per dimension of a recorded launch; blocks where their number is kept."""
    axes = zip(record.grid, record.block, kept, strict=True)
    return as_block([blocks if is_kept else blocks * size for blocks, size, is_kept in axes])


def replayable(kernel: MeasuredKernel, record: LaunchRecord, code: KernelCode) -> MeasuredKernel:
    """The kernel, with sizes that are too narrow for replays held at their recorded values."""
    least = LOOPED_BYTES if is_looped(kernel) else LOOP_FREE_BYTES
    held = {}
    for name, position in zip(kernel.parameters, kernel.positions, strict=True):
        place = integer_place(record, code, position)
        if place is None or place.bytes < least:
            held[name] = integer_argument(record, code, position)
    return with_held(kernel, held)


@dataclass(frozen=True)
class Replayer:
    """Runs one kernel of a loaded module with ghost memory. `made`: its launches so far."""

    module: LoadedModule
    code: KernelCode
    record: LaunchRecord
    kernel: MeasuredKernel
    made: Made

    def _grid(self, block: Block, sizes: Mapping[str, int]) -> Block:
        extents = as_block([max(1, extent) for extent in extents_at(self.kernel, sizes)])
        return grid_of(block, extents, self.kernel.grid_kept)

    def replay(self, plan: Replay, done: Mapping[tuple[object, ...], Measurement]) -> Measurement:
        kernel = self.kernel
        sizes = tuple((name, plan.sizes[name]) for name in kernel.variables)
        key = (kernel.entry, kernel.code, kernel.setting, plan.purpose, sizes, plan.block)
        if key in done:
            return done[key]
        run = partial(self.run, plan.purpose, plan.sizes, plan.block)
        if plan.purpose == Purpose.FAR:
            return run(is_sampled=True)
        look = partial(run, trace_every=plan.trace_every)
        if plan.purpose in IN_FULL:
            return look()
        grid = self._grid(plan.block, plan.sizes)
        everywhere = spread_blocks(grid, warps_of(plan.block))
        if plan.is_spread:
            return look(blocks=everywhere)
        inside = look(blocks=interior_blocks(kernel, grid, plan.block))
        # Where blocks share rows out, those in the middle may have come too late for one.
        return inside if inside.working_threads else look(blocks=everywhere)

    def run(
        self,
        purpose: str,
        sizes: Mapping[str, int],
        block: Block,
        *,
        blocks: Sequence[int] | None = None,
        trace_every: int = 0,
        is_sampled: bool = False,
    ) -> Measurement:
        """Count one launch. Raises CT4xx when it fails or takes too many instructions.

        Args:
            sizes: a value for every variable of the kernel.
            blocks: linear indices of the blocks to run; all when None.
            trace_every: look at the addresses of one window out of this many; 0: of none.
            is_sampled: count some blocks, which stand for all.
        """
        kernel, grid = self.kernel, self._grid(block, sizes)
        launch = grid, block, self._parameters(sizes), kernel.shared_bytes(block)
        chosen = None if blocks is None else tuple(blocks)
        # Another kernel of the module may have the same code.
        key = self.code.digest, *launch, chosen, -1 if is_sampled else trace_every
        if key not in self.made:
            try:
                self.made[key] = self._counters(*launch, blocks, trace_every, is_sampled)
            except CutuneError as error:
                raise _with_sizes(error, complete(kernel, sizes)) from error
        counters = self.made[key]
        return Measurement(
            entry=kernel.entry,
            code=kernel.code,
            purpose=purpose,
            source=REPLAYED,
            sizes=tuple((name, sizes[name]) for name in kernel.variables),
            grid=grid,
            block=block,
            executed_blocks=counters.executed_blocks,
            working_threads=counters.working_threads,
            lanes=tuple(int(n) for n in counters.block_lanes),
            executions=tuple(int(n) for n in counters.block_executions),
            sites=self._sites(counters),
            setting=kernel.setting,
        )

    def _counters(
        self,
        grid: Block,
        block: Block,
        parameters: bytes,
        shared_bytes: int,
        blocks: Sequence[int] | None,
        trace_every: int,
        is_sampled: bool,
    ) -> LaunchCounters:
        launch = (self.code.name, grid, block, parameters)
        about: dict[str, Any] = {"ghosts": GHOSTS, "shared_bytes": shared_bytes}
        run = partial(self.module.run, *launch, **about, instruction_limit=INSTRUCTION_LIMIT)
        if blocks is None and not is_sampled and prod(grid) * warps_of(block) > MANY_WARPS:
            # Sizes that do not come from parameters may make even the smallest launch too long.
            middle = run(blocks=[prod(grid) // 2])
            is_sampled = middle.warp_instructions * prod(grid) > COUNTED_INSTRUCTIONS
        if is_sampled:
            return run_sampled(self.module, *launch, **about)
        return run(blocks=blocks, trace=trace_every > 0, trace_every=max(1, trace_every))

    def _parameters(self, sizes: Mapping[str, int]) -> bytes:
        buffer = bytearray(self.record.parameters)
        values = complete(self.kernel, sizes)
        named = dict(zip(self.kernel.parameters, self.kernel.positions, strict=True))
        named |= {name: position for name, position, _ in self.kernel.tied}
        for name, position in named.items():
            place = integer_place(self.record, self.code, position)
            assert place is not None, NOT_SEEN
            value = values[name].to_bytes(place.bytes, "little", signed=values[name] < 0)
            buffer[place.slice] = value
        for array, pointer in enumerate(self.record.pointers[:MAX_ARRAYS]):
            # The offset into the allocation is kept: it decides the alignment.
            address = GHOST_BASE + array * ARRAY_BYTES + ARRAY_BYTES // 2 + pointer.delta % 4096
            struct.pack_into("<Q", buffer, pointer.offset, address)
        return bytes(buffer)

    def _sites(self, counters: LaunchCounters) -> tuple[SiteCounters, ...]:
        """The counters of memory instructions, all at once: kernels have hundreds of them."""
        counted = counters.sites[[memory.site for memory in self.kernel.memory]]
        signed = {name: counted[name].astype(np.int64) for name in counted.dtype.names or ()}
        lowest, highest = signed["lowest"], signed["highest"]
        behind = lowest - GHOST_BASE
        is_known = (signed["traced"] > 0) & (behind >= 0) & (behind < GHOSTS[1])
        array = np.where(is_known, behind // ARRAY_BYTES, -1)
        start = GHOST_BASE + array * ARRAY_BYTES + ARRAY_BYTES // 2
        ends = (np.where(is_known, end - start, 0) for end in (lowest, highest))
        signed |= dict(zip(("array", "low", "high"), (array, *ends), strict=True))
        columns = (signed[name].tolist() for name in SiteCounters._fields)
        return tuple(map(SiteCounters, *columns))


def _with_sizes(error: CutuneError, sizes: Mapping[str, int]) -> CutuneError:
    """The error, naming the sizes that were tried in place of meaningless addresses."""
    tried = ", ".join(f"{name} = {value}" for name, value in sizes.items()) or "other sizes"
    what = error.diagnostic.message.partition(":")[0]
    message = f"{what} with {tried}, which the program may never have"
    return CutuneError(replace(error.diagnostic, message=message))


def interior_blocks(kernel: MeasuredKernel, grid: Block, block: Block) -> list[int]:
    """Linear indices of a few blocks inside the grid, enough for `INSIDE_WARPS`.

    Neighbours in y and alternating in x, so that rows of several alignments are seen: of all
    alignments if the kernel has no loop. They lie off the diagonal, where a thread would read the
    same for its row as for its column.
    """
    count = max(1, -(-INSIDE_WARPS // warps_of(block)))
    if not is_looped(kernel):
        count = max(count, -(-ALIGNMENTS // block[1]))
    chosen = []
    for index in range(count):
        x = max(0, min((grid[0] - 1) // 2 + index % 2, grid[0] - 2))
        y = max(0, min((grid[1] - 1) * 3 // 4 + index, grid[1] - 2))
        z = (grid[2] - 1) // 2
        chosen.append((z * grid[1] + y) * grid[0] + x)
    return sorted(set(chosen))


def spread_blocks(grid: Block, warps: int) -> list[int]:
    """Linear indices of blocks all over the grid, in steps that follow no row or column."""
    total = prod(grid)
    count = min(total, max(16, SPREAD_WARPS // warps))
    golden = 0.6180339887498949
    return sorted({int((index * golden + golden / 2) % 1.0 * total) for index in range(count)})


def logged_measurement(
    kernel: MeasuredKernel,
    code: KernelCode,
    record: LaunchRecord,
    purpose: str,
    sizes: tuple[tuple[str, int], ...],
) -> Measurement:
    """The counters of a launch, as the log has them."""
    in_blocks = {logged.block: logged for logged in record.blocks}
    counters = [in_blocks.get(place) for place in code.block_indices]
    return Measurement(
        entry=kernel.entry,
        code=kernel.code,
        purpose=purpose,
        source=RUN,
        sizes=sizes,
        grid=record.grid,
        block=record.block,
        executed_blocks=record.executed_blocks or 0,
        working_threads=record.working_threads,
        lanes=tuple(logged.lanes if logged else 0 for logged in counters),
        executions=tuple(logged.executions if logged else 0 for logged in counters),
        sites=_sites(kernel, code, record),
        setting=kernel.setting,
    )


def _sites(
    kernel: MeasuredKernel, code: KernelCode, record: LaunchRecord
) -> tuple[SiteCounters, ...]:
    logged = {site["site"]: site for site in record.sites}
    places = [code.site_indices[memory.site] for memory in kernel.memory]
    return tuple(
        site_counters(logged[place], *_array_of(logged[place], record.pointers))
        if place in logged
        else NOT_EXECUTED
        for place in places
    )


def _array_of(logged: Mapping[str, int], pointers: Sequence[Pointer]) -> tuple[int, int]:
    """The pointer argument that an instruction accessed memory through, or -1, and its address.

    Of pointers into the same allocation it is the last one before the lowest address accessed.
    """
    inside = [
        (pointer.base + pointer.delta, index)
        for index, pointer in enumerate(pointers)
        if pointer.base <= logged["lowest"] < pointer.base + pointer.size
    ]
    if not inside:
        return -1, 0
    before = [place for place in inside if place[0] <= logged["lowest"]]
    start, index = max(before, default=min(inside))
    return index, start
