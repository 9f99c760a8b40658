"""Thread ids in all shapes: proper ones, which every block gives alike, and others.

Takes a dimension, gives statements that define a variable and its expression; different threads of
the original's launch always have different values, so that what they store does not race.
"""

from __future__ import annotations

from tests.soundness.draws import Draw, Piece, fill, lines
from tests.soundness.hiding import hide

TYPES = ("int", "unsigned", "size_t", "long long", "short", "unsigned short", "const int", "auto")

PLAIN = "int $i = blockIdx.$d * blockDim.$d + threadIdx.$d;"
#: $i the variable, $d the dimension, $T a type, $N a fresh name. Any block gives the same ids.
PROPER = (
    "$T $i = blockIdx.$d * blockDim.$d + threadIdx.$d;",
    "$T $i = blockIdx.$d * blockDim.$d + threadIdx.$d;",
    "$T $i = threadIdx.$d + blockDim.$d * blockIdx.$d;",
    "const $U $i = threadIdx.$d + blockDim.$d * blockIdx.$d;",
    "$U $i = ($U)blockIdx.$d * ($U)blockDim.$d + ($U)threadIdx.$d;",
    "$U $i = (size_t)blockIdx.$d * blockDim.$d + threadIdx.$d;",
    "$U $i = (long long)blockDim.$d * blockIdx.$d + threadIdx.$d;",
    "int $i = __umul24(blockIdx.$d, blockDim.$d) + threadIdx.$d;",
    "int $i = __mul24(blockIdx.$d, blockDim.$d) + threadIdx.$d;",
    "const int ${N}b = blockIdx.$d; const int ${N}s = blockDim.$d;\n"
    "$U $i = ${N}b * ${N}s; $i += threadIdx.$d;",
    "$U $i = threadIdx.$d; $i += blockIdx.$d * blockDim.$d;",
    "$U $i = blockIdx.$d;\n$i *= blockDim.$d;\n$i += threadIdx.$d;",
    "$U $i;\n$i = blockIdx.$d * blockDim.$d;\n$i = $i + threadIdx.$d;",
    "dim3 ${N}t = threadIdx, ${N}b = blockIdx;\n$U $i = ${N}b.$d * blockDim.$d + ${N}t.$d;",
    "const uint3 &${N}t = threadIdx;\n$U $i = blockIdx.$d * blockDim.$d + ${N}t.$d;",
    "unsigned ${N}t, ${N}b;\n"
    'asm("mov.u32 %0, %%tid.$d;" : "=r"(${N}t));\nasm("mov.u32 %0, %%ctaid.$d;" : "=r"(${N}b));\n'
    "$U $i = ${N}b * blockDim.$d + ${N}t;",
    "int $i = (int)((float)blockIdx.$d * (float)blockDim.$d + (float)threadIdx.$d);",
    "int $i = (int)((double)blockIdx.$d * blockDim.$d) + threadIdx.$d;",
    "int $i = (int)fma((double)blockIdx.$d, (double)blockDim.$d, (double)threadIdx.$d);",
    "$U $i = gridDim.$d * blockDim.$d - 1 - (blockIdx.$d * blockDim.$d + threadIdx.$d);",
    "$U $i = (gridDim.$d - 1 - blockIdx.$d) * blockDim.$d + (blockDim.$d - 1 - threadIdx.$d);",
    "$U $i = 2 * (blockIdx.$d * blockDim.$d + threadIdx.$d) / 2;",
    "$U $i = (blockIdx.$d * blockDim.$d * 4 + threadIdx.$d * 4) >> 2;",
    "$U $i = (unsigned char)0 + blockIdx.$d * (unsigned short)blockDim.$d + threadIdx.$d;",
    "$U $i = blockIdx.$d * (blockDim.$d + 3) + threadIdx.$d - 3 * blockIdx.$d;",
    "$U $i = (blockIdx.$d + 1) * blockDim.$d + threadIdx.$d - blockDim.$d;",
    "$U $i = (blockIdx.$d * blockDim.$d) | 0; $i += threadIdx.$d & 2047;",
    "$U $i = 0; for (unsigned ${N}k = 0; ${N}k < blockIdx.$d; ++${N}k) $i += blockDim.$d;\n"
    "$i += threadIdx.$d;",
    "$U $i = blockIdx.$d == 0 ? threadIdx.$d : blockIdx.$d * blockDim.$d + threadIdx.$d;",
    "struct { int id, other; } ${N}s = {(int)(blockIdx.$d * blockDim.$d + threadIdx.$d), 3};\n"
    "$U $i = ${N}s.id;",
    "int ${N}a[2]; ${N}a[0] = blockIdx.$d * blockDim.$d; ${N}a[1] = threadIdx.$d;\n"
    "$U $i = ${N}a[0] + ${N}a[1];",
)

