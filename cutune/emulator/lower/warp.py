"""Lowering of instructions of a whole warp or block: shuffles, votes, barriers, copies.

An asynchronous copy is made at once, so that commits and waits have no effect.
"""

from __future__ import annotations

from cutune.emulator.lower.encoder import (
    NEGATED,
    NO_REGISTER,
    FunctionEncoder,
    Lowering,
    paired_names,
)
from cutune.emulator.lower.opcodes import bits_type
from cutune.emulator.ptx.types import first_of

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
