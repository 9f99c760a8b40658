"""Lowering of instructions of a whole warp or block: shuffles, votes, barriers, copies.

An asynchronous copy is made at once, so that commits and waits have no effect.
"""

from __future__ import annotations

from cutune.emulator.lower.encoder import (
    GUARDED,
    NEGATED,
    NO_REGISTER,
    SHARED,
    FunctionEncoder,
    Lowering,
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
    encoder.emit(
        f"shfl_{mode}",
        d=encoder.destination(names[0], "b32"),
        a=a,
        b=b,
        c=c,
        x=encoder.destination(names[1], "pred") if len(names) > 1 else NO_REGISTER,
    )


def _lower_vote(encoder: FunctionEncoder) -> None:
    """`vote.sync.mode.type d, {!}a, membermask`; without `.sync` all lanes are members."""
    mode = first_of(m for m in encoder.modifiers if m in ("all", "any", "uni", "ballot"))
    target, value, *members = encoder.operands
    kind = "b32" if mode == "ballot" else "pred"
    encoder.emit(
        f"vote_{mode}",
        d=encoder.destination(target, kind),
        a=encoder.source(value.removeprefix("!"), "pred"),
        b=encoder.source(members[0], "b32") if members else encoder.constant("b32", _EVERYONE),
        flags=NEGATED if value.startswith("!") else 0,
    )


def _lower_match(encoder: FunctionEncoder) -> None:
    mode = "all" if "all" in encoder.modifiers else "any"
    kind = encoder.modifiers[-1]
    names = paired_names(encoder.operands[0])
    encoder.emit(
        f"match_{mode}_{kind}",
        d=encoder.destination(names[0], "b32"),
        a=encoder.source(encoder.operands[1], kind),
        b=encoder.source(encoder.operands[2], "b32"),
        x=encoder.destination(names[1], "pred") if len(names) > 1 else NO_REGISTER,
    )


def _lower_reduction(encoder: FunctionEncoder) -> None:
    """`redux.sync.op.type d, a, membermask`."""
    operation, kind = encoder.modifiers[-2:]
    if operation not in ("min", "max"):
        kind = bits_type(kind)
    target, value, members = encoder.operands
    slots = encoder.registers_of(kind, target, a=value)
    encoder.emit(f"redux_{operation}_{kind}", **slots, b=encoder.source(members, "b32"))


def _lower_active_mask(encoder: FunctionEncoder) -> None:
    encoder.emit("activemask", d=encoder.destination(encoder.operands[0], "b32"))


def _lower_arrival(encoder: FunctionEncoder) -> None:
    """`bar.arrive` does not wait; all other barriers end a block."""
    encoder.emit("barrier_arrive", a=encoder.source(encoder.operands[0], "u32"))


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
    encoder.emit(
        "barrier",
        d=encoder.destination(target, "u32" if operation == "popc" else "pred"),
        a=encoder.source(number_text, "u32"),
        b=encoder.source(rest[0], "u32") if len(rest) > 1 else everyone,
        c=encoder.source(rest[-1], "pred"),
        x=resume,
        flags=_REDUCTIONS[operation] << 8,
    )


WARP_LOWERINGS: dict[str, Lowering] = {
    "shfl": _lower_shuffle,
    "vote": _lower_vote,
    "match": _lower_match,
    "redux": _lower_reduction,
    "activemask": _lower_active_mask,
    "bar": _lower_arrival,
    "barrier": _lower_arrival,
}


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
