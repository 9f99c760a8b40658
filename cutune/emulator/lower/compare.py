"""Lowering of comparisons: `setp` into predicates, `set` into numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cutune.emulator.lower.encoder import FunctionEncoder, paired_names
from cutune.emulator.lower.opcodes import bits_type, handlers

_COMPARISONS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_BOOLEAN = ("and", "or", "xor")
_FLOAT_ONES = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}


def flushed(encoder: FunctionEncoder, source: int, kind: str) -> int:
    """The operand with subnormal numbers made zero."""
    name = f"flush_{kind}"
    return encoder.computed(name, kind, a=source) if name in handlers() else source


def _comparison(encoder: FunctionEncoder, comparison: str, kind: str, sources: list[int]) -> int:
    comparison = _COMPARISONS.get(comparison, comparison)
    if comparison in ("eq", "ne") and kind[0] in "su":
        kind = bits_type(kind)
    return encoder.computed(f"setp_{comparison}_{kind}", "pred", a=sources[0], b=sources[1])


def _comparison_operands(encoder: FunctionEncoder, kind: str) -> tuple[str, list[int]]:
    """Both operands of a comparison, and their type; half precision is compared as single."""
    texts = encoder.operands[1:3]
    if kind in ("f16", "bf16"):
        halves = [encoder.source(text, "u16") for text in texts]
        return "f32", [encoder.computed(f"cvt_f32_{kind}", "f32", a=half) for half in halves]
    sources = [encoder.source(text, kind) for text in texts]
    if "ftz" in encoder.modifiers:
        sources = [flushed(encoder, source, kind) for source in sources]
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


def lower_setp(encoder: FunctionEncoder) -> None:
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
        inverse = encoder.computed("not_pred", "pred", a=holds)
        results.append(_combined(encoder, inverse))
    _write_predicates(encoder, zip(names, results, strict=False))


def _write_predicates(encoder: FunctionEncoder, results: Iterable[tuple[str, int]]) -> None:
    for name, result in results:
        encoder.emit("mov_b32", d=encoder.destination(name, "pred"), a=result)


def lower_set(encoder: FunctionEncoder) -> None:
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
    encoder.emit(
        f"selp_{bits}",
        d=encoder.destination(target, bits),
        a=encoder.constant(bits, _FLOAT_ONES.get(result_kind, -1)),
        b=encoder.constant(bits, 0),
        c=holds,
    )
