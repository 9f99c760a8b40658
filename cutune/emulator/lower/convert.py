"""Lowering of `cvt`: takes one conversion, gives a chain of the machine's simple ones.

Integers are extended to the 32 or 64 bits of a register, converted, and narrowed again, so that the
machine needs conversions between 32- and 64-bit integers and floating types only.
"""

from __future__ import annotations

from cutune.emulator.lower.encoder import FunctionEncoder, width_of
from cutune.emulator.lower.opcodes import handlers
from cutune.emulator.ptx.types import TYPE_BYTES, Instruction

_INTEGERS = frozenset(("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"))
_FLOATS = frozenset(("f16", "bf16", "f32", "f64"))
_TO_INTEGRAL = {"rni": 0, "rzi": 1, "rmi": 2, "rpi": 3}
_ROUNDING = {"rn": 0, "rz": 1, "rm": 2, "rp": 3}


def convert(encoder: FunctionEncoder, instruction: Instruction) -> None:
    """`cvt{.modifiers}.dtype.stype d, a`, and the pairs `cvt.rn.f16x2.f32 d, a, b`."""
    modifiers = instruction.modifiers
    target_kind, source_kind = modifiers[-2:]
    if target_kind in ("f16x2", "bf16x2") and source_kind == "f32":
        _pair(encoder, instruction)
    elif target_kind == "tf32":
        value = encoder.source(instruction.operands[1], "f32")
        encoder.emit("cvt_tf32_f32", d=encoder.destination(instruction.operands[0], "b32"), a=value)
    elif source_kind in _INTEGERS and target_kind in _INTEGERS:
        _integer(encoder, instruction)
    elif source_kind in _INTEGERS and target_kind in _FLOATS:
        _from_integer(encoder, instruction)
    elif source_kind in _FLOATS and target_kind in _INTEGERS:
        _to_integer(encoder, instruction)
    elif source_kind in _FLOATS and target_kind in _FLOATS:
        _float(encoder, instruction)
    else:
        raise encoder.unsupported()


def _finish(encoder: FunctionEncoder, text: str, value: int, kind: str) -> None:
    """Put an integer of type `kind` into the destination, extended when that is wider."""
    wide_value = width_of(kind) == 8
    wide_target = width_of(encoder.register_type(text)) == 8
    if TYPE_BYTES[kind] < 4:
        extended = encoder.temporary("u32")
        encoder.emit(f"extend_{kind}", d=extended, a=value)
        value = extended
    if wide_value and not wide_target:
        raise encoder.fail(f"register {text} is narrower than .{kind}")
    name = "mov_b64" if wide_target else "mov_b32"
    if wide_target and not wide_value:
        name = f"widen_{kind[0]}32"
    encoder.emit(name, d=encoder.register(text), a=value)


def _loaded(encoder: FunctionEncoder, text: str, kind: str) -> tuple[int, str]:
    """The source extended to a whole register, and the type it then has."""
    value = encoder.source(text, kind)
    if TYPE_BYTES[kind] >= 4:
        return value, kind
    extended = encoder.temporary("u32")
    encoder.emit(f"extend_{kind}", d=extended, a=value)
    return extended, f"{kind[0]}32"


def _integer(encoder: FunctionEncoder, instruction: Instruction) -> None:
    target_kind, source_kind = instruction.modifiers[-2:]
    value, held = _loaded(encoder, instruction.operands[1], source_kind)
    wide_target = TYPE_BYTES[target_kind] == 8
    if "sat" in instruction.modifiers and target_kind != held:
        saturated = encoder.temporary(target_kind)
        encoder.emit(f"sat_{target_kind}_{held}", d=saturated, a=value)
        value = saturated
    elif wide_target and held[1:] == "32":
        wide = encoder.temporary("u64")
        encoder.emit(f"widen_{held}", d=wide, a=value)
        value = wide
    elif not wide_target and held[1:] == "64":
        low = encoder.temporary("u32")
        encoder.emit("low_b64", d=low, a=value)
        value = low
    _finish(encoder, instruction.operands[0], value, target_kind)
    _merge_last_move(encoder)


def _merge_last_move(encoder: FunctionEncoder) -> None:
    """An operation into a temporary and a move from it are one operation."""
    last, before = encoder.records[-1], encoder.records[-2] if len(encoder.records) > 1 else None
    if (
        before is not None
        and last.handler in ("mov_b32", "mov_b64")
        and before.d == last.a
        and last.a in (*encoder.temporaries[4], *encoder.temporaries[8])
    ):
        before.d = last.d
        encoder.records.pop()


def _from_integer(encoder: FunctionEncoder, instruction: Instruction) -> None:
    target_kind, source_kind = instruction.modifiers[-2:]
    value, held = _loaded(encoder, instruction.operands[1], source_kind)
    mode = _mode(instruction, _ROUNDING)
    if mode and target_kind in ("f16", "bf16"):
        # Double holds every integer that is not too large for half precision anyway.
        double = encoder.temporary("f64")
        encoder.emit(f"cvt_f64_{held}", d=double, a=value)
        value, held = double, "f64"
    _emit_rounded(encoder, f"cvt_{target_kind}_{held}", mode, instruction, target_kind, value)