#: Proper, but not the numbers from 0 to the last thread.
MOVED = (
    "$U $i = 2 * blockIdx.$d * blockDim.$d + 2 * threadIdx.$d;",
    "$U $i = (blockIdx.$d * blockDim.$d + threadIdx.$d) ^ 1;",
    "$U $i = (blockIdx.$d * blockDim.$d + threadIdx.$d) + 5;",
    "$U $i = 3 * (blockIdx.$d * blockDim.$d + threadIdx.$d) / 2;",
    "$U $i = (blockIdx.$d * blockDim.$d + 1) * 2 + threadIdx.$d * 2;",
)

#: (needs, form): ids that differ among threads of the original, but follow the block.
IMPROPER = (
    ("", "$U $i = threadIdx.$d * gridDim.$d + blockIdx.$d;"),
    ("", "$U $i = blockIdx.$d * blockDim.$d + (blockDim.$d - 1 - threadIdx.$d);"),
    ("", "$U $i = (gridDim.$d - 1 - blockIdx.$d) * blockDim.$d + threadIdx.$d;"),
    ("", "$U $i = blockIdx.$d * blockDim.$d * 2 + threadIdx.$d;"),
    ("", "$U $i = blockIdx.$d * (blockDim.$d + 1) + threadIdx.$d;"),
    ("", "$U $i = (blockIdx.$d + 1) * blockDim.$d + threadIdx.$d;"),
    ("", "$U $i = blockIdx.$d * blockDim.$d + threadIdx.$d + blockDim.$d;"),
    ("", "$U $i = blockIdx.$d * blockDim.$d + threadIdx.$d + gridDim.$d;"),
    ("", "$U $i = blockDim.$d + blockIdx.$d * blockDim.$d + threadIdx.$d + 2;"),
    ("", "$U $i = blockIdx.$d * blockDim.$d + (threadIdx.$d + 1) % blockDim.$d;"),
    ("", "$U $i = blockIdx.$d * blockDim.$d + (blockIdx.$d + threadIdx.$d) % blockDim.$d;"),
    ("even", "$U $i = blockIdx.$d * blockDim.$d + (threadIdx.$d ^ 1);"),
    ("even", "$U $i = blockIdx.$d * (blockDim.$d / 2) * 2 + threadIdx.$d;"),
    ("even", "$U $i = (blockIdx.$d * blockDim.$d | 1) - 1 + threadIdx.$d;"),
    ("warps", "$U $i = ((blockIdx.$d * blockDim.$d) & ~31u) + threadIdx.$d;"),
    ("x=64", "$U $i = blockIdx.$d * 64 + threadIdx.$d;"),
    ("x=32", "$U $i = (blockIdx.$d << 5) + threadIdx.$d;"),
    ("x=128", "$U $i = (blockIdx.$d << 7) | threadIdx.$d;"),
    ("x=100", "const int ${N}B = 100; $U $i = blockIdx.$d * ${N}B + threadIdx.$d;"),
    ("x=256", "$U $i = blockIdx.$d * (sizeof(long) * 32) + threadIdx.$d;"),
    ("square", "$U $i = blockIdx.$d * blockDim.$e + threadIdx.$d;"),
    ("x=64", "$U $i = blockIdx.$d * (blockDim.$d < 65 ? 64 : 70) + threadIdx.$d;"),
)

