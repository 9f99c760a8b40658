"""Launches that were counted where they ran. Takes a record of the launch log, gives counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cutune.emulator.launch_log import LaunchRecord, Pointer
from cutune.emulator.module_metadata import KernelCode
from cutune.measure.replay.replay import NOT_EXECUTED, site_counters
from cutune.model.measurement.measurement import RUN, MeasuredKernel, Measurement, SiteCounters


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
