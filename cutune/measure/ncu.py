"""Hardware counters by Nsight Compute. Takes a command, gives counters per launch.

Durations are not read: the profiler changes clocks and caches. Counts of instructions, requests and
sectors are deterministic. Metric names hold from compute capability 7.0.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.processes import run_to_end
from cutune.toolchain.device.thread_block import Block, as_block

#: Name in cutune, and metric of ncu.
METRICS = {
    "instructions": "smsp__inst_executed.sum",
    "load_instructions": "smsp__inst_executed_op_global_ld.sum",
    "store_instructions": "smsp__inst_executed_op_global_st.sum",
    "load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "warps": "smsp__warps_launched.sum",
    "blocks": "sm__ctas_launched.sum",
    "dram_bytes_read": "dram__bytes_read.sum",
    "dram_bytes_written": "dram__bytes_write.sum",
    "registers": "launch__registers_per_thread",
    "static_shared_bytes": "launch__shared_mem_per_block_static",
    "dynamic_shared_bytes": "launch__shared_mem_per_block_dynamic",
}
_COLUMNS = ("Kernel Name", "Grid Size", "Block Size")
_SHAPE = re.compile(r"\((\d{1,10}), *(\d{1,10}), *(\d{1,10})\)", re.ASCII)
SECONDS = 1800
#: Messages of ncu and their meaning.
PROBLEMS = {
    "ERR_NVGPUCTRPERM": "this user may not read hardware counters: run as root, or load the driver "
    "with NVreg_RestrictProfilingToAdminUsers=0",
    "LibraryNotLoaded": "the profiler cannot reach the driver; some sandboxes do not allow it",
    "No kernels were profiled": "the program launched no kernel",
    "Failed to find metric": "this GPU, or this version of ncu, does not know a metric",
}


@dataclass(frozen=True)
class ProfiledLaunch:
    """One launch: the kernel as ncu names it, its configuration, and counts by name."""

    kernel: str
    grid: Block
    block: Block
    values: Mapping[str, float]


def profile(command: Sequence[str], environment: Mapping[str, str]) -> list[ProfiledLaunch]:
    """Run a command under ncu; its launches in order. Raises CT429 when it cannot be."""
    path = shutil.which("ncu")
    if path is None:
        raise _failed("ncu is not on PATH: install NVIDIA Nsight Compute")
    variables = {**os.environ, **environment, "LC_ALL": "C"}
    ended = run_to_end([path, *ncu_options(), *command], variables, SECONDS)
    if ended.timed_out:
        raise _failed(f"no end within {SECONDS} s")
    if ended.not_started:
        raise _failed(ended.not_started)
    said = ended.output_text + ended.errors_text
    found = parse(ended.output_text)
    if not found or ended.status:
        lines = [line for line in said.splitlines() if line.strip() and not line.startswith('"')]
        last = lines[-1] if lines else "it said nothing"
        raise _failed(explanation(said) or f"status {ended.status}: {last}")
    return found


def ncu_options() -> list[str]:
    """All options before the command: raw CSV with plain numbers, clocks and caches left alone."""
    return [
        *("--csv", "--page", "raw", "--print-units", "base", "--target-processes", "all"),
        *("--clock-control", "none", "--cache-control", "none"),
        *("--metrics", ",".join(METRICS.values())),
    ]


def explanation(said: str) -> str | None:
    return next((meaning for word, meaning in PROBLEMS.items() if word in said), None)


def parse(text: str) -> list[ProfiledLaunch]:
    """The launches in ncu's output, among what the program printed. Raises CT429."""
    rows = csv.reader(line for line in text.splitlines() if line.startswith('"'))
    header: list[str] = []
    found = []
    try:
        for row in rows:
            if row[0] == "ID":
                header = row
                if missing := [name for name in _COLUMNS if name not in row]:
                    reason = f"its table has no column '{missing[0]}'"
                    raise _failed(f"{reason}: is this another version of ncu?")
            elif header and len(row) == len(header) and row[0].isdigit():
                found.append(_counters(dict(zip(header, row, strict=True))))
    except csv.Error as error:
        raise _failed(f"its table is damaged: {error}") from error
    return found


def _counters(row: Mapping[str, str]) -> ProfiledLaunch:
    values = {}
    for name, metric in METRICS.items():
        text = row.get(metric, "").replace(",", "")
        try:
            number = float(text)
        except ValueError:
            continue  # the GPU does not have this counter
        if isfinite(number):
            values[name] = number
    name, grid, block = (row[column] for column in _COLUMNS)
    return ProfiledLaunch(name.partition("(")[0], _triple(grid), _triple(block), values)


def _triple(text: str) -> Block:
    """`(32, 8, 1)`"""
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise _failed(f"its table has {text[:40]!r} where a shape should be")
    return as_block([int(number) for number in match.groups()])


def _failed(reason: str) -> CutuneError:
    return CutuneError.at(Code.NO_COUNTERS, reason=reason)
