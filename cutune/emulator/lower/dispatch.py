"""Lowering: takes PTX instructions, gives records of the machine's operations.

An opcode of the form `op d, a, b, c` whose handler exists is one record. Everything else is
composed of several: a comparison with a boolean operator is the comparison and an `and`, `.ftz` on
an operation without a handler of its own flushes its operands and its result, a type narrower than
its register is extended. That keeps the machine at a few hundred handlers.
"""

from __future__ import annotations

from collections.abc import Callable

from cutune.emulator.lower import asynchronous as lower_async
from cutune.emulator.lower import matrix as lower_matrix
from cutune.emulator.lower import memory as lower_memory
from cutune.emulator.lower import texture as lower_texture
from cutune.emulator.lower import warp as lower_warp
from cutune.emulator.lower.compare import flushed, set_predicate, set_value
from cutune.emulator.lower.convert import convert
from cutune.emulator.lower.encoder import GUARDED, NEGATED, Emitter, width_of
from cutune.emulator.lower.opcodes import (
    bits_type,
    handler_name,
    handlers,
    is_rounded,
    rounding,
)
from cutune.emulator.ptx.opcode_sets import HINTS
from cutune.emulator.ptx.types import Instruction


def lower(emitter: Emitter, instruction: Instruction) -> None:
    """Emit the records of one instruction that does not end a basic block."""
    emitter.begin(instruction)
    if not instruction.guard:
        _lower(emitter, instruction)
        return
    predicate = emitter.register(instruction.guard)
    flags = NEGATED if instruction.negated else 0
    guard = emitter.emit("guard", a=predicate, flags=flags)
    first = len(emitter.records)
    _lower(emitter, instruction)
    for record in emitter.records[first:]:
        if record.handler.startswith(("ld_", "st_", "atom_", "matrix_load", "mbarrier_")):
            record.flags |= GUARDED
    emitter.emit("unguard")
    guard.x = len(emitter.records) - first


def _lower(emitter: Emitter, instruction: Instruction) -> None:
    if instruction.opcode in HINTS:
        return
    lowering = _LOWERINGS.get(instruction.opcode, regular)
    lowering(emitter, instruction)


