"""Lowering: takes PTX instructions, gives records of the machine's operations.

An opcode of the form `op d, a, b, c` whose handler exists is one record. Everything else is
composed of several: a comparison with a boolean operator is the comparison and an `and`, `.ftz` on
an operation without a handler of its own flushes its operands and its result, a type narrower than
its register is extended. That keeps the machine at a few hundred handlers.
"""

from __future__ import annotations

from cutune.emulator.lower.convert import flushed, lower_conversion, lower_set, lower_setp
from cutune.emulator.lower.encoder import (
    GUARDED,
    NEGATED,
    FunctionEncoder,
    Lowering,
    elements,
    width_of,
)
from cutune.emulator.lower.memory import MEMORY_LOWERINGS
from cutune.emulator.lower.opcodes import (
    ROUNDED,
    bits_type,
    handler_name,
    handlers,
    rounding,
)
from cutune.emulator.lower.warp import WARP_LOWERINGS
from cutune.ptx.types import HINTS, Instruction


def lower(encoder: FunctionEncoder, instruction: Instruction) -> None:
    """Emit the records of one instruction that does not end a basic block."""
    encoder.begin(instruction)
    lowering = _LOWERINGS.get(instruction.opcode, _lower_regular)
    if not instruction.guard:
        lowering(encoder)
        return
    predicate = encoder.register(instruction.guard)
    guard = encoder.emit("guard", a=predicate, flags=NEGATED if instruction.negated else 0)
    first = len(encoder.records)
    lowering(encoder)
    for record in encoder.records[first:]:
        if record.handler.startswith(("ld_", "st_", "atom_", "matrix_load", "mbarrier_")):
            record.flags |= GUARDED
    encoder.emit("unguard")
    guard.x = len(encoder.records) - first


def _lower_regular(encoder: FunctionEncoder) -> None:
    """`op d, a, b, c` with the handler of that name, or composed from the plain operation."""
    opcode, modifiers = encoder.opcode, encoder.modifiers
    if not modifiers or not encoder.operands:
        raise encoder.unsupported()
    if "cc" in modifiers:
        _lower_carry(encoder)
        return
    name = handler_name(opcode, modifiers)
    if name in handlers():
        _apply(encoder, name)
        return
    plain = [m for m in modifiers if m not in ("ftz", "sat", "relu", "rz", "rm", "rp")]
    name = handler_name(opcode, plain)
    flags = 0
    if opcode in ROUNDED and rounding(modifiers):
        opcode = "fma" if opcode == "mad" else opcode
        name = f"{opcode}_rounded_{modifiers[-1]}"
        flags = rounding(modifiers) << 8
    if name not in handlers():
        raise encoder.unsupported()
    flush = modifiers[-1] if "ftz" in modifiers else ""
    result = _apply(encoder, name, flush=flush, flags=flags)
    for modifier, clamp in (("sat", "saturate"), ("relu", "relu")):
        if modifier in modifiers:
            encoder.emit(f"{clamp}_{modifiers[-1]}", d=result, a=result)


def _apply(encoder: FunctionEncoder, name: str, *, flush: str = "", flags: int = 0) -> int:
    types, operands = handlers()[name], encoder.operands
    if not types or (flags == 0 and len(operands) != len(types)):
        raise encoder.unsupported()
    sources = [
        flushed(encoder, encoder.source(text, kind), flush)
        for text, kind in zip(operands[1:], types[1:], strict=False)
    ]
    destination = encoder.destination(operands[0], types[0])
    encoder.emit(name, d=destination, flags=flags, **dict(zip("abc", sources, strict=False)))
    if flush and f"flush_{flush}" in handlers():
        encoder.emit(f"flush_{flush}", d=destination, a=destination)
    return destination


def _lower_move(encoder: FunctionEncoder) -> None:
    kind = encoder.modifiers[-1]
    target, value = encoder.operands
    if kind == "b128":
        raise encoder.unsupported()
    if target.startswith("{"):
        _unpack(encoder, elements(target), encoder.source(value, kind), kind)
    elif value.startswith("{"):
        _pack(encoder, encoder.destination(target, kind), elements(value), kind)
    else:
        destination = encoder.destination(target, kind)
        bits = "b32" if kind == "pred" else bits_type(kind)
        encoder.emit(f"mov_{bits}", d=destination, a=encoder.source(value, kind))


def _pack(encoder: FunctionEncoder, target: int, parts: list[str], kind: str) -> None:
    is_wide = width_of(kind) == 8
    if len(parts) == 4 and is_wide:
        halves = []
        for pair in (parts[:2], parts[2:]):
            halves.append(encoder.temporary("b32"))
            _pack(encoder, halves[-1], pair, "b32")
    elif len(parts) == 2:
        halves = [encoder.source(part, "b32" if is_wide else "b16") for part in parts]
    else:
        raise encoder.unsupported()
    encoder.emit("pack_b64" if is_wide else "pack_b32", d=target, a=halves[0], b=halves[1])


