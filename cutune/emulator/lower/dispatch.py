"""Lowering: takes PTX instructions, gives records of the machine's operations.

An opcode of the form `op d, a, b, c` whose handler exists is one record. Everything else is
composed of several: a comparison with a boolean operator is the comparison and an `and`, `.ftz` on
an operation without a handler of its own flushes its operands and its result, a type narrower than
its register is extended. That keeps the machine at a few hundred handlers.

A conversion becomes a chain of simple ones. Integers are extended to the 32 or 64 bits of a
register, converted, and narrowed again, so that the machine needs conversions between 32- and
64-bit integers and floating types only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cutune.emulator.lower.encoder import (
    GUARDED,
    NEGATED,
    FunctionEncoder,
    Lowering,
    elements,
    paired_names,
    width_of,
)
from cutune.emulator.lower.memory import MEMORY_LOWERINGS
from cutune.emulator.lower.opcodes import ROUNDED, bits_type, handler_name, handlers, rounding
from cutune.emulator.lower.warp import WARP_LOWERINGS
from cutune.ptx.types import HINTS, TYPE_BYTES, Instruction


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
    plain = tuple(m for m in modifiers if m not in ("ftz", "sat", "relu", "rz", "rm", "rp"))
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
        _flushed(encoder, encoder.source(text, kind), flush)
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
        condition = _flushed(encoder, condition, tested)
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
    fields = dict(zip("abc", slots, strict=False))
    fields["d"] = encoder.destination(encoder.operands[0], kind)
    encoder.emit(name, flags=(_CARRY_IN * reads + _CARRY_OUT * writes) << 8, **fields)


def _lower_fence(encoder: FunctionEncoder) -> None:
    """The machine keeps the order of accesses anyway; a fence matters to the race checker only."""
    if "cta" not in encoder.modifiers and "proxy" not in encoder.modifiers:
        encoder.emit("fence")


# ---- conversions: `cvt`

_INTEGERS = frozenset(("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"))
_FLOATS = frozenset(("f16", "bf16", "f32", "f64"))
_TO_INTEGRAL = frozenset(("rni", "rzi", "rmi", "rpi"))


def _lower_conversion(encoder: FunctionEncoder) -> None:
    """`cvt{.modifiers}.dtype.stype d, a`, and the pairs `cvt.rn.f16x2.f32 d, a, b`."""
    target_kind, source_kind = encoder.modifiers[-2:]
    if target_kind in ("f16x2", "bf16x2") and source_kind == "f32":
        _pair(encoder)
    elif target_kind == "tf32":
        value = encoder.source(encoder.operands[1], "f32")
        encoder.emit("cvt_tf32_f32", d=encoder.destination(encoder.operands[0], "b32"), a=value)
    elif source_kind in _INTEGERS and target_kind in _INTEGERS:
        _integer(encoder)
    elif source_kind in _INTEGERS and target_kind in _FLOATS:
        _from_integer(encoder)
    elif source_kind in _FLOATS and target_kind in _INTEGERS:
        _to_integer(encoder)
    elif source_kind in _FLOATS and target_kind in _FLOATS:
        _float(encoder)
    else:
        raise encoder.unsupported()


def _finish(encoder: FunctionEncoder, value: int) -> None:
    """Put an integer into the destination, extended when that is wider."""
    text, kind = encoder.operands[0], encoder.modifiers[-2]
    is_wide, is_wide_target = (width_of(k) == 8 for k in (kind, encoder.register_type(text)))
    if TYPE_BYTES[kind] < 4:
        value = encoder.computed(f"extend_{kind}", "u32", a=value)
    if is_wide and not is_wide_target:
        raise encoder.fail(f"register {text} is narrower than .{kind}")
    target = encoder.register(text)
    if is_wide_target and not is_wide:
        encoder.emit(f"widen_{kind[0]}32", d=target, a=value)
        return
    encoder.emit("mov_b64" if is_wide_target else "mov_b32", d=target, a=value)
    # An operation into a temporary and a move from it are one operation.
    last, before = encoder.records[-1], encoder.records[-2] if len(encoder.records) > 1 else None
    is_temporary = last.a in (*encoder.temporaries[4], *encoder.temporaries[8])
    if before is not None and before.d == last.a and is_temporary:
        before.d = last.d
        encoder.records.pop()


def _loaded(encoder: FunctionEncoder) -> tuple[int, str]:
    """The source extended to a whole register, and the type it then has."""
    kind = encoder.modifiers[-1]
    value = encoder.source(encoder.operands[1], kind)
    if TYPE_BYTES[kind] >= 4:
        return value, kind
    return encoder.computed(f"extend_{kind}", "u32", a=value), f"{kind[0]}32"


def _integer(encoder: FunctionEncoder) -> None:
    target_kind = encoder.modifiers[-2]
    value, held = _loaded(encoder)
    is_wide_target = TYPE_BYTES[target_kind] == 8
    if "sat" in encoder.modifiers and target_kind != held:
        value = encoder.computed(f"sat_{target_kind}_{held}", target_kind, a=value)
    elif is_wide_target and held[1:] == "32":
        value = encoder.computed(f"widen_{held}", "u64", a=value)
    elif not is_wide_target and held[1:] == "64":
        value = encoder.computed("low_b64", "u32", a=value)
    _finish(encoder, value)


def _from_integer(encoder: FunctionEncoder) -> None:
    target_kind = encoder.modifiers[-2]
    value, held = _loaded(encoder)
    if rounding(encoder.modifiers) and target_kind in ("f16", "bf16"):
        # Double holds every integer that is not too large for half precision anyway.
        value, held = encoder.computed(f"cvt_f64_{held}", "f64", a=value), "f64"
    _emit_rounded(encoder, f"cvt_{target_kind}_{held}", value)


def _emit_rounded(encoder: FunctionEncoder, name: str, value: int) -> None:
    kind, mode = encoder.modifiers[-2], rounding(encoder.modifiers)
    destination = encoder.destination(encoder.operands[0], kind)
    if mode:
        name = f"{name}_rounded"
    encoder.emit(name, d=destination, a=value, flags=mode << 8)
    if "sat" in encoder.modifiers:
        encoder.emit(f"saturate_{kind}", d=destination, a=destination)
    if "relu" in encoder.modifiers:
        encoder.emit(f"relu_{kind}", d=destination, a=destination)


def _as_single(encoder: FunctionEncoder) -> tuple[int, str]:
    """Half precision as single, which holds it exactly."""
    kind = encoder.modifiers[-1]
    value = encoder.source(encoder.operands[1], kind)
    if kind in ("f16", "bf16"):
        return encoder.computed(f"cvt_f32_{kind}", "f32", a=value), "f32"
    if "ftz" in encoder.modifiers and kind == "f32":
        value = encoder.computed("flush_f32", "f32", a=value)
    return value, kind


def _to_integer(encoder: FunctionEncoder) -> None:
    target_kind = encoder.modifiers[-2]
    value, held = _as_single(encoder)
    mode = next((m for m in encoder.modifiers if m in _TO_INTEGRAL), "rzi")
    # Narrow integers saturate at their own limits; going through 32 bits keeps the order.
    through = target_kind if TYPE_BYTES[target_kind] >= 4 else "s32"
    result = encoder.computed(f"cvt_{mode}_{through}_{held}", through, a=value)
    if through != target_kind:
        result = encoder.computed(f"sat_{target_kind}_s32", "s32", a=result)
        if held == "f64" and target_kind[0] == "u":
            is_nan = encoder.computed("setp_nan_f64", "pred", a=value, b=value)
            highest_bit = encoder.constant("u32", 1 << (8 * TYPE_BYTES[target_kind] - 1))
            result = encoder.computed("selp_b32", "u32", a=highest_bit, b=result, c=is_nan)
    _finish(encoder, result)


def _float(encoder: FunctionEncoder) -> None:
    target_kind, source_kind = encoder.modifiers[-2:]
    if target_kind == "f64" and source_kind in ("f16", "bf16"):
        value, held = encoder.source(encoder.operands[1], source_kind), source_kind
    else:
        value, held = _as_single(encoder)
    integral = next((m for m in encoder.modifiers if m in _TO_INTEGRAL), "")
    if integral:
        value = encoder.computed(f"cvt_{integral}_{held}", held, a=value)
    name = f"cvt_{target_kind}_{held}"
    if target_kind == held:
        name = "mov_b64" if held == "f64" else "mov_b32"
    _emit_rounded(encoder, name, value)
    if "ftz" in encoder.modifiers and target_kind == "f32":
        last = encoder.records[-1]
        encoder.emit("flush_result_f32", d=last.d, a=last.d)


def _pair(encoder: FunctionEncoder) -> None:
    """`cvt.rn.f16x2.f32 d, a, b`: a becomes the upper half."""
    kind = encoder.modifiers[-2].removesuffix("x2")
    mode = rounding(encoder.modifiers)
    name = f"cvt_{kind}_f32{'_rounded' if mode else ''}"
    if name not in handlers() or "satfinite" in encoder.modifiers:
        raise encoder.unsupported()
    halves = []
    for text in encoder.operands[1:3]:
        half = encoder.temporary("b16")
        encoder.emit(name, d=half, a=encoder.source(text, "f32"), flags=mode << 8)
        if "relu" in encoder.modifiers:
            encoder.emit(f"relu_{kind}", d=half, a=half)
        halves.append(half)
    destination = encoder.destination(encoder.operands[0], "b32")
    encoder.emit("pack_b32", d=destination, a=halves[1], b=halves[0])


# ---- comparisons

_COMPARISONS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_BOOLEAN = ("and", "or", "xor")
_FLOAT_ONES = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}


def _flushed(encoder: FunctionEncoder, source: int, kind: str) -> int:
    """The operand with subnormal numbers made zero."""
    name = f"flush_{kind}"
    return encoder.computed(name, kind, a=source) if name in handlers() else source


def _comparison(encoder: FunctionEncoder, comparison: str, kind: str, sources: list[int]) -> int:
    comparison = _COMPARISONS.get(comparison, comparison)
    if comparison in ("eq", "ne") and kind[0] in "su":
        kind = bits_type(kind)
    return encoder.computed(f"setp_{comparison}_{kind}", "pred", a=sources[0], b=sources[1])


def _comparison_operands(encoder: FunctionEncoder, kind: str) -> tuple[str, list[int]]:
    texts = encoder.operands[1:3]
    if kind in ("f16", "bf16"):
        halves = [encoder.source(text, "u16") for text in texts]
        return "f32", [encoder.computed(f"cvt_f32_{kind}", "f32", a=half) for half in halves]
    sources = [encoder.source(text, kind) for text in texts]
    if "ftz" in encoder.modifiers:
        sources = [_flushed(encoder, source, kind) for source in sources]
    return kind, sources


def _compared_halves(encoder: FunctionEncoder) -> Iterator[int]:
    """Does the comparison hold for the low halves, and does it for the high ones?"""
    kind = encoder.modifiers[-1].removesuffix("x2")
    operands = [encoder.source(text, "b32") for text in encoder.operands[1:3]]
    for part in ("low_b32", "high_b32"):
        singles = [
            encoder.computed(f"cvt_f32_{kind}", "f32", a=encoder.computed(part, "b32", a=operand))
            for operand in operands
        ]
        yield _comparison(encoder, encoder.modifiers[0], "f32", singles)


def _combined(encoder: FunctionEncoder, holds: int) -> int:
    """The comparison's result after `.and`, `.or` or `.xor` with the third source."""
    operator = next((m for m in encoder.modifiers if m in _BOOLEAN), "")
    if not operator:
        return holds
    result = encoder.temporary("pred")
    third = encoder.operands[3] if len(encoder.operands) > 3 else ""
    encoder.emit(f"{operator}_pred", d=result, a=holds, b=encoder.source(third, "pred"))
    return result


