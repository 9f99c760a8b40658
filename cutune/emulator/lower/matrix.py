"""Lowering of matrix instructions of a warp: `mma`, `wmma` and `ldmatrix` (PTX manual, 9.7.14).

The machine multiplies matrices whatever their shape; what differs is which lane holds which
element. For `mma` PTX says it. For `wmma` it is left open, and element k of a lane's registers is
the one with the number (lane * elements per lane + k) modulo the size of the matrix, row by row.
"""

from __future__ import annotations

import re

from cutune.emulator.lower.encoder import SHARED, FunctionEncoder, Lowering, elements
from cutune.emulator.lower.memory import space_of

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)$")
#: As `enum Element` in machine_matrix.cpp, with bytes.
_ELEMENTS = {
    "f16": (0, 2),
    "bf16": (1, 2),
    "tf32": (2, 4),
    "f32": (3, 4),
    "f64": (4, 8),
    "s8": (5, 1),
    "u8": (6, 1),
    "s32": (7, 4),
}
#: Shapes of `mma` that follow the regular layout; m8n8k4 of f16 is Volta's own.
_MMA = {
    "f16": ("m16n8k8", "m16n8k16"),
    "bf16": ("m16n8k8", "m16n8k16"),
    "tf32": ("m16n8k4", "m16n8k8"),
    "f64": ("m8n8k4",),
    "s8": ("m8n8k16", "m16n8k16", "m16n8k32"),
    "u8": ("m8n8k16", "m16n8k16", "m16n8k32"),
}
_WMMA = {
    **dict.fromkeys(("f16", "bf16", "s8", "u8"), ("m16n16k16", "m32n8k16", "m8n32k16")),
    "tf32": ("m16n16k8",),
    "f64": ("m8n8k4",),
}
#: Modifiers of products that the machine lacks.
_UNSUPPORTED = frozenset(("b1", "s4", "u4", "xor", "and", "e4m3", "e5m2", "sp", "block_scale"))
_OWN_LAYOUT, _SATURATED, _COLUMNS, _STORE = 1, 2, 4, 8


def _shape(encoder: FunctionEncoder) -> tuple[str, list[int]]:
    for modifier in encoder.modifiers:
        if match := _SHAPE.match(modifier):
            return modifier, [int(number) for number in match.groups()]
    raise encoder.unsupported()


def _slots(encoder: FunctionEncoder, text: str, kind: str, write: bool) -> list[int]:
    lane = kind if kind in ("f32", "f64") else "b32"
    register = encoder.destination if write else encoder.source
    return [register(part, lane) for part in elements(text)]


def _lower_product(encoder: FunctionEncoder) -> None:
    """`mma.sync….shape.row.col.d.a.b.c d, a, b, c`, and `wmma.mma` whose f16 form omits a and b."""
    modifiers = encoder.modifiers
    is_wmma = encoder.opcode == "wmma"
    shape, sizes = _shape(encoder)
    kinds = [m for m in modifiers if m in _ELEMENTS]
    if is_wmma and len(kinds) == 2:
        kinds = [kinds[0], "f16", "f16", kinds[1]]
    if (
        len(kinds) != 4
        or not _UNSUPPORTED.isdisjoint(modifiers)
        or len(encoder.operands) != 4
        or shape not in (_WMMA if is_wmma else _MMA).get(kinds[1], ())
        or (kinds[1] != kinds[2] and not {*kinds[1:3]} <= {"s8", "u8"})
        or (not is_wmma and [m for m in modifiers if m in ("row", "col")] != ["row", "col"])
    ):
        raise encoder.unsupported()
    fragments = [
        _slots(encoder, text, kind, write=not index)
        for index, (text, kind) in enumerate(zip(encoder.operands, kinds, strict=True))
    ]
    table = [*sizes, _OWN_LAYOUT * is_wmma + _SATURATED * ("satfinite" in modifiers)]
    for kind, fragment in zip(kinds, fragments, strict=True):
        table += [_ELEMENTS[kind][0], len(fragment), *fragment]
    encoder.emit("matrix_multiply", flags=encoder.table(table))


def _lower_fragment(encoder: FunctionEncoder) -> None:
    """`wmma.load.{a,b,c}…layout.shape{.space}.type r, [p]{, stride}` and `wmma.store.d`."""
    modifiers, operands = encoder.modifiers, list(encoder.operands)
    shape, (m, n, k) = _shape(encoder)
    kind = modifiers[-1]
    if kind not in _ELEMENTS or not any(shape in shapes for shapes in _WMMA.values()):
        raise encoder.unsupported()
    rows, columns = {"a": (m, k), "b": (k, n)}.get(modifiers[1], (m, n))
    is_store = modifiers[0] == "store"
    place, values = operands[:2] if is_store else operands[1::-1]
    by_columns = "col" in modifiers
    is_shared = space_of(encoder) == "shared"
    base, offset = encoder.memory_operand(place)
    address = encoder.source(base, "u32" if is_shared else "u64")
    if len(operands) > 2:
        stride = encoder.source(operands[2], "u32")
    else:
        stride = encoder.constant("u32", rows if by_columns else columns)
    slots = _slots(encoder, values, kind, write=not is_store)
    number, size = _ELEMENTS[kind]
    site = encoder.access("store" if is_store else "load", space_of(encoder), size)
    flags = _COLUMNS * by_columns + _STORE * is_store
    table = encoder.table([rows, columns, number, flags, len(slots), *slots])
    flags = table | (SHARED if is_shared else 0)
    encoder.emit("matrix_fragment", a=address, b=stride, x=site, imm=offset, flags=flags)


def _lower_wmma(encoder: FunctionEncoder) -> None:
    if encoder.modifiers[:1] == ("mma",):
        _lower_product(encoder)
    elif encoder.modifiers[:1] in (("load",), ("store",)):
        _lower_fragment(encoder)
    else:
        raise encoder.unsupported()


def _lower_matrix_load(encoder: FunctionEncoder) -> None:
    """`ldmatrix.sync.aligned.m8n8.x4{.trans}.shared.b16 {r…}, [p]`."""
    modifiers = encoder.modifiers
    if "m8n8" not in modifiers or modifiers[-1] != "b16":
        raise encoder.unsupported()
    base, offset = encoder.memory_operand(encoder.operands[1])
    is_shared = space_of(encoder) == "shared"
    slots = _slots(encoder, encoder.operands[0], "b32", write=True)
    site = encoder.access("load", "shared" if is_shared else "generic", 16)
    address = encoder.source(base, "u32" if is_shared else "u64")
    table = encoder.table(["trans" in modifiers, len(slots), *slots])
    flags = table | (SHARED if is_shared else 0)
    encoder.emit("matrix_load", a=address, x=site, imm=offset, flags=flags)


MATRIX_LOWERINGS: dict[str, Lowering] = {
    "mma": _lower_product,
    "wmma": _lower_wmma,
    "ldmatrix": _lower_matrix_load,
}
