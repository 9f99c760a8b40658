"""Lowering of asynchronous copies and of barriers in shared memory.

A copy is made at once, so commits and waits have no effect.
"""

from __future__ import annotations

from cutune.emulator.lower.encoder import (
    GUARDED,
    NO_REGISTER,
    SHARED,
    FunctionEncoder,
    Lowering,
)
from cutune.emulator.lower.memory import space_of


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
    if encoder.is_register(read) and encoder.register_type(read) == "pred":
        raise encoder.unsupported()
    words = [encoder.temporary("u32") for _ in range(size // 4)]
    # Places first: what computes them must not fall under the guard below.
    base, read_offset = encoder.memory_operand(operands[1])
    read_slot = encoder.source(base, "u64")
    base, written_offset = encoder.memory_operand(operands[0])
    written_slot = encoder.source(base, "u32")
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
    first, site = words[0], encoder.access("load", "global", size)
    flags = table | GUARDED if is_partial else table
    name = f"ld_global_{vector}b32"
    encoder.emit(name, d=first, a=read_slot, x=site, flags=flags, imm=read_offset)
    if is_partial:
        encoder.emit("unguard")
    flags, site = table | SHARED, encoder.access("store", "shared", size)
    name = f"st_shared_{vector}b32"
    encoder.emit(name, a=written_slot, b=first, x=site, flags=flags, imm=written_offset)


def _barrier_object(encoder: FunctionEncoder, text: str) -> dict[str, int]:
    """The fields of a record that name a barrier in shared memory."""
    space = space_of(encoder)
    if space not in ("shared", "generic"):
        raise encoder.unsupported()
    base, offset = encoder.memory_operand(text)
    return {
        "a": encoder.source(base, "u32" if space == "shared" else "u64"),
        "x": encoder.access("atomic", "shared", 8),
        "imm": offset,
        "flags": SHARED if space == "shared" else 0,
    }


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


ASYNCHRONOUS_LOWERINGS: dict[str, Lowering] = {"cp": _lower_copy, "mbarrier": _lower_shared_barrier}
