"""Lowering of what the lanes of a warp or the threads of a block do together."""

from __future__ import annotations

from collections.abc import Callable

from cutune.emulator.lower.encoder import NEGATED, NO_REGISTER, Emitter
from cutune.emulator.lower.opcodes import bits_type
from cutune.emulator.ptx.types import Instruction

_EVERYONE = 0xFFFFFFFF
_REDUCTIONS = {"popc": 1, "and": 2, "or": 3}


def _shuffle(emitter: Emitter, instruction: Instruction) -> None:
    """`shfl.sync.mode.b32 d|p, a, b, c, membermask`."""
    mode = next(m for m in instruction.modifiers if m in ("up", "down", "bfly", "idx"))
    names = [name.strip() for name in instruction.operands[0].split("|")]
    a, b, c = (emitter.source(text, "b32") for text in instruction.operands[1:4])
    emitter.emit(
        f"shfl_{mode}",
        d=emitter.destination(names[0], "b32"),
        a=a,
        b=b,
        c=c,
        x=emitter.destination(names[1], "pred") if len(names) > 1 else NO_REGISTER,
    )


def _vote(emitter: Emitter, instruction: Instruction) -> None:
    """`vote.sync.mode.type d, {!}a, membermask`; without `.sync` all lanes are members."""
    mode = next(m for m in instruction.modifiers if m in ("all", "any", "uni", "ballot"))
    target, value, *members = instruction.operands
    kind = "b32" if mode == "ballot" else "pred"
    emitter.emit(
        f"vote_{mode}",
        d=emitter.destination(target, kind),
        a=emitter.source(value.removeprefix("!"), "pred"),
        b=emitter.source(members[0], "b32") if members else emitter.constant("b32", _EVERYONE),
        flags=NEGATED if value.startswith("!") else 0,
    )


def _match(emitter: Emitter, instruction: Instruction) -> None:
    mode = "all" if "all" in instruction.modifiers else "any"
    kind = instruction.modifiers[-1]
    names = [name.strip() for name in instruction.operands[0].split("|")]
    emitter.emit(
        f"match_{mode}_{kind}",
        d=emitter.destination(names[0], "b32"),
        a=emitter.source(instruction.operands[1], kind),
        b=emitter.source(instruction.operands[2], "b32"),
        x=emitter.destination(names[1], "pred") if len(names) > 1 else NO_REGISTER,
    )


def _reduce(emitter: Emitter, instruction: Instruction) -> None:
    """`redux.sync.op.type d, a, membermask`."""
    operation, kind = instruction.modifiers[-2:]
    if operation not in ("min", "max"):
        kind = bits_type(kind)
    target, value, members = instruction.operands
    emitter.emit(
        f"redux_{operation}_{kind}",
        d=emitter.destination(target, kind),
        a=emitter.source(value, kind),
        b=emitter.source(members, "b32"),
    )


def _active_mask(emitter: Emitter, instruction: Instruction) -> None:
    emitter.emit("activemask", d=emitter.destination(instruction.operands[0], "b32"))


def _arrive(emitter: Emitter, instruction: Instruction) -> None:
    """`bar.arrive` does not wait; all other barriers end a block."""
    emitter.emit("barrier_arrive", a=emitter.source(instruction.operands[0], "u32"))


def barrier(emitter: Emitter, instruction: Instruction, resume: int) -> None:
    """Emit a barrier of the block or of the warp; the warp goes on at block `resume`."""
    emitter.begin(instruction)
    modifiers, operands = instruction.modifiers, list(instruction.operands)
    if "warp" in modifiers:
        emitter.emit("warp_barrier", a=emitter.source(operands[0], "b32"), x=resume)
        return
    if "cluster" in modifiers:
        raise emitter.unsupported()
    everyone = emitter.constant("u32", 0)
    if "red" not in modifiers:
        number = emitter.source(operands[0], "u32")
        expected = emitter.source(operands[1], "u32") if len(operands) > 1 else everyone
        emitter.emit("barrier", a=number, b=expected, x=resume)
        return
    operation = next(m for m in modifiers if m in _REDUCTIONS)
    target, number_text, *rest = operands
    emitter.emit(
        "barrier",
        d=emitter.destination(target, "u32" if operation == "popc" else "pred"),
        a=emitter.source(number_text, "u32"),
        b=emitter.source(rest[0], "u32") if len(rest) > 1 else everyone,
        c=emitter.source(rest[-1], "pred"),
        x=resume,
        flags=_REDUCTIONS[operation] << 8,
    )


LOWERINGS: dict[str, Callable[[Emitter, Instruction], None]] = {
    "shfl": _shuffle,
    "vote": _vote,
    "match": _match,
    "redux": _reduce,
    "activemask": _active_mask,
    "bar": _arrive,
    "barrier": _arrive,
}
