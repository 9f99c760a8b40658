"""The emulated device's counters beside those that Nsight Compute read on a GPU.

`recorded/counters_h200.json` holds, for the first launches of every kernel of samples/polybench at
N = 64 and 256, what `ncu` counted on an H200 (built by nvcc 13.0 with -O2 -arch=sm_90).

    python -m tests.support.hardware_counters FOLDER

prints the tables of docs/emulated-device.md from launch logs `PROGRAM.N.jsonl` in the folder, made
with CUTUNE_COUNT=trace and CUTUNE_LAUNCH_LOG.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cutune.emulator.assemble import assemble
from cutune.emulator.launch_log import LaunchRecord, read_launches
from cutune.emulator.lower.memory import BUILTINS
from cutune.emulator.machine import LoadedModule
from cutune.ptx.control_flow import control_flow
from cutune.ptx.parse import parse
from cutune.ptx.taint import spaces
from cutune.ptx.types import ATOMICS, BARRIERS, BRANCHES, LEAVING, LOADS, SPECIAL, Instruction

RECORDED = Path(__file__).parents[1] / "recorded" / "counters_h200.json"
#: What both count of memory: name to the metric of ncu.
MEMORY = {
    "load requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld",
    "store requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st",
    "load sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld",
    "store sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st",
    "load instructions": "smsp__inst_executed_op_global_ld",
    "store instructions": "smsp__inst_executed_op_global_st",
}
#: Classes of PTX instructions and of SASS instructions that do the same work, in threads.
ARITHMETIC = {
    "fp32": (("fma", "float", "special"), ("fp32",)),
    "integer": (("integer", "move", "convert"), ("integer", "bit", "conversion")),
    "control": (("branch",), ("control",)),
    "memory": (("load", "store"), ("memory",)),
}
#: PTX opcodes that are of one class, whatever their types.
_CLASSES = {
    "branch": LEAVING | BRANCHES | {"call", "trap"},
    "barrier": BARRIERS,
    "move": {"mov", "cvta", "selp"},
    "convert": {"cvt"},
    "atomic": ATOMICS,
}
_FLOATS = frozenset(("f32", "f16", "f16x2", "bf16", "bf16x2"))
_SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on"


@dataclass(frozen=True)
class Measured:
    """One launch on the GPU; `index` counts the launches of its kernel in the program."""

    program: str
    n: int
    kernel: str
    index: int
    metrics: Mapping[str, int]


def measured(path: Path = RECORDED) -> list[Measured]:
    """Everything that was recorded."""
    document = json.loads(path.read_text(encoding="utf-8"))
    names = document["metrics"]
    return [
        Measured(program, n, kernel, index, dict(zip(names, values, strict=True)))
        for program, n, kernel, index, *values in document["launches"]
    ]


@cache
def _module(path: str) -> LoadedModule:
    return LoadedModule(assemble(Path(path).read_text(encoding="utf-8")))


def memory_counts(record: LaunchRecord) -> dict[str, int]:
    """Requests, sectors and instructions of a traced launch, by the names in MEMORY."""
    kernel = _module(record.module).kernel(record.kernel)
    sites = dict(zip(kernel.site_indices, kernel.sites, strict=True))
    totals: Counter[str] = Counter(dict.fromkeys(MEMORY, 0))
    for logged in record.sites:
        site = sites.get(logged["site"])
        if site is None or site.space not in ("global", "generic"):
            continue
        totals[f"{site.kind} requests"] += logged["executions"]
        totals[f"{site.kind} instructions"] += logged["executions"]
        totals[f"{site.kind} sectors"] += logged["sectors"]
    return dict(totals)


def class_counts(record: LaunchRecord) -> Counter[str]:
    """Thread instructions of a launch by class: run again, without data or memory."""
    module = _module(record.module)
    base = min(pointer.base for pointer in record.pointers)
    end = max(pointer.base + pointer.size for pointer in record.pointers)
    counters = module.run(
        record.kernel, record.grid, record.block, record.parameters, ghosts=(base, end - base)
    )
    function = parse(Path(record.module).read_text(encoding="utf-8")).functions[record.kernel]
    totals: Counter[str] = Counter()
    # Kernels of the samples call no functions, whose blocks would follow.
    flow = control_flow(function, BUILTINS.__contains__)
    for block, lanes in zip(flow.blocks, counters.block_lanes, strict=True):
        for instruction in block.instructions:
            totals[instruction_class(instruction)] += int(lanes)
    return totals


def instruction_class(instruction: Instruction) -> str:
    """The class under which an instruction is counted."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode in (*LOADS, "st"):
        return _memory_class(instruction)
    found = next((name for name, opcodes in _CLASSES.items() if opcode in opcodes), "")
    if found:
        return found
    kind = modifiers[-1] if modifiers else ""
    if "f64" in modifiers:
        return "double"
    if opcode in SPECIAL or (opcode == "div" and kind == "f32"):
        return "special"
    if kind in _FLOATS:
        return "fma" if opcode in ("fma", "mad") else "float"
    return "integer"