#: (needs, helper, form): a constant stands for the block, and perhaps for something else, too.
CONSTANT = (
    ("x=64", "static const int ${N}B = 64;", "$U $i = blockIdx.$d * ${N}B + threadIdx.$d;"),
    ("x=64", "#define ${N}B 64", "$U $i = ${N}B * blockIdx.$d + threadIdx.$d;"),
    ("x=100", "#define ${N}B (4 * 25)", "$U $i = blockIdx.$d * ${N}B + threadIdx.$d;"),
    ("x=32", "constexpr unsigned ${N}B = 32;",
     "const int ${N}b = blockIdx.$d;\n$U $i = ${N}b * ${N}B + threadIdx.$d;"),
    ("x=128", "enum { ${N}A = 3, ${N}B = 128 };",
     "$U $i = threadIdx.$d + ${N}B * blockIdx.$d; $i += ${N}B; $i -= 128;"),
    ("x=256", "static const int ${N}B = 256;",
     "$U $i = blockIdx.$d * ${N}B + threadIdx.$d + (${N}B - 256);"),
    ("x=64", "static const int ${N}B = 64;",
     "$U $i = blockIdx.$d * ${N}B + threadIdx.$d; if (${N}B < 64) $i += 1;"),
    ("x=64", "static const int ${N}B = 64, ${N}W = 32;",
     "$U $i = blockIdx.$d * ${N}B + threadIdx.$d; $i += ${N}W + ${N}W - ${N}B;"),
    ("x=32", "static const int ${N}B = 32;",
     "$U $i = blockIdx.$d * ${N}B + threadIdx.$d % ${N}B;"),
    ("x=64", "template <int B> __device__ int ${N}f() { return blockIdx.x * B + threadIdx.x; }",
     "$U $i = ${N}f<64>();"),
    ("x=64", "", "$U $i = blockIdx.$d * 64 + threadIdx.$d; $i = 64 * $i / 64;"),
    ("x=128", "", "for (int ${N}k = 0; ${N}k < 128 * 1; ${N}k += 128);\n"
     "$U $i = 128 * blockIdx.$d + threadIdx.$d;"),
)  # fmt: skip

_UNTYPED = ("int", "unsigned", "size_t", "long long")


def proper_id(draw: Draw, dimension: str, variable: str, is_exact: bool) -> Piece:
    """An id that is the same with any block, now and then hidden; exact: 0 to the last thread."""
    if draw.has("hidden id", 0.7):
        return _hidden_id(draw, dimension, variable)
    if not draw.has("id"):
        return _of(draw, PLAIN, dimension, variable)
    form = draw.one(MOVED if not is_exact and draw.chance(0.15) else PROPER)
    return _of(draw, form, dimension, variable)


def improper_id(draw: Draw, dimension: str, variable: str, dimensions: int) -> Piece:
    """An id that follows the block; its needs tell what the launch must be."""
    options = [each for each in IMPROPER if each[0] != "square" or dimensions == 2]
    if dimension != "x" or dimensions > 1:
        options = [each for each in options if each[0] in ("", "even", "square")]
    need, form = draw.one(options)
    piece = _of(draw, form, dimension, variable)
    own = frozenset((need,)) if need else frozenset[str]()
    return Piece(variable, piece.statements, piece.helpers, own, True)


def constant_id(draw: Draw, variable: str) -> Piece:
    """An id in x with a constant for the block; its needs tell what the launch must be."""
    need, helper, form = draw.one(CONSTANT)
    name = draw.fresh("c")
    statements = lines(fill(form, U=draw.one(_UNTYPED), i=variable, d="x", N=name))
    helpers = (fill(helper, N=name),) if helper else ()
    return Piece(variable, statements, helpers, frozenset((need,)), True)


def _of(draw: Draw, form: str, dimension: str, variable: str) -> Piece:
    names = {
        "T": draw.one(TYPES),
        "U": draw.weighted([(5, "int"), (1, draw.one(_UNTYPED))]),
        "i": variable,
        "d": dimension,
        "e": "y" if dimension == "x" else "x",
        "N": draw.fresh("t"),
    }
    text = fill(form, **names)
    return Piece(variable, lines(text))


def _hidden_id(draw: Draw, dimension: str, variable: str) -> Piece:
    """The id, or its two parts, behind forms of the language."""
    d = dimension
    product = f"blockIdx.{d} * blockDim.{d}"
    kind = draw.number(0, 4)
    if kind == 0:
        parts = [hide(draw, Piece(product)), Piece(f"(int)threadIdx.{d}")]
    elif kind == 1:
        parts = [Piece(f"(int)({product})"), hide(draw, Piece(f"threadIdx.{d}"))]
    elif kind == 2:
        inner = hide(draw, Piece("q * blockDim." + d), f"blockIdx.{d}")
        parts = [inner, Piece(f"(int)threadIdx.{d}")]
    elif kind == 3:
        parts = [hide(draw, Piece(f"q + threadIdx.{d}"), product)]
    else:
        parts = [hide(draw, Piece(f"{product} + threadIdx.{d}"))]
    total = " + ".join(part.expression for part in parts)
    statements = tuple(line for part in parts for line in part.statements)
    helpers = tuple(line for part in parts for line in part.helpers)
    declared = draw.one(("int", "const int", "unsigned", "long long"))
    return Piece(variable, (*statements, f"{declared} {variable} = {total};"), helpers)
