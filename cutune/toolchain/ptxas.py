"""Static counters of a kernel. Takes what ptxas prints, gives numbers.

`parse_ptxas` reads the remarks of `ptxas -v` (CUDA 11 to 13), `kernel_name` maps a mangled symbol
to the source's name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_COMPILING = re.compile(r"Compiling entry function '([^']+)'")
_PROPERTIES = re.compile(r"Function properties for (\S+)")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")
_LOCAL = re.compile(r"(\d+)(?:\+\d+)? bytes lmem")
_CONSTANT = re.compile(r"(\d+)(?:\+\d+)? bytes cmem\[\d+\]")


@dataclass(frozen=True)
class StaticCounters:
    """Resources of one compiled kernel for one architecture."""

    registers: int
    static_shared_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    stack_bytes: int = 0
    #: Kernel parameters and constants; 0 where the compiler does not say (CUDA 13).
    constant_bytes: int = 0


def parse_ptxas(text: str) -> dict[str, StaticCounters]:
    """Counters by mangled kernel name, from the output of `nvcc -Xptxas -v`."""
    counters: dict[str, StaticCounters] = {}
    entry = function = ""
    stack = (0, 0, 0)
    for line in text.splitlines():
        if found := _COMPILING.search(line):
            entry, stack = found[1], (0, 0, 0)
        elif found := _PROPERTIES.search(line):
            function = found[1]
        elif (found := _STACK.search(line)) and function == entry:
            # Functions that an entry calls are listed too; their stack is not the entry's.
            stack = (int(found[1]), int(found[2]), int(found[3]))
        elif entry and (found := _USED.search(line)):
            counters[entry] = _totals(line, int(found[1]), stack)
            entry = ""
    return counters


def _totals(line: str, registers: int, stack: tuple[int, int, int]) -> StaticCounters:
    local = _first(_LOCAL, line)
    return StaticCounters(
        registers,
        static_shared_bytes=_first(_SHARED, line),
        stack_bytes=max(stack[0], local),
        spill_store_bytes=stack[1],
        spill_load_bytes=stack[2],
        constant_bytes=sum(int(size) for size in _CONSTANT.findall(line)),
    )


def _first(pattern: re.Pattern[str], line: str) -> int:
    found = pattern.search(line)
    return int(found[1]) if found else 0


_NESTED_NAME = re.compile(r"_Z(?P<nested>N)?[LKVr]*(?=\d)")
_SOURCE_NAME = re.compile(r"[LKVr]*(\d+)")


def kernel_name(symbol: str) -> str:
    """The kernel's unqualified name in the source, from its mangled (Itanium) symbol."""
    prefix = _NESTED_NAME.match(symbol)
    if prefix is None:
        return symbol  # extern "C"
    name, position = symbol, prefix.end()
    while length := _SOURCE_NAME.match(symbol, position):
        position = length.end() + int(length[1])
        name = symbol[length.end() : position]
        if prefix["nested"] is None:
            break
    return name


def by_kernel(counters: Mapping[str, StaticCounters]) -> dict[str, StaticCounters]:
    """One entry per source name: of several template instances, the one with most registers."""
    result: dict[str, StaticCounters] = {}
    for symbol, value in counters.items():
        name = kernel_name(symbol)
        known = result.get(name)
        if known is None or value.registers > known.registers:
            result[name] = value
    return result
