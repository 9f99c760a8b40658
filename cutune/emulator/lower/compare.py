"""Lowering of comparisons: `setp` into predicates, `set` into numbers."""

from __future__ import annotations

from collections.abc import Iterator

from cutune.emulator.lower.encoder import Emitter
from cutune.emulator.lower.opcodes import bits_type, handlers
from cutune.emulator.ptx.types import Instruction

_COMPARISONS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_BOOLEAN = ("and", "or", "xor")


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


def set_predicate(emitter: Emitter, instruction: Instruction) -> None:
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
    results = []
    for holds in _compared_halves(emitter, instruction):
        results.append(_combined(emitter, instruction, holds, third))
    if len(names) == 1:
        both = emitter.temporary("pred")
        emitter.emit("and_pred", d=both, a=results[0], b=results[1])
        results = [both]
    for name, result in zip(names, results, strict=True):
        emitter.emit("mov_b32", d=emitter.destination(name, "pred"), a=result)


def _compared_halves(emitter: Emitter, instruction: Instruction) -> Iterator[int]:
    """Does the comparison hold for the low halves, and does it for the high ones?"""
    kind = instruction.modifiers[-1].removesuffix("x2")
    operands = [emitter.source(text, "b32") for text in instruction.operands[1:3]]
    for part in ("low_b32", "high_b32"):
        wide = []
        for operand in operands:
            half, single = emitter.temporary("b32"), emitter.temporary("f32")
            emitter.emit(part, d=half, a=operand)
            emitter.emit(f"cvt_f32_{kind}", d=single, a=half)
            wide.append(single)
        yield _compare(emitter, instruction.modifiers[0], "f32", (wide[0], wide[1]))


def set_value(emitter: Emitter, instruction: Instruction) -> None:
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
    result_kind = instruction.modifiers[-2]
    one = {"f16x2": 0x3C00, "bf16x2": 0x3F80}.get(result_kind, 0xFFFF)
    halves = []
    for holds in _compared_halves(emitter, instruction):
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
