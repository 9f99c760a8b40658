"""Lowering of asynchronous copies and of barriers in shared memory.

A copy is made at once, so commits and waits have no effect.
"""

from __future__ import annotations

from collections.abc import Callable

from cutune.emulator.lower.encoder import GUARDED, NO_REGISTER, SHARED, Access, FunctionEncoder
from cutune.emulator.lower.memory import space_of
from cutune.emulator.ptx.types import Instruction


def _site(encoder: FunctionEncoder, kind: str, space: str, size: int) -> int:
    at = encoder.instruction
    assert at is not None
    guarded = bool(at.guard)
    return encoder.symbols.site(Access(kind, space, size, guarded, at.line))


def _copy(encoder: FunctionEncoder, instruction: Instruction) -> None:
    """`cp.async [shared], [global], bytes{, bytes that are read}`; the rest becomes zeros."""
    modifiers, operands = instruction.modifiers, instruction.operands
    if {"commit_group", "wait_group", "wait_all"} & set(modifiers):
        return
    if "mbarrier" in modifiers:
        _copy_arrives(encoder, instruction)
        return
    if "bulk" in modifiers or len(operands) not in (3, 4) or operands[2] not in ("4", "8", "16"):
        raise encoder.unsupported()
    size = int(operands[2])
    read = operands[3] if len(operands) > 3 else operands[2]
    if encoder.is_register(read) and encoder.register_type(read) == "pred":
        raise encoder.unsupported()
    words = [encoder.temporary("u32") for _ in range(size // 4)]
    # Places first: what computes them must not fall under the guard below.
    places = {}
    for kind, space, text in (("ld", "global", operands[1]), ("st", "shared", operands[0])):
        base, offset = encoder.memory_operand(text)
        places[kind] = encoder.source(base, "u32" if space == "shared" else "u64"), offset
    vector = f"v{len(words)}_" if len(words) > 1 else ""
    table = encoder.table(words) if vector else 0
    guard = None
    if read != operands[2]:
        for word in words:
            encoder.emit("mov_b32", d=word, a=encoder.constant("u32", 0))
        whole = encoder.temporary("pred")
        encoder.emit("copies_all", d=whole, a=encoder.source(read, "u32"), imm=size)
        if instruction.guard:  # guards do not nest
            raise encoder.unsupported()
        guard = encoder.emit("guard", a=whole)
        guard.x = 2
    slot, offset = places["ld"]
    load = encoder.emit(
        f"ld_global_{vector}b32",
        d=words[0],
        a=slot,
        x=_site(encoder, "load", "global", size),
        flags=table,
        imm=offset,
    )
    if guard is not None:
        load.flags |= GUARDED
        encoder.emit("unguard")
    slot, offset = places["st"]
    encoder.emit(
        f"st_shared_{vector}b32",
        a=slot,
        b=words[0],
        x=_site(encoder, "store", "shared", size),
        flags=table | SHARED,
        imm=offset,
    )


def _copy_arrives(encoder: FunctionEncoder, instruction: Instruction) -> None:
    """All copies are done. Without `.noinc` one more is expected first, which evens out."""
    if "noinc" in instruction.modifiers:
        _arrive(encoder, instruction.operands[0], "1", "_", drop=False)


def _object(encoder: FunctionEncoder, text: str) -> dict[str, int]:
    at = encoder.instruction
    assert at is not None
    space = space_of(at)
    if space not in ("shared", "generic"):
        raise encoder.unsupported()
    base, offset = encoder.memory_operand(text)
    return {
        "a": encoder.source(base, "u32" if space == "shared" else "u64"),
        "x": _site(encoder, "atomic", "shared", 8),
        "imm": offset,
        "flags": SHARED if space == "shared" else 0,
    }


def _arrive(encoder: FunctionEncoder, place: str, count: str, state: str, *, drop: bool) -> None:
    encoder.emit(
        "mbarrier_arrive",
        d=NO_REGISTER if state == "_" else encoder.destination(state, "u64"),
        b=encoder.source(count, "u32"),
        c=encoder.constant("u32", int(drop)),
        **_object(encoder, place),
    )


def _barrier(encoder: FunctionEncoder, instruction: Instruction) -> None:
    modifiers, operands = instruction.modifiers, instruction.operands
    what = modifiers[0]
    if {"expect_tx", "complete_tx"} & set(modifiers):
        raise encoder.unsupported()
    if what == "init":
        threads = encoder.source(operands[1], "u32")
        encoder.emit("mbarrier_init", b=threads, **_object(encoder, operands[0]))
    elif what in ("arrive", "arrive_drop"):
        named = operands if operands[0][0] != "[" else ("_", *operands)
        count = named[2] if len(named) > 2 else "1"
        _arrive(encoder, named[1], count, named[0], drop=what == "arrive_drop")
    elif what in ("test_wait", "try_wait"):
        parity = "parity" in modifiers
        encoder.emit(
            "mbarrier_test_parity" if parity else "mbarrier_test",
            d=encoder.destination(operands[0], "pred"),
            b=encoder.source(operands[2], "u32" if parity else "u64"),
            **_object(encoder, operands[1]),
        )
    elif what == "pending_count":
        token = encoder.source(operands[1], "u64")
        encoder.emit("mbarrier_pending", d=encoder.destination(operands[0], "u32"), a=token)
    elif what != "inval":
        raise encoder.unsupported()


LOWERINGS: dict[str, Callable[[FunctionEncoder, Instruction], None]] = {
    "cp": _copy,
    "mbarrier": _barrier,
}