def _memory_class(instruction: Instruction) -> str:
    where = spaces(instruction)
    if "param" in where:
        return "move"
    direction = "store" if instruction.opcode == "st" else "load"
    return f"shared_{direction}" if "shared" in where else direction


def launches(log: Path) -> dict[tuple[str, int], LaunchRecord]:
    """Launches of a log by kernel (as in the source) and number."""
    seen: Counter[str] = Counter()
    found = {}
    for record in read_launches(log):
        name = plain_name(record.kernel)
        found[name, seen[name]] = record
        seen[name] += 1
    return found


def plain_name(mangled: str) -> str:
    """`_Z4gemmiPf` is `gemm`; names of the samples are not nested."""
    if not mangled.startswith("_Z"):
        return mangled.partition("(")[0]
    digits = ""
    for character in mangled[2:]:
        if not character.isdigit():
            break
        digits += character
    start = 2 + len(digits)
    return mangled[start : start + int(digits)]


def memory_ratios(log: Path, program: str, n: int) -> Iterator[tuple[Measured, str, int, int]]:
    """For each recorded launch of the program: name in MEMORY, emulated and measured count."""
    emulated = launches(log)
    for each in measured():
        record = emulated.get((each.kernel, each.index))
        if (each.program, each.n) != (program, n) or record is None:
            continue
        counts = memory_counts(record)
        for name, metric in MEMORY.items():
            if metric in each.metrics:
                yield each, name, counts[name], each.metrics[metric]


def ratio(emulated: float, on_gpu: float) -> float:
    """1.0 when both are zero."""
    return 1.0 if emulated == on_gpu else emulated / on_gpu if on_gpu else float("inf")


def _tables(folder: Path) -> None:
    pairs = sorted({(each.program, each.n) for each in measured()})
    by_name: dict[str, list[float]] = {}
    off: list[str] = []
    for program, n in pairs:
        for each, name, ours, theirs in memory_ratios(folder / f"{program}.{n}.jsonl", program, n):
            by_name.setdefault(name, []).append(ratio(ours, theirs))
            if abs(ratio(ours, theirs) - 1) > 0.02:
                off.append(f"{program} {each.kernel} #{each.index} N={n} {name}: {ours} {theirs}")
    print("| counter | launches | median | within 2 % | smallest | largest |")
    print("|---|---|---|---|---|---|")
    for name, values in by_name.items():
        close = sum(abs(value - 1) <= 0.02 for value in values)
        print(
            f"| {name} | {len(values)} | {statistics.median(values):.3f} | "
            f"{100 * close / len(values):.1f} % | {min(values):.3f} | {max(values):.3f} |"
        )
    print("\n".join(off))
    print("\n| kernel | " + " | ".join(ARITHMETIC) + " |\n|---|" + "---|" * len(ARITHMETIC))
    for program, kernel, cells in _arithmetic(folder, pairs):
        print(f"| {program}: {kernel} | " + " | ".join(cells) + " |")


def _arithmetic(
    folder: Path, pairs: Iterable[tuple[str, int]]
) -> Iterator[tuple[str, str, list[str]]]:
    """PTX per SASS thread instruction, first launch of each kernel at N = 256."""
    for program, n in pairs:
        emulated = launches(folder / f"{program}.{n}.jsonl")
        for each in measured():
            if (each.program, each.n, each.index) != (program, 256, 0) or n != 256:
                continue
            ours = class_counts(emulated[each.kernel, 0])
            cells = []
            for ptx, sass in ARITHMETIC.values():
                theirs = sum(each.metrics.get(_SASS.format(name), 0) for name in sass)
                mine = sum(ours[name] for name in ptx)
                cells.append(f"{mine / theirs:.2f}" if theirs else "–" if not mine else "∞")
            yield program, each.kernel, cells


if __name__ == "__main__":
    _tables(Path(sys.argv[1]))
