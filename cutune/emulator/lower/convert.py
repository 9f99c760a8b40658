"""Lowering of `cvt`: takes one conversion, gives a chain of the machine's simple ones.

Integers are extended to the 32 or 64 bits of a register, converted, and narrowed again, so that the
machine needs conversions between 32- and 64-bit integers and floating types only.
"""

from __future__ import annotations

from cutune.emulator.lower.encoder import Emitter, width_of
from cutune.emulator.lower.opcodes import handlers
from cutune.emulator.ptx.types import TYPE_BYTES, Instruction

_INTEGERS = frozenset(("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"))
_FLOATS = frozenset(("f16", "bf16", "f32", "f64"))
_TO_INTEGRAL = {"rni": 0, "rzi": 1, "rmi": 2, "rpi": 3}
_ROUNDING = {"rn": 0, "rz": 1, "rm": 2, "rp": 3}


def convert(emitter: Emitter, instruction: Instruction) -> None:
    """`cvt{.modifiers}.dtype.stype d, a`, and the pairs `cvt.rn.f16x2.f32 d, a, b`."""
    modifiers = instruction.modifiers
    target_kind, source_kind = modifiers[-2:]
    if target_kind in ("f16x2", "bf16x2") and source_kind == "f32":
        _pair(emitter, instruction)
    elif target_kind == "tf32":
        value = emitter.source(instruction.operands[1], "f32")
        emitter.emit("cvt_tf32_f32", d=emitter.destination(instruction.operands[0], "b32"), a=value)
    elif source_kind in _INTEGERS and target_kind in _INTEGERS:
        _integer(emitter, instruction)
    elif source_kind in _INTEGERS and target_kind in _FLOATS:
        _from_integer(emitter, instruction)
    elif source_kind in _FLOATS and target_kind in _INTEGERS:
        _to_integer(emitter, instruction)
    elif source_kind in _FLOATS and target_kind in _FLOATS:
        _float(emitter, instruction)
    else:
        raise emitter.unsupported()


def _finish(emitter: Emitter, text: str, value: int, kind: str) -> None:
    """Put an integer of type `kind` into the destination, extended when that is wider."""
    wide_value = width_of(kind) == 8
    wide_target = width_of(emitter.register_type(text)) == 8
    if TYPE_BYTES[kind] < 4:
        extended = emitter.temporary("u32")
        emitter.emit(f"extend_{kind}", d=extended, a=value)
        value = extended
    if wide_value and not wide_target:
        raise emitter.fail(f"register {text} is narrower than .{kind}")
    name = "mov_b64" if wide_target else "mov_b32"
    if wide_target and not wide_value:
        name = f"widen_{kind[0]}32"
    emitter.emit(name, d=emitter.register(text), a=value)


def _loaded(emitter: Emitter, text: str, kind: str) -> tuple[int, str]:
    """The source extended to a whole register, and the type it then has."""
    value = emitter.source(text, kind)
    if TYPE_BYTES[kind] >= 4:
        return value, kind
    extended = emitter.temporary("u32")
    emitter.emit(f"extend_{kind}", d=extended, a=value)
    return extended, f"{kind[0]}32"


def _integer(emitter: Emitter, instruction: Instruction) -> None:
    target_kind, source_kind = instruction.modifiers[-2:]
    value, held = _loaded(emitter, instruction.operands[1], source_kind)
    wide_target = TYPE_BYTES[target_kind] == 8
    if "sat" in instruction.modifiers and target_kind != held:
        saturated = emitter.temporary(target_kind)
        emitter.emit(f"sat_{target_kind}_{held}", d=saturated, a=value)
        value = saturated
    elif wide_target and held[1:] == "32":
        wide = emitter.temporary("u64")
        emitter.emit(f"widen_{held}", d=wide, a=value)
        value = wide
    elif not wide_target and held[1:] == "64":
        low = emitter.temporary("u32")
        emitter.emit("low_b64", d=low, a=value)
        value = low
    _finish(emitter, instruction.operands[0], value, target_kind)
    _merge_last_move(emitter)


def _merge_last_move(emitter: Emitter) -> None:
    """An operation into a temporary and a move from it are one operation."""
    last, before = emitter.records[-1], emitter.records[-2] if len(emitter.records) > 1 else None
    if (
        before is not None
        and last.handler in ("mov_b32", "mov_b64")
        and before.d == last.a
        and last.a in (*emitter.temporaries[4], *emitter.temporaries[8])
    ):
        before.d = last.d
        emitter.records.pop()


def _from_integer(emitter: Emitter, instruction: Instruction) -> None:
    target_kind, source_kind = instruction.modifiers[-2:]
    value, held = _loaded(emitter, instruction.operands[1], source_kind)
    mode = _mode(instruction, _ROUNDING)
    if mode and target_kind in ("f16", "bf16"):
        # Double holds every integer that is not too large for half precision anyway.
        double = emitter.temporary("f64")
        emitter.emit(f"cvt_f64_{held}", d=double, a=value)
        value, held = double, "f64"
    _emit_rounded(emitter, f"cvt_{target_kind}_{held}", mode, instruction, target_kind, value)


