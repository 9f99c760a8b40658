"""Lowering of texture fetches and surface accesses through texture and surface objects."""

from __future__ import annotations

import re
from collections.abc import Callable

from cutune.emulator.lower.encoder import FunctionEncoder
from cutune.emulator.ptx.types import Instruction

_DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2}
_LAYERED, _FLOAT_COORDINATES = 1, 2
_OUTSIDE = {"trap": 0, "clamp": 1, "zero": 2}
# [object, {x, y, z, …}]; a single coordinate may stand without braces.
_PLACE = re.compile(r"\[\s*([%\w$]+)\s*,\s*\{?([^{}\]]*)\}?\s*\]$")


def _geometry(encoder: FunctionEncoder, instruction: Instruction) -> str:
    found = next((m for m in instruction.modifiers if m in _DIMENSIONS), "")
    if not found:
        raise encoder.unsupported()
    return found


def _place(encoder: FunctionEncoder, text: str, geometry: str, kind: str) -> tuple[int, list[int]]:
    """The object's register, and those of the layer and the coordinates."""
    match = _PLACE.match(text)
    if match is None:
        raise encoder.unsupported()
    texts = [part.strip() for part in match.group(2).split(",") if part.strip()]
    kinds = [kind] * _DIMENSIONS[geometry]
    if geometry[0] == "a":
        kinds.insert(0, "u32")
    if len(texts) < len(kinds):
        raise encoder.unsupported()
    sources = [encoder.source(part, each) for part, each in zip(texts, kinds, strict=False)]
    return encoder.source(match.group(1), "u64"), sources


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.strip("{} ").split(",")]


def _fetch(encoder: FunctionEncoder, instruction: Instruction) -> None:
    """`tex{.level|.grad}.geom.v4.dtype.ctype {d…}, [t, {c…}]`, and `tld4.comp.2d…`.

    Without mipmaps the level of detail has no effect. `d|p` (sparse textures) is refused.
    """
    modifiers, operands = instruction.modifiers, instruction.operands
    geometry = _geometry(encoder, instruction)
    kind, coordinate_kind = modifiers[-2:]
    if "|" in operands[0] or kind not in ("f32", "s32", "u32") or "v4" not in modifiers:
        raise encoder.unsupported()
    gather = 0
    if instruction.opcode == "tld4":
        gather = 1 + "rgba".index(modifiers[0])
    handle, coordinates = _place(encoder, operands[1], geometry, coordinate_kind)
    results = [encoder.destination(part, kind) for part in _parts(operands[0])]
    flags = _LAYERED * (geometry[0] == "a") + _FLOAT_COORDINATES * (coordinate_kind == "f32")
    shape = [_DIMENSIONS[geometry], flags, gather, len(results)]
    table = encoder.table([*shape, *results, *coordinates])
    encoder.emit("texture_fetch", a=handle, flags=table)


def _surface(encoder: FunctionEncoder, instruction: Instruction) -> None:
    """`suld.b.geom.vec.type.clamp {d…}, [s, {c…}]` and `sust.b…`; x counts bytes."""
    modifiers, operands = instruction.modifiers, instruction.operands
    geometry = _geometry(encoder, instruction)
    kind = next((m for m in modifiers if m in ("b8", "b16", "b32", "b64")), "")
    if modifiers[0] != "b" or not kind:
        raise encoder.unsupported()
    store = instruction.opcode == "sust"
    place, values = operands if store else operands[::-1]
    handle, coordinates = _place(encoder, place, geometry, "s32")
    register = encoder.source if store else encoder.destination
    lane = "b64" if kind == "b64" else "b32"
    slots = [register(part, lane) for part in _parts(values)]
    outside = next((_OUTSIDE[m] for m in modifiers if m in _OUTSIDE), 0)
    shape = [_DIMENSIONS[geometry], _LAYERED * (geometry[0] == "a"), outside, len(slots)]
    table = encoder.table([*shape, *slots, *coordinates])
    encoder.emit(f"surface_{'store' if store else 'load'}_{kind}", a=handle, flags=table)


LOWERINGS: dict[str, Callable[[FunctionEncoder, Instruction], None]] = {
    "tex": _fetch,
    "tld4": _fetch,
    "suld": _surface,
    "sust": _surface,
}
