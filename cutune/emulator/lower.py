"""Lowering: takes PTX instructions, gives records of the machine's operations.

An opcode of the form `op d, a, b, c` whose handler exists is one record. Everything else is
composed of several: a comparison with a boolean operator is the comparison and an `and`, `.ftz` on
an operation without a handler of its own flushes its operands and its result, a type narrower than
its register is extended. That keeps the machine at a few hundred handlers.
"""

from __future__ import annotations

from collections.abc import Callable

from cutune.emulator import lower_memory, lower_warp
from cutune.emulator.emitter import GUARDED, NEGATED, Emitter, width_of
from cutune.emulator.lower_convert import convert
from cutune.emulator.opcodes import (
    bits_type,
    handler_name,
    handlers,
    is_rounded,
    rounding,
)
from cutune.emulator.ptx import Instruction

_COMPARISONS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_BOOLEAN = ("and", "or", "xor")
# Hints, and orderings that a machine of one thread keeps anyway.
_NOTHING = frozenset(
    """
    prefetch prefetchu discard applypriority membar fence nanosleep pmevent
    griddepcontrol setmaxnreg brkpt createpolicy
    """.split()  # noqa: SIM905
)


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
        if record.handler.startswith(("ld_", "st_", "atom_")):
            record.flags |= GUARDED
    emitter.emit("unguard")
    guard.x = len(emitter.records) - first


def _lower(emitter: Emitter, instruction: Instruction) -> None:
    if instruction.opcode in _NOTHING:
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


def flushed(emitter: Emitter, source: int, kind: str) -> int:
    """The operand with subnormal numbers made zero."""
    if f"flush_{kind}" not in handlers():
        return source
    value = emitter.temporary(kind)
    emitter.emit(f"flush_{kind}", d=value, a=source)
    return value


def _compare(emitter: Emitter, comparison: str, kind: str, operands: tuple[int, int]) -> int:
    """A predicate register with the result."""
    comparison = _COMPARISONS.get(comparison, comparison)
    if comparison in ("eq", "ne") and kind[0] in "su":
        kind = bits_type(kind)
    result = emitter.temporary("pred")
    emitter.emit(f"setp_{comparison}_{kind}", d=result, a=operands[0], b=operands[1])
    return result


def _comparison_operands(
    emitter: Emitter, instruction: Instruction, kind: str, texts: tuple[str, ...]
) -> tuple[str, tuple[int, int]]:
    """Both operands of a comparison; half precision is compared as single."""
    if kind in ("f16", "bf16"):
        halves = [emitter.source(text, "u16") for text in texts]
        wide = []
        for half in halves:
            wide.append(emitter.temporary("f32"))
            emitter.emit(f"cvt_f32_{kind}", d=wide[-1], a=half)
        return "f32", (wide[0], wide[1])
    sources = [emitter.source(text, kind) for text in texts]
    if "ftz" in instruction.modifiers:
        sources = [flushed(emitter, source, kind) for source in sources]
    return kind, (sources[0], sources[1])


def _combined(emitter: Emitter, instruction: Instruction, holds: int, text: str) -> int:
    """The comparison's result after `.and`, `.or` or `.xor` with the third source."""
    operator = next((m for m in instruction.modifiers if m in _BOOLEAN), "")
    if not operator:
        return holds
    result = emitter.temporary("pred")
    other = emitter.source(text, "pred")
    emitter.emit(f"{operator}_pred", d=result, a=holds, b=other)
    return result


def _negation(emitter: Emitter, holds: int) -> int:
    result = emitter.temporary("pred")
    emitter.emit("not_pred", d=result, a=holds)
    return result


def _set_predicate(emitter: Emitter, instruction: Instruction) -> None:
    comparison, kind = instruction.modifiers[0], instruction.modifiers[-1]
    operands = instruction.operands
    names = [name.strip() for name in operands[0].split("|")]
    third = operands[3] if len(operands) > 3 else ""
    if kind in ("f16x2", "bf16x2"):
        _set_predicate_pair(emitter, instruction, names, third)
        return
    kind, sources = _comparison_operands(emitter, instruction, kind, operands[1:3])
    plain = len(names) == 1 and not third
    holds = _compare(emitter, comparison, kind, sources)
    if plain:
        emitter.records[-1].d = emitter.destination(names[0], "pred")
        return
    results = [_combined(emitter, instruction, holds, third)]
    if len(names) > 1:
        inverse = _negation(emitter, holds)
        results.append(_combined(emitter, instruction, inverse, third))
    for name, result in zip(names, results, strict=False):
        emitter.emit("mov_b32", d=emitter.destination(name, "pred"), a=result)


