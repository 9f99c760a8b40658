"""A program on a real GPU: built with its hooks, then swept or profiled. Runs in, measurements out.

Nothing here needs a library for GPUs: the program itself launches every candidate on the same
contents of memory, compares the results, and times it with events. The first launch of each
block warms up; the least of the others counts. A block three times slower than the best so far
is timed once, and one that is nine times slower when it warms up is not launched again.

In the program's own sequence (`IN_PROGRAM`) nothing is repeated: the program runs once for every
candidate, several times in turn, and makes its launches with that one.

Hardware counters are those of Nsight Compute. Durations are not read: the profiler changes clocks
and caches. Counts of instructions, requests and sectors are deterministic. Metric names hold from
compute capability 7.0.
"""

from __future__ import annotations

import csv
import ctypes
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.processes import run_to_end
from cutune.core.progress import Progress
from cutune.core.temporary import temporary_folder
from cutune.core.workspace import Workspace, append_lines
from cutune.emulator.program_builds import build_instrumented
from cutune.measure.candidate_trials import TOLERANCE
from cutune.measure.program_runs import Run, RunPlan, run_program
from cutune.measure.resources import static_counters
from cutune.model.measurement.measurement import Origin
from cutune.model.measurement.sweep import (
    IN_PROGRAM,
    REPEATED,
    RESTORED,
    TIMING,
    RecordedSweep,
    SweptConfiguration,
    SweptLaunch,
    read_entries,
    swept_launches,
    swept_line,
)
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.analysis.recorded_launches import nothing_tunable
from cutune.source.candidates import candidate_blocks
from cutune.source.program import LaunchSite, Program, numbers_of
from cutune.source.rewrite.edits import variants_at
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import LARGEST, Block, as_block, threads_of
from cutune.toolchain.ptxas import StaticCounters, by_kernel

#: The dimensions of a launch whose block is not known yet, and what stands for the program's own
#: block in a line of a candidate.
NO_BLOCK, OWN_BLOCK = (1, 1, 1), (0, 0, 0)
DRIVER = "libcuda.so.1"
#: NVIDIA's library about its GPUs, a part of the driver, and what of it tells energy.
NVML = "libnvidia-ml.so.1"
_OF_ENERGY = (
    "nvmlInit_v2",
    "nvmlDeviceGetHandleByPciBusId_v2",
    "nvmlDeviceGetTotalEnergyConsumption",
)
REPETITIONS = 5
#: Launches of each site that are timed in the program's sequence; the last of them counts: only
#: from the second on a site's own launches are before it.
IN_SEQUENCE = 3
WHERE = "the GPU"
COUNTERS_SCHEMA = "cutune-counters-1"
_METHOD = (
    "instrumented program in sweep mode: least of the event times per block after one warm-up;"
    " blocks three times slower than the best were timed once"
)
METHODS = {
    RESTORED: f"{_METHOD}; memory was put back before each launch",
    REPEATED: f"{_METHOD}; behind the same launch",
    IN_PROGRAM: "instrumented program, a run for each configuration: least of the event times",
}


def gpu_target(architecture: str) -> tuple[str, ...]:
    """Options of nvcc for a program that runs on a GPU without further libraries."""
    return ("-cudart", "static", f"-arch={architecture}")


#: Configurations by the name of the kernel: those that are timed, beside the program's own.
Shortlists = Mapping[str, Collection[SweptConfiguration]]


@dataclass(frozen=True)
class GpuBuild:
    """An instrumented program for a GPU, and its runs.

    Attributes:
        programs: its sources, whose launch sites have numbers of their own.
        counters: by kernel, as compiled.
        shortlists: None: every candidate is timed.
    """

    programs: Sequence[Program]
    counters: Mapping[str, StaticCounters]
    runs: Sequence[Run]
    candidate_set: str
    progress: Progress
    shortlists: Shortlists | None = None

    @staticmethod
    def of(
        analyzer: Analyzer,
        programs: Sequence[Program],
        plan: RunPlan,
        device: DeviceProfile,
        workspace: Workspace,
        shortlists: Shortlists | None = None,
    ) -> GpuBuild:
        """Build one program in the workspace. Raises CT415 where no launch may be tuned."""
        if not any(program.tunable_launches for program in programs):
            raise nothing_tunable(programs)
        folder, progress = workspace.create().folder / "gpu", analyzer.reporter.progress
        progress("compiling", 0, 1)
        toolchain, target = analyzer.toolchain, gpu_target(device.architecture)
        numbers = numbers_of(programs)
        numbered = [its.written(one) for one, its in zip(programs, numbers, strict=True)]
        binary = build_instrumented(toolchain, numbered, folder, target).binary
        about = toolchain, analyzer.code
        counters = {
            kernel: counted
            for program in programs
            for kernel, counted in by_kernel(
                static_counters(*about, program.source.path, device.architecture)
            ).items()
        }
        progress("compiling", 1, 1)
        runs = plan.runs(binary), plan.candidate_set
        return GpuBuild(numbered, counters, *runs, progress, shortlists)