def _emit_rounded(
    encoder: FunctionEncoder, name: str, mode: int, instruction: Instruction, kind: str, value: int
) -> None:
    destination = encoder.destination(instruction.operands[0], kind)
    if mode:
        name = f"{name}_rounded"
    encoder.emit(name, d=destination, a=value, flags=mode << 8)
    if "sat" in instruction.modifiers:
        encoder.emit(f"saturate_{kind}", d=destination, a=destination)
    if "relu" in instruction.modifiers:
        encoder.emit(f"relu_{kind}", d=destination, a=destination)


def _mode(instruction: Instruction, modes: dict[str, int]) -> int:
    return next((modes[m] for m in instruction.modifiers if m in modes), 0)


def _as_single(encoder: FunctionEncoder, text: str, kind: str, flush: bool) -> tuple[int, str]:
    """Half precision as single, which holds it exactly."""
    value = encoder.source(text, kind)
    if kind in ("f16", "bf16"):
        single = encoder.temporary("f32")
        encoder.emit(f"cvt_f32_{kind}", d=single, a=value)
        return single, "f32"
    if flush and kind == "f32":
        flushed = encoder.temporary("f32")
        encoder.emit("flush_f32", d=flushed, a=value)
        return flushed, kind
    return value, kind


def _to_integer(encoder: FunctionEncoder, instruction: Instruction) -> None:
    target_kind, source_kind = instruction.modifiers[-2:]
    flush = "ftz" in instruction.modifiers
    value, held = _as_single(encoder, instruction.operands[1], source_kind, flush)
    mode = next((m for m in instruction.modifiers if m in _TO_INTEGRAL), "rzi")
    # Narrow integers saturate at their own limits; going through 32 bits keeps the order.
    through = target_kind if TYPE_BYTES[target_kind] >= 4 else "s32"
    result = encoder.temporary(through)
    encoder.emit(f"cvt_{mode}_{through}_{held}", d=result, a=value)
    if through != target_kind:
        narrow = encoder.temporary("s32")
        encoder.emit(f"sat_{target_kind}_s32", d=narrow, a=result)
        result = narrow
        if held == "f64" and target_kind[0] == "u":
            result = _unless_nan(encoder, value, result, 1 << (8 * TYPE_BYTES[target_kind] - 1))
    _finish(encoder, instruction.operands[0], result, target_kind)
    _merge_last_move(encoder)


def _unless_nan(encoder: FunctionEncoder, tested: int, value: int, otherwise: int) -> int:
    is_nan, result = encoder.temporary("pred"), encoder.temporary("u32")
    encoder.emit("setp_nan_f64", d=is_nan, a=tested, b=tested)
    encoder.emit("selp_b32", d=result, a=encoder.constant("u32", otherwise), b=value, c=is_nan)
    return result


def _float(encoder: FunctionEncoder, instruction: Instruction) -> None:
    target_kind, source_kind = instruction.modifiers[-2:]
    modifiers = instruction.modifiers
    flush = "ftz" in modifiers
    if target_kind == "f64" and source_kind in ("f16", "bf16"):
        value, held = encoder.source(instruction.operands[1], source_kind), source_kind
    else:
        value, held = _as_single(encoder, instruction.operands[1], source_kind, flush)
    integral = next((m for m in modifiers if m in _TO_INTEGRAL), "")
    if integral:
        whole = encoder.temporary(held)
        encoder.emit(f"cvt_{integral}_{held}", d=whole, a=value)
        value = whole
    name = f"cvt_{target_kind}_{held}"
    if target_kind == held:
        name = "mov_b64" if held == "f64" else "mov_b32"
    _emit_rounded(encoder, name, _mode(instruction, _ROUNDING), instruction, target_kind, value)
    if flush and target_kind == "f32":
        last = encoder.records[-1]
        encoder.emit("flush_result_f32", d=last.d, a=last.d)


def _pair(encoder: FunctionEncoder, instruction: Instruction) -> None:
    """`cvt.rn.f16x2.f32 d, a, b`: a becomes the upper half."""
    kind = instruction.modifiers[-2].removesuffix("x2")
    mode = _mode(instruction, _ROUNDING)
    suffix = "_rounded" if mode else ""
    name = f"cvt_{kind}_f32{suffix}"
    if name not in handlers() or "satfinite" in instruction.modifiers:
        raise encoder.unsupported()
    halves = []
    for text in instruction.operands[1:3]:
        half = encoder.temporary("b16")
        encoder.emit(name, d=half, a=encoder.source(text, "f32"), flags=mode << 8)
        if "relu" in instruction.modifiers:
            encoder.emit(f"relu_{kind}", d=half, a=half)
        halves.append(half)
    destination = encoder.destination(instruction.operands[0], "b32")
    encoder.emit("pack_b32", d=destination, a=halves[1], b=halves[0])
