"""Lowering of comparisons: `setp` into predicates, `set` into numbers."""

from __future__ import annotations

from collections.abc import Iterator

from cutune.emulator.lower.encoder import FunctionEncoder
from cutune.emulator.lower.opcodes import bits_type, handlers
from cutune.emulator.ptx.types import Instruction

_COMPARISONS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_BOOLEAN = ("and", "or", "xor")


def flushed(encoder: FunctionEncoder, source: int, kind: str) -> int:
    """The operand with subnormal numbers made zero."""
    if f"flush_{kind}" not in handlers():
        return source
    value = encoder.temporary(kind)
    encoder.emit(f"flush_{kind}", d=value, a=source)
    return value


def _compare(
    encoder: FunctionEncoder, comparison: str, kind: str, operands: tuple[int, int]
) -> int:
    """A predicate register with the result."""
    comparison = _COMPARISONS.get(comparison, comparison)
    if comparison in ("eq", "ne") and kind[0] in "su":
        kind = bits_type(kind)
    result = encoder.temporary("pred")
    encoder.emit(f"setp_{comparison}_{kind}", d=result, a=operands[0], b=operands[1])
    return result


def _comparison_operands(
    encoder: FunctionEncoder, instruction: Instruction, kind: str, texts: tuple[str, ...]
) -> tuple[str, tuple[int, int]]:
    """Both operands of a comparison; half precision is compared as single."""
    if kind in ("f16", "bf16"):
        halves = [encoder.source(text, "u16") for text in texts]
        wide = []
        for half in halves:
            wide.append(encoder.temporary("f32"))
            encoder.emit(f"cvt_f32_{kind}", d=wide[-1], a=half)
        return "f32", (wide[0], wide[1])
    sources = [encoder.source(text, kind) for text in texts]
    if "ftz" in instruction.modifiers:
        sources = [flushed(encoder, source, kind) for source in sources]
    return kind, (sources[0], sources[1])


def _combined(encoder: FunctionEncoder, instruction: Instruction, holds: int, text: str) -> int:
    """The comparison's result after `.and`, `.or` or `.xor` with the third source."""
    operator = next((m for m in instruction.modifiers if m in _BOOLEAN), "")
    if not operator:
        return holds
    result = encoder.temporary("pred")
    other = encoder.source(text, "pred")
    encoder.emit(f"{operator}_pred", d=result, a=holds, b=other)
    return result


def _negation(encoder: FunctionEncoder, holds: int) -> int:
    result = encoder.temporary("pred")
    encoder.emit("not_pred", d=result, a=holds)
    return result


def set_predicate(encoder: FunctionEncoder, instruction: Instruction) -> None:
    comparison, kind = instruction.modifiers[0], instruction.modifiers[-1]
    operands = instruction.operands
    names = [name.strip() for name in operands[0].split("|")]
    third = operands[3] if len(operands) > 3 else ""
    if kind in ("f16x2", "bf16x2"):
        _set_predicate_pair(encoder, instruction, names, third)
        return
    kind, sources = _comparison_operands(encoder, instruction, kind, operands[1:3])
    plain = len(names) == 1 and not third
    holds = _compare(encoder, comparison, kind, sources)
    if plain:
        encoder.records[-1].d = encoder.destination(names[0], "pred")
        return
    results = [_combined(encoder, instruction, holds, third)]
    if len(names) > 1:
        inverse = _negation(encoder, holds)
        results.append(_combined(encoder, instruction, inverse, third))
    for name, result in zip(names, results, strict=False):
        encoder.emit("mov_b32", d=encoder.destination(name, "pred"), a=result)


def _set_predicate_pair(
    encoder: FunctionEncoder, instruction: Instruction, names: list[str], third: str
) -> None:
    results = []
    for holds in _compared_halves(encoder, instruction):
        results.append(_combined(encoder, instruction, holds, third))
    if len(names) == 1:
        both = encoder.temporary("pred")
        encoder.emit("and_pred", d=both, a=results[0], b=results[1])
        results = [both]
    for name, result in zip(names, results, strict=True):
        encoder.emit("mov_b32", d=encoder.destination(name, "pred"), a=result)


def _compared_halves(encoder: FunctionEncoder, instruction: Instruction) -> Iterator[int]:
    """Does the comparison hold for the low halves, and does it for the high ones?"""
    kind = instruction.modifiers[-1].removesuffix("x2")
    operands = [encoder.source(text, "b32") for text in instruction.operands[1:3]]
    for part in ("low_b32", "high_b32"):
        wide = []
        for operand in operands:
            half, single = encoder.temporary("b32"), encoder.temporary("f32")
            encoder.emit(part, d=half, a=operand)
            encoder.emit(f"cvt_f32_{kind}", d=single, a=half)
            wide.append(single)
        yield _compare(encoder, instruction.modifiers[0], "f32", (wide[0], wide[1]))


def set_value(encoder: FunctionEncoder, instruction: Instruction) -> None:
    """`set` gives all ones (1.0 for a floating type) or zero."""
    comparison, (result_kind, kind) = instruction.modifiers[0], instruction.modifiers[-2:]
    operands = instruction.operands
    if kind.endswith("x2"):
        _set_pair(encoder, instruction)
        return
    kind, sources = _comparison_operands(encoder, instruction, kind, operands[1:3])
    holds = _compare(encoder, comparison, kind, sources)
    holds = _combined(encoder, instruction, holds, operands[3] if len(operands) > 3 else "")
    one = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}.get(result_kind, -1)
    bits = bits_type(result_kind) if result_kind != "bf16" else "b16"
    encoder.emit(
        f"selp_{bits}",
        d=encoder.destination(operands[0], bits),
        a=encoder.constant(bits, one),
        b=encoder.constant(bits, 0),
        c=holds,
    )


def _set_pair(encoder: FunctionEncoder, instruction: Instruction) -> None:
    result_kind = instruction.modifiers[-2]
    one = {"f16x2": 0x3C00, "bf16x2": 0x3F80}.get(result_kind, 0xFFFF)
    halves = []
    for holds in _compared_halves(encoder, instruction):
        value = encoder.temporary("b32")
        encoder.emit(
            "selp_b32",
            d=value,
            a=encoder.constant("b32", one),
            b=encoder.constant("b32", 0),
            c=holds,
        )
        halves.append(value)
    destination = encoder.destination(instruction.operands[0], "b32")
    encoder.emit("pack_b32", d=destination, a=halves[0], b=halves[1])