def collect_on_gpu(
    analyzer: Analyzer,
    program: Program,
    plan: RunPlan,
    device: DeviceProfile,
    workspace: Workspace,
    counters: bool,
) -> list[SweptLaunch]:
    """Sweep every tunable launch on the GPU of this machine; append to the workspace."""
    build = GpuBuild.of(analyzer, [program], plan, device, workspace)
    swept = list(sweep_on_gpu(build))
    name, driver = gpu_name()
    origin = asdict(Origin.of(program.source, program.deciding_files))
    about = {"device": name, "driver": driver, "origin": origin}
    append_lines(workspace.measurements, ({**swept_line(one), **about} for one in swept))
    if counters:
        lines = (
            {
                "schema": COUNTERS_SCHEMA,
                **about,
                **{key: entry[key] for key in ("kernel", "extent", "arguments")},
                "grid": launch.grid,
                "block": launch.block,
                "counters": launch.values,
            }
            for entry, launch in _counters_on_gpu(build)
        )
        append_lines(workspace.measurements, lines)
    return swept


def sweep(
    analyzer: Analyzer,
    programs: Sequence[Program],
    plan: RunPlan,
    device: DeviceProfile,
    workspace: Workspace,
    cache: str = RESTORED,
    with_energy: bool = False,
) -> RecordedSweep:
    """Time every configuration of every tunable launch of some programs, each run on its own.

    `with_energy`: measure that as well, where the same launch is repeated. Raises as
    `sweep_on_gpu`; CT484: NVML does not tell the energy.
    """
    if with_energy:
        require_energy()
    launches: list[SweptLaunch] = []
    for program in map(analyzer.with_checked_variants, programs):
        build = GpuBuild.of(analyzer, [program], plan, device, workspace)
        launches += sweep_on_gpu(build, cache, with_energy)
    if with_energy and not any(launch.millijoules for launch in launches):
        raise CutuneError.at(Code.NO_ENERGY, reason="this GPU does not count what it uses")
    name, driver = gpu_name()
    return RecordedSweep(name, driver, METHODS[cache], tuple(launches), cache)


def candidates_text(program: Program, kind: str, own: Mapping[int, Block] | None = None) -> str:
    """The file `CUTUNE_CANDIDATES` for all tunable launches: lines `site x y z [@variant]`.

    `kind`: the set of candidates. `own`: blocks per site; without them, dimensions that are not
    free are taken to have one thread. Where no dimension is, `0 0 0` stands for the own block. A
    copy of a tile has one block.
    """
    lines = []
    for site in program.tunable_launches:
        kernel, own_block = program.kernel(site.kernel), (own or {}).get(site.id, NO_BLOCK)
        assert kernel is not None, "a tunable launch has a kernel"
        # If the own block is not known, the launch itself skips illegal candidates.
        needs_warps = kernel.keeps_warps_of(own_block) and own_block != NO_BLOCK
        about = kernel.max_threads, kernel.allowed, needs_warps
        blocks = candidate_blocks(kernel.free, own_block, kind, *about)
        known = [block for block in blocks if block != NO_BLOCK] or [OWN_BLOCK]
        lines += [_line(site, block) for block in known]
        for variant in variants_at(program, site):
            if variant.tile is not None:
                lines.append(_line(site, variant.tile.block, variant.name))
                continue
            most = variant.bounds[0] if variant.bounds is not None else LARGEST
            within = (block for block in known if threads_of(block) <= most)
            lines += [_line(site, block, variant.name) for block in within]
    return "".join(lines)


def _line(site: LaunchSite, block: Block, variant: str = "") -> str:
    return f"{site.id} {' '.join(map(str, block))}{f' @{variant}' if variant else ''}\n"


