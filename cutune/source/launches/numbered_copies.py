"""Copies of kernels whose threads are numbered in another way. Takes a `Program`.

In blocks of one thread `i = blockIdx.x` is a global id, and in no others: the copy has
`blockIdx.x * blockDim.x + threadIdx.x` in its place. In blocks of 32 x y threads, a warp per row,
`row = blockIdx.x * blockDim.y + threadIdx.y`. Threads of a block are numbered row by row (CUDA C++
Programming Guide, "Thread Hierarchy"), so that a block of 32 * y threads in x has the same warps:
the copy, launched in such blocks, has `threadIdx.x % 32` for threadIdx.x, and `threadIdx.x / 32`
for threadIdx.y. Where blocks are one warp, its number in the grid takes the place of
blockIdx.x; where all launches are one block (`<<<1, n>>>`), an id takes that of threadIdx.x.

Each built-in becomes a call; functions that return the built-in must give the kernel's own code. Of
a kernel whose blocks change their shape no built-in may be left: functions that return marked
registers must give code that reads neither threadIdx nor blockDim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from cutune.core.source import Edit, Span
from cutune.source.host_formula import constant
from cutune.source.launches.kernel_copies import (
    CopyCandidate,
    declared,
    inserted,
    launched_alone,
    only_definition,
)
from cutune.source.program import DIMENSIONS, Configuration, Impurity, Kernel, KernelCopy, Program
from cutune.source.syntax.parse import SourceFunction, Syntax
from cutune.source.unit.kernel_texts import KernelTexts
from cutune.source.unit.macros import Unsteady
from cutune.toolchain.device.thread_block import WARP, Block


def _in_each_dimension(**named: str) -> dict[str, str]:
    """What takes the place of `threadIdx.x` and so on; `@` stands for the dimension."""
    return {f"{name}.{d}": text.replace("@", d) for d in DIMENSIONS for name, text in named.items()}


#: What takes the place of each built-in, where all blocks have one thread.
_ONE_THREAD = _in_each_dimension(
    threadIdx="0",
    blockDim="1",
    blockIdx="blockIdx.@ * blockDim.@ + threadIdx.@",
    gridDim="gridDim.@ * blockDim.@",
)
#: The same where all launches are one block, and ids take the place of its threads.
_ONE_BLOCK = _in_each_dimension(
    threadIdx="blockIdx.@ * blockDim.@ + threadIdx.@",
    blockDim="gridDim.@ * blockDim.@",
    blockIdx="0",
    gridDim="1",
)
#: The same where all blocks are a warp, and warps take the place of blocks.
_ONE_WARP = {
    "threadIdx.x": f"threadIdx.x % {WARP}",
    "blockDim.x": f"{WARP}",
    "blockIdx.x": f"blockIdx.x * (blockDim.x / {WARP}) + threadIdx.x / {WARP}",
    "gridDim.x": f"gridDim.x * (blockDim.x / {WARP})",
}
#: The same where blocks of 32 x y threads become blocks of 32 * y.
_FLAT = {
    "threadIdx.x": f"threadIdx.x % {WARP}",
    "threadIdx.y": f"threadIdx.x / {WARP}",
    "blockDim.x": f"{WARP}",
    "blockDim.y": f"blockDim.x / {WARP}",
}


@dataclass(frozen=True)
class _Renumbering:
    """How the threads of a copy are numbered. `needed`: a built-in that the kernel has to read."""

    name: str
    block: Block
    instead: Mapping[str, str]
    needed: str
    is_flat: bool = False
    is_of_one_block: bool = False


_IN_ONE_BLOCK = _Renumbering("threads", (0, 0, 0), _ONE_BLOCK, "threadIdx", is_of_one_block=True)
_WARPS_IN_A_ROW = _Renumbering("rows", (WARP, 0, 1), _FLAT, "threadIdx.y", is_flat=True)
#: By the block of all launches.
_RENUMBERED: Mapping[tuple[object, ...], _Renumbering] = {
    (1, 1, 1): _Renumbering("ids", (1, 1, 1), _ONE_THREAD, "blockIdx"),
    (WARP, 1, 1): _Renumbering("warps", (WARP, 1, 1), _ONE_WARP, "blockIdx.x"),
}


def numbered_copies(program: Program, unsteady: Unsteady) -> dict[str, CopyCandidate]:
    """A copy for each refused kernel that is launched in such blocks, by the kernel's name."""
    texts = KernelTexts((program.source, *program.headers), unsteady=unsteady)
    found: dict[str, CopyCandidate] = {}
    for kernel, sites in launched_alone(program):
        if kernel.reason is not None and not kernel.pure_dimensions:
            how = _renumbering([site.resolved for site in sites])
            if how is not None:
                candidate = _copy_with_indices(texts, kernel, kernel.reason, how)
                found |= {kernel.name: candidate} if candidate is not None else {}
    return found


def _renumbering(launched: Sequence[Configuration | None]) -> _Renumbering | None:
    """How threads may be numbered anew at these launches, or at some of them."""
    blocks: set[tuple[object, ...]] = {
        (*map(constant, one.block),) if one else () for one in launched
    }
    grids: set[tuple[object, ...]] = {
        (*map(constant, one.grid),) if one else () for one in launched
    }
    if grids == {(1, 1, 1)} and blocks != {(1, 1, 1)}:
        return _IN_ONE_BLOCK
    if all(b[:1] == (WARP,) and b[2:] == (1,) and b[1] != 1 for b in blocks):
        return _WARPS_IN_A_ROW
    # Launches of other blocks, perhaps of other instances, keep the kernel.
    known = [how for block, how in _RENUMBERED.items() if block in blocks]
    return known[0] if len(known) == 1 else None


def _copy_with_indices(
    texts: KernelTexts, kernel: Kernel, reason: Impurity, how: _Renumbering
) -> CopyCandidate | None:
    """A copy that has other values of the built-ins."""
    definition = only_definition(texts, kernel)
    if definition is None:
        return None
    syntax, function = definition
    read = list(_built_ins(syntax, function, how.instead))
    if not any(name.startswith(how.needed) for name, _ in read):
        return None
    namespace = f"cutune_copy_{kernel.name}_{how.name}"
    calls = [Edit(span, f"cutune_{name.replace('.', '_')}()") for name, span in read]
    names = sorted({name for name, _ in read})

    def edit(values: Mapping[str, str]) -> Edit:
        helpers = " ".join(_function(name, values[name]) for name in names)
        return inserted(syntax, function, namespace, helpers, calls)

    copy = KernelCopy(
        how.block,
        namespace,
        syntax.source,
        edit(how.instead),
        instead_of=reason,
        is_flat=how.is_flat,
        is_of_warps=how.block == (WARP, 1, 1),
        is_of_one_block=how.is_of_one_block,
        declaration=declared(syntax, function, namespace),
    )
    unchanged = edit({name: name for name in names})
    marked = edit(dict(zip(names, map(_marked, count()), strict=False))) if how.is_flat else None
    return CopyCandidate(copy, unchanged, marked=marked)


def _built_ins(
    syntax: Syntax, function: SourceFunction, known: Mapping[str, str]
) -> Iterator[tuple[str, Span]]:
    for index in range(function.braces[0] + 1, function.braces[1] - 2):
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