def _unpack(encoder: FunctionEncoder, parts: list[str], value: int, kind: str) -> None:
    wide = width_of(kind) == 8
    if len(parts) == 4 and wide:
        for name, pair in (("low_b64", parts[:2]), ("high_b64", parts[2:])):
            _unpack(encoder, pair, encoder.computed(name, "b32", a=value), "b32")
        return
    if len(parts) != 2:
        raise encoder.unsupported()
    # The value may be one of the targets: take both halves before either is written.
    narrow = "b32" if wide else "b16"
    names = ("low_b64", "high_b64") if wide else ("low_b32", "high_b32")
    halves = [encoder.computed(name, narrow, a=value) for name in names]
    for part, half in zip(parts, halves, strict=True):
        if part != "_":
            encoder.emit("mov_b32", d=encoder.destination(part, narrow), a=half)


def _lower_slct(encoder: FunctionEncoder) -> None:
    """`slct.dtype.ctype d, a, b, c`: a where c >= 0."""
    kind, tested = encoder.modifiers[-2:]
    target, a, b, c = encoder.operands
    condition = encoder.source(c, tested)
    if "ftz" in encoder.modifiers:
        condition = flushed(encoder, condition, tested)
    slots = encoder.registers_of(kind, target, a=a, b=b)
    encoder.emit(f"slct_{bits_type(kind)}_{tested}", **slots, c=condition)


def _lower_lop3(encoder: FunctionEncoder) -> None:
    target, a, b, c, truth = encoder.operands
    if encoder.modifiers != ("b32",):
        raise encoder.unsupported()
    slots = encoder.registers_of("b32", target, a=a, b=b, c=c)
    encoder.emit("lop3_b32", **slots, imm=int(truth, 0))


def _lower_bfi(encoder: FunctionEncoder) -> None:
    kind = encoder.modifiers[-1]
    target, a, b, position, length = encoder.operands
    slots = encoder.registers_of(kind, target, a=a, b=b)
    c, x = encoder.source(position, "u32"), encoder.source(length, "u32")
    encoder.emit(f"bfi_{kind}", **slots, c=c, x=x)


def _lower_packed(encoder: FunctionEncoder) -> None:
    """Operations on packed values, whose handlers have all modifiers in their names."""
    _apply(encoder, "_".join([encoder.opcode, *encoder.modifiers]))


_CARRY_IN, _CARRY_OUT = 1, 2


def _lower_carry(encoder: FunctionEncoder) -> None:
    """add.cc, addc, sub.cc, subc, mad.cc and madc: chains through the carry flag."""
    opcode = encoder.opcode.removesuffix("c")
    reads = encoder.opcode.endswith("c")
    writes = "cc" in encoder.modifiers
    kind = encoder.modifiers[-1]
    name = f"{opcode}_carry_{bits_type(kind)}"
    if opcode == "mad":
        high = "hi" in encoder.modifiers
        name = f"mad_carry_hi_{kind}" if high else f"mad_carry_lo_{bits_type(kind)}"
    slots = [encoder.source(text, kind) for text in encoder.operands[1:]]
    encoder.emit(
        name,
        d=encoder.destination(encoder.operands[0], kind),
        flags=(_CARRY_IN * reads + _CARRY_OUT * writes) << 8,
        **dict(zip("abc", slots, strict=False)),
    )


def _lower_fence(encoder: FunctionEncoder) -> None:
    """The machine keeps the order of accesses anyway; a fence matters to the race checker only."""
    if "cta" not in encoder.modifiers and "proxy" not in encoder.modifiers:
        encoder.emit("fence")


_LOWERINGS: dict[str, Lowering] = {
    "mov": _lower_move,
    "setp": lower_setp,
    "set": lower_set,
    "slct": _lower_slct,
    "lop3": _lower_lop3,
    "bfi": _lower_bfi,
    # prmt.b32{.mode}
    "prmt": lambda encoder: _apply(encoder, "_".join(["prmt", *encoder.modifiers[1:], "b32"])),
    **dict.fromkeys(("dp4a", "dp2a", "vabsdiff2", "vabsdiff4"), _lower_packed),
    **dict.fromkeys(("addc", "subc", "madc"), _lower_carry),
    "cvt": lower_conversion,
    "trap": lambda encoder: encoder.emit("trap"),
    **dict.fromkeys(HINTS, lambda encoder: None),
    **dict.fromkeys(("membar", "fence"), _lower_fence),
    **MEMORY_LOWERINGS,
    **WARP_LOWERINGS,
}