def shortlists_text(programs: Sequence[Program], shortlists: Shortlists) -> str:
    """The file `CUTUNE_CANDIDATES` of `candidates_text`, for these configurations alone."""
    return "".join(
        _line(site, *one)
        for program in programs
        for site in program.tunable_launches
        for one in shortlists.get(site.kernel, ())
    )


def sweep_on_gpu(
    build: GpuBuild, cache: str = RESTORED, with_energy: bool = False
) -> Iterator[SweptLaunch]:
    """Time every candidate of the first launch of each site, in one process per run.

    `cache`: what lies in the caches. In the program's own sequence the third launch counts, or the
    last, and every candidate has processes of its own. Raises CT411, or CT428: nothing was timed.
    """
    for run, output, candidates in _with_files(build, "sweeping"):
        environment = {**_hooks("sweep", output, candidates), "CUTUNE_CACHE": cache}
        environment |= {"CUTUNE_NVML": NVML} if with_energy else {}
        if cache == IN_PROGRAM:
            timings = _in_sequence(run, environment, output, candidates)
        else:
            run_program(run, environment, WHERE)
            timings = read_entries(output, TIMING)
        # The size is the only number that the run was given.
        numbers = [int(value) for value in run.values.values() if value.isdigit()]
        size = numbers[0] if len(numbers) == 1 else None
        found = [
            launch
            for program in build.programs
            for launch in swept_launches(program, timings, size, TOLERANCE, build.counters)
        ]
        if not found:
            raise _not_timed(run, timings)
        yield from found


def _in_sequence(
    run: Run, environment: Mapping[str, str], output: Path, candidates: Path
) -> list[dict[str, Any]]:
    """Run with each candidate several times in turn; the lines of each site's last timed launch."""
    most = Counter(line.split()[0] for line in candidates.read_text().splitlines())
    steps = range(1 + max(most.values(), default=0))
    for step in [step for _ in range(REPETITIONS) for step in steps]:
        hooks = {"CUTUNE_STEP": str(step), "CUTUNE_LAUNCH_LIMIT": str(IN_SEQUENCE)}
        run_program(run, {**environment, **hooks}, WHERE)
    timings = read_entries(output, TIMING)
    last: dict[int, int] = {}
    for entry in timings:
        last[entry["site"]] = max(entry["launch"], last.get(entry["site"], 0))
    return [entry for entry in timings if entry["launch"] == last[entry["site"]]]


def _counters_on_gpu(build: GpuBuild) -> Iterator[tuple[Mapping[str, Any], ProfiledLaunch]]:
    for run, output, candidates in _with_files(build, "counting"):
        counted = profile(run.command, _hooks("profile", output, candidates))
        entries = read_entries(output, "cutune-profile-1")
        if not entries:
            raise _not_timed(run, entries)
        yield from join_counters(entries, counted)


def _with_files(build: GpuBuild, activity: str) -> Iterator[tuple[Run, Path, Path]]:
    """Each run, the file that its hooks write, and the file of candidates that they read."""
    with temporary_folder() as name:
        folder, runs = Path(name), build.runs
        candidates = folder / "candidates"
        if build.shortlists is not None:
            text = shortlists_text(build.programs, build.shortlists)
        else:
            text = _every_candidate(build, folder)
        candidates.write_text(text, encoding="ascii")
        for index, run in enumerate(runs):
            build.progress(activity, index, len(runs))
            yield run, folder / f"output-{index}", candidates
        build.progress(activity, len(runs), len(runs))


def _every_candidate(build: GpuBuild, folder: Path) -> str:
    # The first run tells the program's own blocks.
    recorded = folder / "record"
    run_program(build.runs[0], _hooks("record", recorded, None), WHERE)
    own = {e["site"]: as_block(e["block"]) for e in read_entries(recorded, "cutune-record-1")}
    return "".join(candidates_text(one, build.candidate_set, own) for one in build.programs)


def join_counters(
    entries: Sequence[Mapping[str, Any]], counted: Sequence[ProfiledLaunch]
) -> Iterator[tuple[Mapping[str, Any], ProfiledLaunch]]:
    """Join lines of the probe with launches of ncu, both in order; other launches are skipped."""
    rest = iter(counted)
    for entry in (e for e in entries if "error" not in e):
        wanted = (entry["kernel"], as_block(entry["grid"]), as_block(entry["block"]))
        for counters in rest:
            if (counters.kernel, counters.grid, counters.block) == wanted:
                yield entry, counters
                break