def regular(emitter: Emitter, instruction: Instruction) -> None:
    """`op d, a, b, c` with the handler of that name, or composed from the plain operation."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if not modifiers or not instruction.operands:
        raise emitter.unsupported()
    name = handler_name(opcode, modifiers)
    if name in handlers():
        _apply(emitter, name, instruction.operands)
        return
    plain = [m for m in modifiers if m not in ("ftz", "sat", "relu", "rz", "rm", "rp")]
    name = handler_name(opcode, plain)
    flags = 0
    if is_rounded(opcode, modifiers):
        opcode = "fma" if opcode == "mad" else opcode
        name = f"{opcode}_rounded_{modifiers[-1]}"
        flags = rounding(modifiers) << 8
    if name not in handlers():
        raise emitter.unsupported()
    flush = modifiers[-1] if "ftz" in modifiers else ""
    result = _apply(emitter, name, instruction.operands, flush=flush, flags=flags)
    for modifier, clamp in (("sat", "saturate"), ("relu", "relu")):
        if modifier in modifiers:
            emitter.emit(f"{clamp}_{modifiers[-1]}", d=result, a=result)


def _apply(
    emitter: Emitter, name: str, operands: tuple[str, ...], *, flush: str = "", flags: int = 0
) -> int:
    types = handlers()[name]
    if not types or (flags == 0 and len(operands) != len(types)):
        raise emitter.unsupported()
    sources = [
        flushed(emitter, emitter.source(text, kind), flush)
        for text, kind in zip(operands[1:], types[1:], strict=False)
    ]
    destination = emitter.destination(operands[0], types[0])
    emitter.emit(name, d=destination, flags=flags, **dict(zip("abc", sources, strict=False)))
    if flush and f"flush_{flush}" in handlers():
        emitter.emit(f"flush_{flush}", d=destination, a=destination)
    return destination


def _move(emitter: Emitter, instruction: Instruction) -> None:
    kind = instruction.modifiers[-1]
    target, value = instruction.operands
    if kind in ("b128",):
        raise emitter.unsupported()
    if target.startswith("{"):
        _unpack(emitter, _elements(target), emitter.source(value, kind), kind)
    elif value.startswith("{"):
        _pack(emitter, emitter.destination(target, kind), _elements(value), kind)
    else:
        bits = "b32" if kind == "pred" else bits_type(kind)
        emitter.emit(
            f"mov_{bits}", d=emitter.destination(target, kind), a=emitter.source(value, kind)
        )


def _elements(text: str) -> list[str]:
    return [part.strip() for part in text.strip("{} ").split(",")]


def _pack(emitter: Emitter, target: int, parts: list[str], kind: str) -> None:
    if len(parts) == 4 and width_of(kind) == 8:
        halves = []
        for low, high in (parts[:2], parts[2:]):
            halves.append(emitter.temporary("b32"))
            low_slot, high_slot = emitter.source(low, "b16"), emitter.source(high, "b16")
            emitter.emit("pack_b32", d=halves[-1], a=low_slot, b=high_slot)
    elif len(parts) == 2:
        narrow = "b32" if width_of(kind) == 8 else "b16"
        halves = [emitter.source(part, narrow) for part in parts]
    else:
        raise emitter.unsupported()
    name = "pack_b64" if width_of(kind) == 8 else "pack_b32"
    emitter.emit(name, d=target, a=halves[0], b=halves[1])


def _unpack(emitter: Emitter, parts: list[str], value: int, kind: str) -> None:
    wide = width_of(kind) == 8
    if len(parts) == 4 and wide:
        for name, pair in (("low_b64", parts[:2]), ("high_b64", parts[2:])):
            half = emitter.temporary("b32")
            emitter.emit(name, d=half, a=value)
            _unpack(emitter, pair, half, "b32")
        return
    if len(parts) != 2:
        raise emitter.unsupported()
    # The value may be one of the targets: take both halves before either is written.
    narrow = "b32" if wide else "b16"
    halves = []
    for name in ("low_b64", "high_b64") if wide else ("low_b32", "high_b32"):
        halves.append(emitter.temporary(narrow))
        emitter.emit(name, d=halves[-1], a=value)
    for part, half in zip(parts, halves, strict=True):
        if part != "_":
            emitter.emit("mov_b32", d=emitter.destination(part, narrow), a=half)


def _select(emitter: Emitter, instruction: Instruction) -> None:
    """`slct.dtype.ctype d, a, b, c`: a where c >= 0."""
    kind, tested = instruction.modifiers[-2:]
    target, a, b, c = instruction.operands
    condition = emitter.source(c, tested)
    if "ftz" in instruction.modifiers:
        condition = flushed(emitter, condition, tested)
    emitter.emit(
        f"slct_{bits_type(kind)}_{tested}",
        d=emitter.destination(target, kind),
        a=emitter.source(a, kind),
        b=emitter.source(b, kind),
        c=condition,
    )


def _logic3(emitter: Emitter, instruction: Instruction) -> None:
    target, a, b, c, truth = instruction.operands
    if instruction.modifiers != ("b32",):
        raise emitter.unsupported()
    emitter.emit(
        "lop3_b32",
        d=emitter.destination(target, "b32"),
        a=emitter.source(a, "b32"),
        b=emitter.source(b, "b32"),
        c=emitter.source(c, "b32"),
        imm=int(truth, 0),
    )


def _insert_field(emitter: Emitter, instruction: Instruction) -> None:
    kind = instruction.modifiers[-1]
    target, a, b, position, length = instruction.operands
    emitter.emit(
        f"bfi_{kind}",
        d=emitter.destination(target, kind),
        a=emitter.source(a, kind),
        b=emitter.source(b, kind),
        c=emitter.source(position, "u32"),
        x=emitter.source(length, "u32"),
    )


def _permute(emitter: Emitter, instruction: Instruction) -> None:
    mode = instruction.modifiers[1:]  # prmt.b32.mode
    name = "_".join(["prmt", *mode, "b32"])
    _apply(emitter, name, instruction.operands)


def _packed(emitter: Emitter, instruction: Instruction) -> None:
    """Operations on packed values, whose handlers have all modifiers in their names."""
    _apply(
        emitter,
        "_".join([instruction.opcode, *instruction.modifiers]),
        instruction.operands,
    )


_CARRY_IN, _CARRY_OUT = 1, 2


def _carry(emitter: Emitter, instruction: Instruction) -> None:
    """add.cc, addc, sub.cc, subc, mad.cc and madc: chains through the carry flag."""
    opcode = instruction.opcode.removesuffix("c")
    reads = instruction.opcode.endswith("c")
    writes = "cc" in instruction.modifiers
    kind = instruction.modifiers[-1]
    name = f"{opcode}_carry_{bits_type(kind)}"
    if opcode == "mad":
        high = "hi" in instruction.modifiers
        name = f"mad_carry_hi_{kind}" if high else f"mad_carry_lo_{bits_type(kind)}"
    slots = [emitter.source(text, kind) for text in instruction.operands[1:]]
    emitter.emit(
        name,
        d=emitter.destination(instruction.operands[0], kind),
        flags=(_CARRY_IN * reads + _CARRY_OUT * writes) << 8,
        **dict(zip("abc", slots, strict=False)),
    )


def _add(emitter: Emitter, instruction: Instruction) -> None:
    (_carry if "cc" in instruction.modifiers else regular)(emitter, instruction)


def _trap(emitter: Emitter, instruction: Instruction) -> None:
    del instruction
    emitter.emit("trap")


def _fence(emitter: Emitter, instruction: Instruction) -> None:
    """A machine of one thread keeps every order anyway; who checks for races wants to know."""
    if "cta" not in instruction.modifiers and "proxy" not in instruction.modifiers:
        emitter.emit("fence")


_LOWERINGS: dict[str, Callable[[Emitter, Instruction], None]] = {
    "mov": _move,
    "setp": set_predicate,
    "set": set_value,
    "slct": _select,
    "lop3": _logic3,
    "bfi": _insert_field,
    "prmt": _permute,
    "dp4a": _packed,
    "dp2a": _packed,
    "vabsdiff2": _packed,
    "vabsdiff4": _packed,
    "add": _add,
    "sub": _add,
    "mad": _add,
    "addc": _carry,
    "subc": _carry,
    "madc": _carry,
    "cvt": convert,
    "trap": _trap,
    "membar": _fence,
    "fence": _fence,
    **lower_memory.LOWERINGS,
    **lower_warp.LOWERINGS,
    **lower_texture.LOWERINGS,
    **lower_matrix.LOWERINGS,
    **lower_async.LOWERINGS,
}
