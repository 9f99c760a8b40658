"""Lowering of asynchronous copies and of barriers in shared memory.

A copy happens at once, so that commits and waits have nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable

from cutune.emulator.lower.encoder import GUARDED, NO_REGISTER, SHARED, Access, Emitter
from cutune.emulator.lower.memory import space_of
from cutune.emulator.ptx.types import Instruction


def _site(emitter: Emitter, kind: str, space: str, size: int) -> int:
    at = emitter.instruction
    assert at is not None
    guarded = bool(at.guard)
    return emitter.symbols.site(Access(kind, space, size, guarded, at.line))


def _copy(emitter: Emitter, instruction: Instruction) -> None:
    """`cp.async [shared], [global], bytes{, bytes that are read}`; the rest becomes zeros."""
    modifiers, operands = instruction.modifiers, instruction.operands
    if {"commit_group", "wait_group", "wait_all"} & set(modifiers):
        return
    if "mbarrier" in modifiers:
        _copy_arrives(emitter, instruction)
        return
    if "bulk" in modifiers or len(operands) not in (3, 4) or operands[2] not in ("4", "8", "16"):
        raise emitter.unsupported()
    size = int(operands[2])
    read = operands[3] if len(operands) > 3 else operands[2]
    if emitter.is_register(read) and emitter.register_type(read) == "pred":
        raise emitter.unsupported()
    words = [emitter.temporary("u32") for _ in range(size // 4)]
    # Places first: what computes them must not fall under the guard below.
    places = {}
    for kind, space, text in (("ld", "global", operands[1]), ("st", "shared", operands[0])):
        base, offset = emitter.memory_operand(text)
        places[kind] = emitter.source(base, "u32" if space == "shared" else "u64"), offset
    vector = f"v{len(words)}_" if len(words) > 1 else ""
    table = emitter.table(words) if vector else 0
    guard = None
    if read != operands[2]:
        for word in words:
            emitter.emit("mov_b32", d=word, a=emitter.constant("u32", 0))
        whole = emitter.temporary("pred")
        emitter.emit("copies_all", d=whole, a=emitter.source(read, "u32"), imm=size)
        if instruction.guard:  # guards do not nest
            raise emitter.unsupported()
        guard = emitter.emit("guard", a=whole)
        guard.x = 2
    slot, offset = places["ld"]
    load = emitter.emit(
        f"ld_global_{vector}b32",
        d=words[0],
        a=slot,
        x=_site(emitter, "load", "global", size),
        flags=table,
        imm=offset,
    )
    if guard is not None:
        load.flags |= GUARDED
        emitter.emit("unguard")
    slot, offset = places["st"]
    emitter.emit(
        f"st_shared_{vector}b32",
        a=slot,
        b=words[0],
        x=_site(emitter, "store", "shared", size),
        flags=table | SHARED,
        imm=offset,
    )


def _copy_arrives(emitter: Emitter, instruction: Instruction) -> None:
    """All copies are done. Without `.noinc` one more is expected first, which evens out."""
    if "noinc" in instruction.modifiers:
        _arrive(emitter, instruction.operands[0], "1", "_", drop=False)


def _object(emitter: Emitter, text: str) -> dict[str, int]:
    at = emitter.instruction
    assert at is not None
    space = space_of(at)
    if space not in ("shared", "generic"):
        raise emitter.unsupported()
    base, offset = emitter.memory_operand(text)
    return {
        "a": emitter.source(base, "u32" if space == "shared" else "u64"),
        "x": _site(emitter, "atomic", "shared", 8),
        "imm": offset,
        "flags": SHARED if space == "shared" else 0,
    }


def _arrive(emitter: Emitter, place: str, count: str, state: str, *, drop: bool) -> None:
    emitter.emit(
        "mbarrier_arrive",
        d=NO_REGISTER if state == "_" else emitter.destination(state, "u64"),
        b=emitter.source(count, "u32"),
        c=emitter.constant("u32", int(drop)),
        **_object(emitter, place),
    )


def _barrier(emitter: Emitter, instruction: Instruction) -> None:
    modifiers, operands = instruction.modifiers, instruction.operands
    what = modifiers[0]
    if {"expect_tx", "complete_tx"} & set(modifiers):
        raise emitter.unsupported()
    if what == "init":
        threads = emitter.source(operands[1], "u32")
        emitter.emit("mbarrier_init", b=threads, **_object(emitter, operands[0]))
    elif what in ("arrive", "arrive_drop"):
        named = operands if operands[0][0] != "[" else ("_", *operands)
        count = named[2] if len(named) > 2 else "1"
        _arrive(emitter, named[1], count, named[0], drop=what == "arrive_drop")
    elif what in ("test_wait", "try_wait"):
        parity = "parity" in modifiers
        emitter.emit(
            "mbarrier_test_parity" if parity else "mbarrier_test",
            d=emitter.destination(operands[0], "pred"),
            b=emitter.source(operands[2], "u32" if parity else "u64"),
            **_object(emitter, operands[1]),
        )
    elif what == "pending_count":
        token = emitter.source(operands[1], "u64")
        emitter.emit("mbarrier_pending", d=emitter.destination(operands[0], "u32"), a=token)
    elif what != "inval":
        raise emitter.unsupported()


LOWERINGS: dict[str, Callable[[Emitter, Instruction], None]] = {
    "cp": _copy,
    "mbarrier": _barrier,
}
