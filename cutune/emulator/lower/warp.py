"""Lowering of instructions of a whole warp or block: shuffles, votes, barriers, copies, matrices.

An asynchronous copy is made at once, so that commits and waits have no effect.

The machine multiplies matrices whatever their shape; what differs is which lane holds which
element. For `mma` PTX says it (manual, 9.7.14). For `wmma` it is left open, and element k of a
lane's registers is the one with the number (lane * elements per lane + k) modulo the size of the
matrix, row by row.
"""

from __future__ import annotations

import re

from cutune.emulator.lower.encoder import (
    GUARDED,
    NEGATED,
    NO_REGISTER,
    SHARED,
    FunctionEncoder,
    Lowering,
    elements,
    paired_names,
)
from cutune.emulator.lower.memory import space_of
from cutune.emulator.lower.opcodes import bits_type
from cutune.ptx.types import first_of

_EVERYONE = 0xFFFFFFFF
_REDUCTIONS = {"popc": 1, "and": 2, "or": 3}


def _lower_shuffle(encoder: FunctionEncoder) -> None:
    """`shfl.sync.mode.b32 d|p, a, b, c, membermask`."""
    mode = first_of(m for m in encoder.modifiers if m in ("up", "down", "bfly", "idx"))
    names = paired_names(encoder.operands[0])
    a, b, c = (encoder.source(text, "b32") for text in encoder.operands[1:4])
    d = encoder.destination(names[0], "b32")
    x = encoder.destination(names[1], "pred") if len(names) > 1 else NO_REGISTER
    encoder.emit(f"shfl_{mode}", d=d, a=a, b=b, c=c, x=x)


def _lower_vote(encoder: FunctionEncoder) -> None:
    """`vote.sync.mode.type d, {!}a, membermask`; without `.sync` all lanes are members."""
    mode = first_of(m for m in encoder.modifiers if m in ("all", "any", "uni", "ballot"))
    target, value, *members = encoder.operands
    kind = "b32" if mode == "ballot" else "pred"
    d, a = encoder.destination(target, kind), encoder.source(value.removeprefix("!"), "pred")
    b = encoder.source(members[0], "b32") if members else encoder.constant("b32", _EVERYONE)
    encoder.emit(f"vote_{mode}", d=d, a=a, b=b, flags=NEGATED * value.startswith("!"))


def _lower_match(encoder: FunctionEncoder) -> None:
    mode = "all" if "all" in encoder.modifiers else "any"
    kind = encoder.modifiers[-1]
    names = paired_names(encoder.operands[0])
    d = encoder.destination(names[0], "b32")
    a, b = encoder.source(encoder.operands[1], kind), encoder.source(encoder.operands[2], "b32")
    x = encoder.destination(names[1], "pred") if len(names) > 1 else NO_REGISTER
    encoder.emit(f"match_{mode}_{kind}", d=d, a=a, b=b, x=x)


def _lower_reduction(encoder: FunctionEncoder) -> None:
    """`redux.sync.op.type d, a, membermask`."""
    operation, kind = encoder.modifiers[-2:]
    if operation not in ("min", "max"):
        kind = bits_type(kind)
    target, value, members = encoder.operands
    slots = encoder.registers_of(kind, target, a=value)
    encoder.emit(f"redux_{operation}_{kind}", **slots, b=encoder.source(members, "b32"))


def lower_barrier(encoder: FunctionEncoder, resume: int) -> None:
    """Emit a barrier of the block or of the warp; the warp goes on at block `resume`."""
    modifiers, operands = encoder.modifiers, list(encoder.operands)
    if "warp" in modifiers:
        encoder.emit("warp_barrier", a=encoder.source(operands[0], "b32"), x=resume)
        return
    if "cluster" in modifiers:
        raise encoder.unsupported()
    everyone = encoder.constant("u32", 0)
    if "red" not in modifiers:
        number = encoder.source(operands[0], "u32")
        expected = encoder.source(operands[1], "u32") if len(operands) > 1 else everyone
        encoder.emit("barrier", a=number, b=expected, x=resume)
        return
    operation = first_of(m for m in modifiers if m in _REDUCTIONS)
    target, number_text, *rest = operands
    d = encoder.destination(target, "u32" if operation == "popc" else "pred")
    a = encoder.source(number_text, "u32")
    b = encoder.source(rest[0], "u32") if len(rest) > 1 else everyone
    c, flags = encoder.source(rest[-1], "pred"), _REDUCTIONS[operation] << 8
    encoder.emit("barrier", d=d, a=a, b=b, c=c, x=resume, flags=flags)


