"""Values that follow the block, and values that only look so.

Takes what a kernel has, gives an int: closed forms read built-ins only, open ones an id `q`.
"""

from __future__ import annotations

import re

from tests.soundness.draws import Draw, Piece, fill, lines
from tests.soundness.hiding import hide

#: $d the dimension, $e another one.
DEPENDENT = (
    *("threadIdx.$d", "blockIdx.$d", "blockDim.$d", "gridDim.$d", "threadIdx.$e + threadIdx.$d"),
    *("threadIdx.$d ^ 1", "threadIdx.$d & 31", "threadIdx.$d / 32", "threadIdx.$d >> 4"),
    *("(threadIdx.$d + 1) % blockDim.$d", "blockDim.$d - 1 - threadIdx.$d", "threadIdx.$d == 0"),
    *("threadIdx.$d > 15", "blockIdx.$d & 1", "blockDim.$d * 3", "blockIdx.$d * blockDim.$d"),
    *("threadIdx.$d * gridDim.$d + blockIdx.$d", "blockIdx.$d * blockDim.$d + 2 * threadIdx.$d"),
    *("blockIdx.$d * blockDim.$d - threadIdx.$d", "(blockIdx.$d + 1) * blockDim.$d"),
    *("blockIdx.$d * 64 + threadIdx.$d", "(blockIdx.$d << 5) + threadIdx.$d"),
    *("min(blockDim.$d, 64u)", "__popc(threadIdx.$d)", "__ffs(blockDim.$d)"),
    *("blockIdx.$d * blockDim.$e + threadIdx.$d", "blockIdx.$d * blockDim.$d + threadIdx.$e"),
    *("threadIdx.$d | blockIdx.$d", "blockDim.$d == 64", "gridDim.$d > 4", "gridDim.$d * 2"),
    *("threadIdx.$d < 8 ? 1 : 2", "(unsigned char)blockDim.$d", "(short)threadIdx.$d"),
    *("blockIdx.$d * blockDim.$d / 2 + threadIdx.$d", "threadIdx.$d == 31"),
    "2 * blockIdx.$d * blockDim.$d + threadIdx.$d",
    *("blockIdx.$d * gridDim.$d + threadIdx.$d", "blockDim.$d * gridDim.$d + threadIdx.$d"),
    *("(blockIdx.$d + threadIdx.$d) * blockDim.$d", "blockIdx.$d * (blockDim.$d & ~31u)"),
    *("blockDim.$d * blockDim.$e", "gridDim.$d * blockDim.$e", "threadIdx.$d < blockDim.$d - 1"),
    *("__umulhi(blockIdx.$d << 20, blockDim.$d << 12)", "__brev(threadIdx.$d) >> 22"),
    *("blockIdx.$d * blockDim.$d + (threadIdx.$d & 30)", "(int)(1.5f * threadIdx.$d)"),
    *("(blockIdx.$d * blockDim.$d + threadIdx.$d) % blockDim.$d", "blockIdx.$d / 2"),
    *("(blockIdx.$d ^ 1) * blockDim.$d + threadIdx.$d", "blockIdx.$d % 3 * blockDim.$d"),
    *("gridDim.$d == 1", "threadIdx.$d + blockIdx.$d", "(threadIdx.$d == blockDim.$d - 1) * 4"),
)  # fmt: skip
DEPENDENT_OPEN = (
    *("q - blockIdx.$d * blockDim.$d", "q % blockDim.$d", "q / blockDim.$d", "q - threadIdx.$d"),
    *("q * blockDim.$d", "q + threadIdx.$d", "q == blockIdx.$d * blockDim.$d", "q ^ threadIdx.$d"),
    *("q & (blockDim.$d - 1)", "q < blockDim.$d", "q == threadIdx.$d", "q | blockIdx.$d"),
    *("q - blockDim.$d * blockIdx.$d + threadIdx.$d", "(q + blockDim.$d) / 2", "q >= gridDim.$d"),
)
#: The same with any block that keeps the threads.
INDEPENDENT = (
    *("blockIdx.$d * blockDim.$d + threadIdx.$d", "gridDim.$d * blockDim.$d", "warpSize"),
    *("gridDim.$d * blockDim.$d - 1 - (blockIdx.$d * blockDim.$d + threadIdx.$d)", "7", "-1"),
    *("threadIdx.$d - threadIdx.$d", "blockDim.$d - blockDim.$d", "threadIdx.$d >> 10"),
    *("2 * blockIdx.$d * blockDim.$d + 2 * threadIdx.$d", "blockIdx.$d * 0", "threadIdx.$d < 2048"),
    *("(blockIdx.$d * blockDim.$d + threadIdx.$d) / 3", "gridDim.$d * blockDim.$d / 2"),
    *("(int)((float)blockIdx.$d * blockDim.$d + threadIdx.$d)", "blockDim.$d > 0"),
    *("min(0u, threadIdx.$d)", "(int)(0.5f * (blockIdx.$d * blockDim.$d + threadIdx.$d))"),
)
INDEPENDENT_OPEN = (
    *("q / 32", "q & 31", "q % 7", "q % 64", "q ^ 1", "q * 3", "q >> 2", "(q & 1) ? 3 : 5", "q"),
    *("q - (blockIdx.$d * blockDim.$d + threadIdx.$d)", "(signed char)q", "(unsigned char)q"),
    *("q < 64", "q * q & 1023", "__popc(q)", "min(q, 40)", "gridDim.$d * blockDim.$d - q", "-q"),
)
#: (needs, statements, expression): threads of a block or a warp hand each other values; $i an id,
#: $N a fresh name. They stand before any guard.
TOGETHER = (
    ("", "__shared__ int ${N}s[1024]; ${N}s[$F] = (int)($i); __syncthreads();",
     "${N}s[($F + 1) % $S]"),
    ("", "__shared__ int ${N}s[1024]; ${N}s[$F] = (int)($i); __syncthreads();", "${N}s[$F]"),
    ("", "__shared__ int ${N}s; if ($F == 0) ${N}s = (int)($i); __syncthreads();", "${N}s"),
    ("", "__shared__ int ${N}s; if ($F == 0) ${N}s = 0; __syncthreads(); atomicAdd(&${N}s, 1); "
     "__syncthreads();", "${N}s"),
    ("", "int ${N}v = __syncthreads_count((int)($i) & 1);", "${N}v"),
    ("", "int ${N}v = __syncthreads_or((int)($i) == 70);", "${N}v"),
    ("", "__syncthreads();", "5"),
    ("warps", "int ${N}v = __shfl_xor_sync(0xffffffffu, (int)($i), 1);", "${N}v"),
    ("warps", "int ${N}v = __shfl_down_sync(0xffffffffu, (int)($i) * 3, 4);", "${N}v"),
    ("warps", "int ${N}v = __shfl_sync(0xffffffffu, (int)($i), 0);", "${N}v"),
    ("warps", "int ${N}v = __shfl_up_sync(0xffffffffu, (int)($i), 2, 8);", "${N}v"),
    ("warps", "int ${N}v = __popc(__ballot_sync(0xffffffffu, (int)($i) % 3 == 0));", "${N}v"),
    ("warps", "int ${N}v = __any_sync(0xffffffffu, (int)($i) == 40);", "${N}v"),
    ("warps", "int ${N}v = __all_sync(0xffffffffu, (int)($i) < 70);", "${N}v"),
    ("warps", "__syncwarp();", "6"),
    ("warps", 'unsigned ${N}v; asm volatile("mov.u32 %0, %%laneid;" : "=r"(${N}v));', "(int)${N}v"),
    ("", 'unsigned ${N}v; asm("mov.u32 %0, %%ntid.x;" : "=r"(${N}v));', "(int)${N}v"),
    ("", 'unsigned ${N}v; asm volatile("mov.u32 %0, %%tid.x;" : "=r"(${N}v));', "(int)${N}v"),
    ("", "long long ${N}v = clock64(); (void)${N}v;", "4"),
    ("", "long long ${N}v = clock64();", "(${N}v < 0)"),
)  # fmt: skip