def _emit_rounded(
    emitter: Emitter, name: str, mode: int, instruction: Instruction, kind: str, value: int
) -> None:
    destination = emitter.destination(instruction.operands[0], kind)
    if mode:
        name = f"{name}_rounded"
    emitter.emit(name, d=destination, a=value, flags=mode << 8)
    if "sat" in instruction.modifiers:
        emitter.emit(f"saturate_{kind}", d=destination, a=destination)
    if "relu" in instruction.modifiers:
        emitter.emit(f"relu_{kind}", d=destination, a=destination)


def _mode(instruction: Instruction, modes: dict[str, int]) -> int:
    return next((modes[m] for m in instruction.modifiers if m in modes), 0)


def _as_single(emitter: Emitter, text: str, kind: str, flush: bool) -> tuple[int, str]:
    """Half precision as single, which holds it exactly."""
    value = emitter.source(text, kind)
    if kind in ("f16", "bf16"):
        single = emitter.temporary("f32")
        emitter.emit(f"cvt_f32_{kind}", d=single, a=value)
        return single, "f32"
    if flush and kind == "f32":
        flushed = emitter.temporary("f32")
        emitter.emit("flush_f32", d=flushed, a=value)
        return flushed, kind
    return value, kind


def _to_integer(emitter: Emitter, instruction: Instruction) -> None:
    target_kind, source_kind = instruction.modifiers[-2:]
    flush = "ftz" in instruction.modifiers
    value, held = _as_single(emitter, instruction.operands[1], source_kind, flush)
    mode = next((m for m in instruction.modifiers if m in _TO_INTEGRAL), "rzi")
    # Narrow integers saturate at their own limits; going through 32 bits keeps the order.
    through = target_kind if TYPE_BYTES[target_kind] >= 4 else "s32"
    result = emitter.temporary(through)
    emitter.emit(f"cvt_{mode}_{through}_{held}", d=result, a=value)
    if through != target_kind:
        narrow = emitter.temporary("s32")
        emitter.emit(f"sat_{target_kind}_s32", d=narrow, a=result)
        result = narrow
        if held == "f64" and target_kind[0] == "u":
            result = _unless_nan(emitter, value, result, 1 << (8 * TYPE_BYTES[target_kind] - 1))
    _finish(emitter, instruction.operands[0], result, target_kind)
    _merge_last_move(emitter)


def _unless_nan(emitter: Emitter, tested: int, value: int, otherwise: int) -> int:
    is_nan, result = emitter.temporary("pred"), emitter.temporary("u32")
    emitter.emit("setp_nan_f64", d=is_nan, a=tested, b=tested)
    emitter.emit("selp_b32", d=result, a=emitter.constant("u32", otherwise), b=value, c=is_nan)
    return result


def _float(emitter: Emitter, instruction: Instruction) -> None:
    target_kind, source_kind = instruction.modifiers[-2:]
    modifiers = instruction.modifiers
    flush = "ftz" in modifiers
    if target_kind == "f64" and source_kind in ("f16", "bf16"):
        value, held = emitter.source(instruction.operands[1], source_kind), source_kind
    else:
        value, held = _as_single(emitter, instruction.operands[1], source_kind, flush)
    integral = next((m for m in modifiers if m in _TO_INTEGRAL), "")
    if integral:
        whole = emitter.temporary(held)
        emitter.emit(f"cvt_{integral}_{held}", d=whole, a=value)
        value = whole
    name = f"cvt_{target_kind}_{held}"
    if target_kind == held:
        name = "mov_b64" if held == "f64" else "mov_b32"
    _emit_rounded(emitter, name, _mode(instruction, _ROUNDING), instruction, target_kind, value)
    if flush and target_kind == "f32":
        last = emitter.records[-1]
        emitter.emit("flush_result_f32", d=last.d, a=last.d)


def _pair(emitter: Emitter, instruction: Instruction) -> None:
    """`cvt.rn.f16x2.f32 d, a, b`: a becomes the upper half."""
    kind = instruction.modifiers[-2].removesuffix("x2")
    mode = _mode(instruction, _ROUNDING)
    suffix = "_rounded" if mode else ""
    name = f"cvt_{kind}_f32{suffix}"
    if name not in handlers() or "satfinite" in instruction.modifiers:
        raise emitter.unsupported()
    halves = []
    for text in instruction.operands[1:3]:
        half = emitter.temporary("b16")
        emitter.emit(name, d=half, a=emitter.source(text, "f32"), flags=mode << 8)
        if "relu" in instruction.modifiers:
            emitter.emit(f"relu_{kind}", d=half, a=half)
        halves.append(half)
    destination = emitter.destination(instruction.operands[0], "b32")
    emitter.emit("pack_b32", d=destination, a=halves[1], b=halves[0])