def gpu_name() -> tuple[str, str]:
    """The names of the GPU and its driver, as nvidia-smi gives them."""
    path = shutil.which("nvidia-smi")
    if path is not None:
        query = [path, "--query-gpu=name,driver_version", "--format=csv,noheader"]
        done = subprocess.run(query, capture_output=True, text=True, check=False)
        name, comma, driver = done.stdout.partition("\n")[0].partition(", ")
        if comma:
            return name, driver
    return "unknown GPU", "unknown driver"


def require_gpu() -> None:
    """Check that programs can use a GPU. Raises CT015."""
    if (status := _library(DRIVER, Code.NO_GPU).cuInit(0)) != 0:
        raise CutuneError.at(Code.NO_GPU, reason=f"the driver does not start (error {status})")


def require_energy() -> None:
    """Check that the driver's library tells the energy of GPUs. Raises CT484."""
    library = _library(NVML, Code.NO_ENERGY)
    lacking = next((name for name in _OF_ENERGY if not hasattr(library, name)), None)
    if lacking is not None:
        raise CutuneError.at(Code.NO_ENERGY, reason=f"{NVML} has no function {lacking}")
    if (status := library.nvmlInit_v2()) != 0:
        raise CutuneError.at(Code.NO_ENERGY, reason=f"NVML does not start (error {status})")


def _library(name: str, code: Code) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise CutuneError.at(code, reason=error) from error


def _hooks(mode: str, output: Path, candidates: Path | None) -> dict[str, str]:
    hooks = {"CUTUNE_MODE": mode, "CUTUNE_OUTPUT": str(output), "CUTUNE_LAUNCH_LIMIT": "1"}
    hooks["CUTUNE_REPETITIONS"] = str(REPETITIONS)
    return hooks | ({"CUTUNE_CANDIDATES": str(candidates)} if candidates else {})


def _not_timed(run: Run, entries: Sequence[Mapping[str, Any]]) -> CutuneError:
    errors = [str(entry["error"]) for entry in entries if "error" in entry]
    if errors:
        reason = errors[0]
    elif any(entry.get("modelled") for entry in entries):
        reason = "it ran on the emulated device"
    else:
        reason = "it launched nothing that can be tuned, or there is no GPU"
    return CutuneError.at(Code.NOT_TIMED, command=" ".join(run.command), reason=reason)


# ---- hardware counters

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
PROFILE_SECONDS = 1800
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
        raise _no_counters("ncu is not on PATH: install NVIDIA Nsight Compute")
    variables = {**os.environ, **environment, "LC_ALL": "C"}
    ended = run_to_end([path, *ncu_options(), *command], variables, PROFILE_SECONDS)
    if ended.timed_out:
        raise _no_counters(f"no end within {PROFILE_SECONDS} s")
    if ended.not_started:
        raise _no_counters(ended.not_started)
    said = ended.output_text + ended.errors_text
    found = parse_profile(ended.output_text)
    if not found or ended.status:
        lines = [line for line in said.splitlines() if line.strip() and not line.startswith('"')]
        last = lines[-1] if lines else "it said nothing"
        raise _no_counters(explained(said) or f"status {ended.status}: {last}")
    return found


def ncu_options() -> list[str]:
    """All options before the command: raw CSV with plain numbers, clocks and caches left alone."""
    return [
        *("--csv", "--page", "raw", "--print-units", "base", "--target-processes", "all"),
        *("--clock-control", "none", "--cache-control", "none"),
        *("--metrics", ",".join(METRICS.values())),
    ]


def explained(said: str) -> str | None:
    """What a message of a failed sweep means; None where it is not a known one."""
    return next((meaning for word, meaning in PROBLEMS.items() if word in said), None)


def parse_profile(text: str) -> list[ProfiledLaunch]:
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
                    raise _no_counters(f"{reason}: is this another version of ncu?")
            elif header and len(row) == len(header) and row[0].isdigit():
                found.append(_profiled(dict(zip(header, row, strict=True))))
    except csv.Error as error:
        raise _no_counters(f"its table is damaged: {error}") from error
    return found


def _profiled(row: Mapping[str, str]) -> ProfiledLaunch:
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
        raise _no_counters(f"its table has {text[:40]!r} where a shape should be")
    return as_block([int(number) for number in match.groups()])


def _no_counters(reason: str) -> CutuneError:
    return CutuneError.at(Code.NO_COUNTERS, reason=reason)
