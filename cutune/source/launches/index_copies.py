"""Copies of kernels whose threads are numbered in another way. Takes a `Program`.

Blocks of one thread: `i = blockIdx.x` is a global id in these and in no others. The copy has
`blockIdx.x * blockDim.x + threadIdx.x` in its place.

Blocks of 32 x y threads, a warp per row: `row = blockIdx.x * blockDim.y + threadIdx.y`. The threads
of a block are numbered row by row (CUDA C++ Programming Guide, "Thread Hierarchy"), so that a block
of 32 * y threads in x has the same warps. The copy, which is launched in such blocks, has
`threadIdx.x % 32` for threadIdx.x, and `threadIdx.x / 32` for threadIdx.y.

Each built-in becomes a call. Whether a call means the same as the built-in is shown by the
compiler, as for other copies: functions that return the built-in must give the kernel's own code.
Of a kernel whose blocks change their shape no built-in may be left: functions that return marked
registers must give code that reads neither threadIdx nor blockDim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from cutune.core.source import Edit, Span
from cutune.source.host_formula import constant
from cutune.source.launches.block_reading_copies import (
    CopyCandidate,
    inserted_copy,
    launched_alone,
)
from cutune.source.program import DIMENSIONS, Kernel, KernelCopy, LaunchSite, Program
from cutune.source.syntax.parse import SourceFunction, Syntax
from cutune.source.unit.kernel_texts import KernelTexts
from cutune.source.unit.macros import Unsteady

_WARP = 32
_ONE = tuple(
    (f"{name}.{d}", text.replace("@", d))
    for d in DIMENSIONS
    for name, text in (
        ("threadIdx", "0"),
        ("blockDim", "1"),
        ("blockIdx", "blockIdx.@ * blockDim.@ + threadIdx.@"),
        ("gridDim", "gridDim.@ * blockDim.@"),
    )
)
#: What takes the place of each built-in, where all blocks have one thread.
ONE_THREAD: Mapping[str, str] = dict(_ONE)
#: The same where blocks of 32 x y threads become blocks of 32 * y.
WARPS_IN_A_ROW: Mapping[str, str] = {
    "threadIdx.x": f"threadIdx.x % {_WARP}",
    "threadIdx.y": f"threadIdx.x / {_WARP}",
    "blockDim.x": f"{_WARP}",
    "blockDim.y": f"blockDim.x / {_WARP}",
}


def index_copies(program: Program, unsteady: Unsteady) -> dict[str, CopyCandidate]:
    """A copy for each refused kernel that is launched in such blocks, by the kernel's name."""
    texts = KernelTexts((program.source, *program.headers), unsteady=unsteady)
    found = {}
    for kernel, sites in launched_alone(program):
        if kernel.reason is not None and not kernel.pure_dimensions:
            candidate = _candidate(texts, kernel, sites)
            if candidate is not None:
                found[kernel.name] = candidate
    return found


def _candidate(texts: KernelTexts, kernel: Kernel, sites: list[LaunchSite]) -> CopyCandidate | None:
    blocks = [map(constant, site.resolved.block) if site.resolved else () for site in sites]
    shapes = {(*block,) for block in blocks}
    if shapes == {(1, 1, 1)}:
        return _copy(texts, kernel, ONE_THREAD, "blockIdx")
    if all(shape[:1] == (_WARP,) and shape[2:] == (1,) and shape[1] != 1 for shape in shapes):
        return _copy(texts, kernel, WARPS_IN_A_ROW, "threadIdx.y")
    return None


def _copy(
    texts: KernelTexts, kernel: Kernel, instead: Mapping[str, str], needed: str
) -> CopyCandidate | None:
    """A copy of a kernel that reads `needed`, with other values of its built-ins."""
    places = list(texts.definitions(kernel.name))
    if len(places) != 1 or kernel.reason is None:
        return None
    syntax, function = places[0]
    read = list(_built_ins(syntax, function, instead))
    is_needed = any(name.startswith(needed) for name, _ in read)
    if not is_needed or not texts.may_be_repeated(syntax, function):
        return None
    is_flat = instead is WARPS_IN_A_ROW
    block = (_WARP, 0, 1) if is_flat else (1, 1, 1)
    namespace = f"cutune_copy_{kernel.name}_{'rows' if is_flat else 'ids'}"
    calls = [Edit(span, f"cutune_{name.replace('.', '_')}()") for name, span in read]
    names = sorted({name for name, _ in read})

    def edit(values: Mapping[str, str]) -> Edit:
        helpers = " ".join(_function(name, values[name]) for name in names)
        return inserted_copy(syntax, function, namespace, helpers, calls)

    copy = KernelCopy(
        block, namespace, syntax.source, edit(instead), kernel.reason, is_flat=is_flat
    )
    unchanged = edit({name: name for name in names})
    marked = edit(dict(zip(names, map(_marked, count()), strict=False))) if is_flat else None
    return CopyCandidate(copy, unchanged, marked=marked)


def _built_ins(
    syntax: Syntax, function: SourceFunction, known: Mapping[str, str]
) -> Iterator[tuple[str, Span]]:
    """Where a kernel reads its built-ins."""
    assert function.body is not None, "kernels of a syntax are defined"
    for index in range(function.body[0] + 1, function.body[1] - 2):
        first, dot, last = syntax.tokens[index : index + 3]
        name = f"{first.text}.{last.text}"
        before = syntax.tokens[index - 1].text
        if dot.text == "." and name in known and before not in (".", "->", "::"):
            yield name, Span(first.start, last.end)


def _function(name: str, value: str) -> str:
    return (
        f"static __device__ __forceinline__ unsigned cutune_{name.replace('.', '_')}() "
        f"{{ {value if value.startswith('unsigned') else f'return {value};'} }}"
    )


def _marked(number: int) -> str:
    """The value of a register that no program reads."""
    return f'unsigned own; asm("mov.u32 %0, %%envreg{number};" : "=r"(own)); return own;'