def _set_predicate_pair(
    emitter: Emitter, instruction: Instruction, names: list[str], third: str
) -> None:
    kind = instruction.modifiers[-1].removesuffix("x2")
    a, b = (emitter.source(text, "b32") for text in instruction.operands[1:3])
    results = []
    for part in ("low_b32", "high_b32"):
        wide = []
        for source in (a, b):
            half, single = emitter.temporary("b32"), emitter.temporary("f32")
            emitter.emit(part, d=half, a=source)
            emitter.emit(f"cvt_f32_{kind}", d=single, a=half)
            wide.append(single)
        holds = _compare(emitter, instruction.modifiers[0], "f32", (wide[0], wide[1]))
        results.append(_combined(emitter, instruction, holds, third))
    if len(names) == 1:
        both = emitter.temporary("pred")
        emitter.emit("and_pred", d=both, a=results[0], b=results[1])
        results = [both]
    for name, result in zip(names, results, strict=True):
        emitter.emit("mov_b32", d=emitter.destination(name, "pred"), a=result)


def _set(emitter: Emitter, instruction: Instruction) -> None:
    """`set` gives all ones (1.0 for a floating type) or zero."""
    comparison, (result_kind, kind) = instruction.modifiers[0], instruction.modifiers[-2:]
    operands = instruction.operands
    if kind.endswith("x2"):
        _set_pair(emitter, instruction)
        return
    kind, sources = _comparison_operands(emitter, instruction, kind, operands[1:3])
    holds = _compare(emitter, comparison, kind, sources)
    holds = _combined(emitter, instruction, holds, operands[3] if len(operands) > 3 else "")
    one = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}.get(result_kind, -1)
    bits = bits_type(result_kind) if result_kind != "bf16" else "b16"
    emitter.emit(
        f"selp_{bits}",
        d=emitter.destination(operands[0], bits),
        a=emitter.constant(bits, one),
        b=emitter.constant(bits, 0),
        c=holds,
    )


def _set_pair(emitter: Emitter, instruction: Instruction) -> None:
    result_kind, kind = instruction.modifiers[-2:]
    a, b = (emitter.source(text, "b32") for text in instruction.operands[1:3])
    one = {"f16x2": 0x3C00, "bf16x2": 0x3F80}.get(result_kind, 0xFFFF)
    halves = []
    for part in ("low_b32", "high_b32"):
        wide = []
        for source in (a, b):
            half, single = emitter.temporary("b32"), emitter.temporary("f32")
            emitter.emit(part, d=half, a=source)
            emitter.emit(f"cvt_f32_{kind.removesuffix('x2')}", d=single, a=half)
            wide.append(single)
        holds = _compare(emitter, instruction.modifiers[0], "f32", (wide[0], wide[1]))
        value = emitter.temporary("b32")
        emitter.emit(
            "selp_b32",
            d=value,
            a=emitter.constant("b32", one),
            b=emitter.constant("b32", 0),
            c=holds,
        )
        halves.append(value)
    destination = emitter.destination(instruction.operands[0], "b32")
    emitter.emit("pack_b32", d=destination, a=halves[0], b=halves[1])


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


def _dot_product(emitter: Emitter, instruction: Instruction) -> None:
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


_LOWERINGS: dict[str, Callable[[Emitter, Instruction], None]] = {
    "mov": _move,
    "setp": _set_predicate,
    "set": _set,
    "slct": _select,
    "lop3": _logic3,
    "bfi": _insert_field,
    "prmt": _permute,
    "dp4a": _dot_product,
    "dp2a": _dot_product,
    "add": _add,
    "sub": _add,
    "mad": _add,
    "addc": _carry,
    "subc": _carry,
    "madc": _carry,
    "cvt": convert,
    "trap": _trap,
    **lower_memory.LOWERINGS,
    **lower_warp.LOWERINGS,
}