def _lower_setp(encoder: FunctionEncoder) -> None:
    """`setp.comparison{.boolean}.type p{|q}, a, b{, c}`."""
    kind, operands = encoder.modifiers[-1], encoder.operands
    names = paired_names(operands[0])
    if kind in ("f16x2", "bf16x2"):
        results = [_combined(encoder, holds) for holds in _compared_halves(encoder)]
        if len(names) == 1:
            results = [encoder.computed("and_pred", "pred", a=results[0], b=results[1])]
        _write_predicates(encoder, zip(names, results, strict=True))
        return
    kind, sources = _comparison_operands(encoder, kind)
    holds = _comparison(encoder, encoder.modifiers[0], kind, sources)
    if len(names) == 1 and not operands[3:]:
        encoder.records[-1].d = encoder.destination(names[0], "pred")
        return
    results = [_combined(encoder, holds)]
    if len(names) > 1:
        results.append(_combined(encoder, encoder.computed("not_pred", "pred", a=holds)))
    _write_predicates(encoder, zip(names, results, strict=False))


def _write_predicates(encoder: FunctionEncoder, results: Iterable[tuple[str, int]]) -> None:
    for name, result in results:
        encoder.emit("mov_b32", d=encoder.destination(name, "pred"), a=result)


def _lower_set(encoder: FunctionEncoder) -> None:
    """`set` gives all ones (1.0 for a floating type) or zero."""
    comparison, (result_kind, kind) = encoder.modifiers[0], encoder.modifiers[-2:]
    target = encoder.operands[0]
    if kind.endswith("x2"):
        one, halves = _FLOAT_ONES.get(result_kind.removesuffix("x2"), 0xFFFF), []
        for holds in _compared_halves(encoder):
            a, b = encoder.constant("b32", one), encoder.constant("b32", 0)
            halves.append(encoder.computed("selp_b32", "b32", a=a, b=b, c=holds))
        destination = encoder.destination(target, "b32")
        encoder.emit("pack_b32", d=destination, a=halves[0], b=halves[1])
        return
    kind, sources = _comparison_operands(encoder, kind)
    holds = _combined(encoder, _comparison(encoder, comparison, kind, sources))
    bits = bits_type(result_kind) if result_kind != "bf16" else "b16"
    destination = encoder.destination(target, bits)
    a, b = (encoder.constant(bits, n) for n in (_FLOAT_ONES.get(result_kind, -1), 0))
    encoder.emit(f"selp_{bits}", d=destination, a=a, b=b, c=holds)


# ---- all of them

_LOWERINGS: dict[str, Lowering] = {
    "mov": _lower_move,
    "setp": _lower_setp,
    "set": _lower_set,
    "slct": _lower_slct,
    "lop3": _lower_lop3,
    "bfi": _lower_bfi,
    # prmt.b32{.mode}
    "prmt": lambda encoder: _apply(encoder, "_".join(["prmt", *encoder.modifiers[1:], "b32"])),
    **dict.fromkeys(("dp4a", "dp2a", "vabsdiff2", "vabsdiff4"), _lower_packed),
    **dict.fromkeys(("addc", "subc", "madc"), _lower_carry),
    "cvt": _lower_conversion,
    "trap": lambda encoder: encoder.emit("trap"),
    **dict.fromkeys(HINTS, lambda encoder: None),
    **dict.fromkeys(("membar", "fence"), _lower_fence),
    **MEMORY_LOWERINGS,
    **WARP_LOWERINGS,
}
