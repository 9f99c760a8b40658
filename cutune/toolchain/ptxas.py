"""Static counters of kernels. Takes the remarks of `ptxas -v` (CUDA 11 to 13), gives numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from cutune.core.typed import Meta
from cutune.toolchain.kernel_names import base_name

_COMPILING = re.compile(r"Compiling entry function '([^']+)'")
_USED = re.compile(r"Used (\d+) registers")
_SPILLED = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")


@dataclass(frozen=True)
class StaticCounters:
    """Resources of one compiled kernel for one architecture.

    `spilled_bytes`: stored and loaded for lack of registers; each instruction counts once.
    """

    registers: Annotated[int, Meta(ge=0, le=1024)]
    static_shared_bytes: Annotated[int, Meta(ge=0, le=1 << 30)] = 0
    spilled_bytes: Annotated[int, Meta(ge=0, le=1 << 40)] = 0


def parse_ptxas(text: str) -> dict[str, StaticCounters]:
    """Return counters by mangled kernel name, from the output of `nvcc -Xptxas -v`."""
    counters: dict[str, StaticCounters] = {}
    entry, spilled = "", 0
    for line in text.splitlines():
        if match := _COMPILING.search(line):
            entry, spilled = match[1], 0
        elif match := _SPILLED.search(line):
            spilled += int(match[1]) + int(match[2])
        elif entry and (match := _USED.search(line)):
            shared = _SHARED.search(line)
            bytes_ = int(shared[1]) if shared else 0
            counters[entry] = StaticCounters(int(match[1]), bytes_, spilled)
            entry = ""
    return counters


def by_kernel(counters: Mapping[str, StaticCounters]) -> dict[str, StaticCounters]:
    """Return one entry per source name: of several instances, the one with most registers."""
    result: dict[str, StaticCounters] = {}
    for symbol, value in counters.items():
        name = base_name(symbol)
        if name not in result or value.registers > result[name].registers:
            result[name] = value
    return result