def _lower_copy(encoder: FunctionEncoder) -> None:
    """`cp.async [shared], [global], bytes{, bytes that are read}`; the rest becomes zeros."""
    modifiers, operands = encoder.modifiers, encoder.operands
    if {"commit_group", "wait_group", "wait_all"} & set(modifiers):
        return
    if "mbarrier" in modifiers:
        # All copies are done. Without `.noinc` one more is expected first, which evens out.
        if "noinc" in modifiers:
            _emit_arrival(encoder, operands[0], "1", "_", drop=False)
        return
    if "bulk" in modifiers or len(operands) not in (3, 4) or operands[2] not in ("4", "8", "16"):
        raise encoder.unsupported()
    size = int(operands[2])
    read = operands[3] if len(operands) > 3 else operands[2]
    if encoder.function.registers.get(read) == "pred":
        raise encoder.unsupported()
    words = [encoder.temporary("u32") for _ in range(size // 4)]
    # Places first: what computes them must not fall under the guard below.
    read_slot, read_offset = encoder.address_operand(operands[1], False)
    written_slot, written_offset = encoder.address_operand(operands[0], True)
    vector = f"v{len(words)}_" if len(words) > 1 else ""
    table = encoder.table(words) if vector else 0
    is_partial = read != operands[2]
    if is_partial:
        for word in words:
            encoder.emit("mov_b32", d=word, a=encoder.constant("u32", 0))
        whole = encoder.temporary("pred")
        encoder.emit("copies_all", d=whole, a=encoder.source(read, "u32"), imm=size)
        if encoder.instruction.guard:  # guards do not nest
            raise encoder.unsupported()
        encoder.emit("guard", a=whole, x=2)
    site = encoder.access("load", "global", size)
    read_fields = {"a": read_slot, "x": site, "flags": table | GUARDED * is_partial}
    encoder.emit(f"ld_global_{vector}b32", d=words[0], imm=read_offset, **read_fields)
    if is_partial:
        encoder.emit("unguard")
    fields = {"x": encoder.access("store", "shared", size), "flags": table | SHARED}
    encoder.emit(f"st_shared_{vector}b32", a=written_slot, b=words[0], imm=written_offset, **fields)


def _barrier_object(encoder: FunctionEncoder, text: str) -> dict[str, int]:
    """The fields of a record that name a barrier in shared memory."""
    space = space_of(encoder)
    if space not in ("shared", "generic"):
        raise encoder.unsupported()
    address, offset = encoder.address_operand(text, space == "shared")
    flags, access = SHARED * (space == "shared"), encoder.access("atomic", "shared", 8)
    return {"a": address, "x": access, "imm": offset, "flags": flags}


def _emit_arrival(
    encoder: FunctionEncoder, place: str, count: str, state: str, *, drop: bool
) -> None:
    encoder.emit(
        "mbarrier_arrive",
        d=NO_REGISTER if state == "_" else encoder.destination(state, "u64"),
        b=encoder.source(count, "u32"),
        c=encoder.constant("u32", int(drop)),
        **_barrier_object(encoder, place),
    )


def _lower_shared_barrier(encoder: FunctionEncoder) -> None:
    modifiers, operands = encoder.modifiers, encoder.operands
    operation = modifiers[0]
    if {"expect_tx", "complete_tx"} & set(modifiers):
        raise encoder.unsupported()
    if operation == "init":
        threads = encoder.source(operands[1], "u32")
        encoder.emit("mbarrier_init", b=threads, **_barrier_object(encoder, operands[0]))
    elif operation in ("arrive", "arrive_drop"):
        state, place, *count = operands if operands[0][0] != "[" else ("_", *operands)
        number = count[0] if count else "1"
        _emit_arrival(encoder, place, number, state, drop=operation == "arrive_drop")
    elif operation in ("test_wait", "try_wait"):
        parity = "parity" in modifiers
        encoder.emit(
            "mbarrier_test_parity" if parity else "mbarrier_test",
            d=encoder.destination(operands[0], "pred"),
            b=encoder.source(operands[2], "u32" if parity else "u64"),
            **_barrier_object(encoder, operands[1]),
        )
    elif operation == "pending_count":
        token = encoder.source(operands[1], "u64")
        encoder.emit("mbarrier_pending", d=encoder.destination(operands[0], "u32"), a=token)
    elif operation != "inval":
        raise encoder.unsupported()


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
    **dict.fromkeys(("f16", "bf16"), ("m16n8k8", "m16n8k16")),
    "tf32": ("m16n8k4", "m16n8k8"),
    "f64": ("m8n8k4",),
    **dict.fromkeys(("s8", "u8"), ("m8n8k16", "m16n8k16", "m16n8k32")),
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
    address, offset = encoder.address_operand(place, is_shared)
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
    is_shared = space_of(encoder) == "shared"
    slots = _slots(encoder, encoder.operands[0], "b32", write=True)
    site = encoder.access("load", "shared" if is_shared else "generic", 16)
    address, offset = encoder.address_operand(encoder.operands[1], is_shared)
    flags = encoder.table(["trans" in modifiers, len(slots), *slots]) | (SHARED if is_shared else 0)
    encoder.emit("matrix_load", a=address, x=site, imm=offset, flags=flags)


WARP_LOWERINGS: dict[str, Lowering] = {
    "shfl": _lower_shuffle,
    "vote": _lower_vote,
    "match": _lower_match,
    "redux": _lower_reduction,
    "activemask": lambda e: e.emit("activemask", d=e.destination(e.operands[0], "b32")),
    # `bar.arrive` does not wait; all other barriers end a block.
    **dict.fromkeys(
        ("bar", "barrier"), lambda e: e.emit("barrier_arrive", a=e.source(e.operands[0], "u32"))
    ),
    "cp": _lower_copy,
    "mbarrier": _lower_shared_barrier,
    "mma": _lower_product,
    "wmma": _lower_wmma,
    "ldmatrix": _lower_matrix_load,
}
