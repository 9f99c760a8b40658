"""Sampled launches of the PolyBench kernels: time at N = 2048, error against full ones at 512."""

from __future__ import annotations

import os
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from cutune.core.diagnostics import CutuneError
from cutune.emulator.assemble import assemble
from cutune.emulator.launch_log import LaunchRecord, Triple, read_launches
from cutune.emulator.link import own_build_flags
from cutune.emulator.machine import LaunchCounters, LoadedModule
from cutune.emulator.module_metadata import KernelCode
from cutune.emulator.sampling import run_sampled
from cutune.measure.replay.replay import ARRAY_BYTES, GHOST_BASE, GHOSTS
from cutune.toolchain.nvcc import find_nvcc

SAMPLES = Path(__file__).parents[1] / "samples" / "polybench"
SMALL, LARGE = 512, 2048
#: The least time counts: others use the same machine.
ROUNDS = 3
_COMPARED = ("executions", "lanes", "sectors", "full_sectors", "lines", "wavefronts", "new_sectors")


def main() -> None:
    """A line per kernel; those whose single blocks take too long are named."""
    with tempfile.TemporaryDirectory() as folder:
        for source in sorted(SAMPLES.glob("*.cu")):
            for record in _records(source, Path(folder)):
                print(f"  {source.stem} {_figures(record)}", flush=True)


def _records(source: Path, folder: Path) -> Iterator[LaunchRecord]:
    """The first launch of every kernel of a sample at the small size."""
    nvcc, program = find_nvcc(), folder / source.stem
    nvcc.check([str(source), *own_build_flags(nvcc), "-o", str(program)])
    log = folder / f"{source.stem}.jsonl"
    settings = {"CUTUNE_LAUNCH_LOG": str(log), "CUTUNE_COUNT": "1", "CUTUNE_LOG_LIMIT": "1"}
    environment = {**os.environ, **settings}
    subprocess.run(
        [str(program), str(SMALL)], env=environment, stdout=subprocess.DEVNULL, check=True
    )
    return read_launches(log)


def _figures(record: LaunchRecord) -> str:
    module = LoadedModule(assemble(Path(record.module).read_text(encoding="utf-8")))
    code = module.kernel(record.kernel)
    try:
        small, _ = _sampled(module, code, record, SMALL)
        large, seconds = min(
            (_sampled(module, code, record, LARGE) for _ in range(ROUNDS)), key=lambda pair: pair[1]
        )
    except CutuneError:
        return f"{record.kernel}: one block is too long to be sampled at N = {LARGE}"
    grid, parameters = _scaled(record, code, SMALL)
    full = module.run(
        record.kernel, grid, record.block, parameters, trace=True, ghosts=GHOSTS, threads=1
    )
    pairs = [(small.warp_instructions, full.warp_instructions)]
    pairs += [(small.sites[name].sum(), full.sites[name].sum()) for name in _COMPARED]
    worst = max(abs(a / b - 1) for a, b in pairs if b)
    return (
        f"{record.kernel}: {1e3 * seconds:.1f} ms at N = {LARGE} ({large.executed_blocks} blocks), "
        f"counters {100 * worst:.2f} % off at N = {SMALL}"
    )


def _sampled(
    module: LoadedModule, code: KernelCode, record: LaunchRecord, size: int
) -> tuple[LaunchCounters, float]:
    grid, parameters = _scaled(record, code, size)
    start = time.thread_time()
    counters = run_sampled(module, record.kernel, grid, record.block, parameters, ghosts=GHOSTS)
    return counters, time.thread_time() - start


def _scaled(record: LaunchRecord, code: KernelCode, size: int) -> tuple[Triple, bytes]:
    """Grid and parameters of the launch at another size: every integer of the recorded size
    becomes the new one, and every dimension that covered it covers that."""
    buffer = bytearray(record.parameters)
    for parameter in code.parameters:
        place = slice(parameter.offset, parameter.offset + parameter.size)
        if parameter.size == 4 and int.from_bytes(buffer[place], "little") == SMALL:
            buffer[place] = size.to_bytes(4, "little")
    for k, pointer in enumerate(record.pointers):
        address = GHOST_BASE + k * ARRAY_BYTES + ARRAY_BYTES // 2 + pointer.delta % 4096
        struct.pack_into("<Q", buffer, pointer.offset, address)
    x, y, z = (
        -(-size // b) if g > 1 else g for g, b in zip(record.grid, record.block, strict=True)
    )
    return (x, y, z), bytes(buffer)