_FLAT = "(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z))"
_SIZE = "(blockDim.x * blockDim.y * blockDim.z)"


def disguised(draw: Draw, dimension: str, variable: str, is_dependent: bool) -> Piece:
    """A value of the wanted kind, plain or behind one or two forms of the language."""
    other = draw.one([each for each in "xyz" if each != dimension])
    is_open = draw.chance(0.35)
    table = {
        (True, True): DEPENDENT_OPEN,
        (True, False): DEPENDENT,
        (False, True): INDEPENDENT_OPEN,
        (False, False): INDEPENDENT,
    }[is_dependent, is_open]
    text = f"({fill(draw.one(table), d=dimension, e=other)})"
    if not draw.has("hidden"):
        text = re.sub(r"\bq\b", f"(int){variable}", text)
        return Piece(f"int{text}", is_dependent=is_dependent)
    inner = hide(draw, Piece(text, is_dependent=is_dependent), variable)
    return inner if draw.chance(0.85) else _nested(draw, inner)


def _nested(draw: Draw, inner: Piece) -> Piece:
    """Another form around a piece."""
    outer = hide(draw, Piece("q"), inner.expression)
    statements = (*inner.statements, *outer.statements)
    helpers = (*inner.helpers, *outer.helpers)
    return Piece(outer.expression, statements, helpers, inner.needs, inner.is_dependent)


def together(draw: Draw, variable: str) -> Piece:
    """A value that threads of a block or warp make together."""
    need, statements, expression = draw.one(TOGETHER)
    names = {"N": draw.fresh("w"), "i": variable, "F": _FLAT, "S": _SIZE}
    return Piece(
        fill(expression, **names),
        lines(fill(statements, **names)),
        needs=frozenset((need,)) if need else frozenset[str](),
        is_dependent=True,
    )
