"""Lowering of texture fetches and surface accesses through texture and surface objects."""

from __future__ import annotations

import re

from cutune.emulator.lower.encoder import FunctionEncoder, Lowering, elements

_DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2}
_LAYERED, _FLOAT_COORDINATES = 1, 2
_OUTSIDE = {"trap": 0, "clamp": 1, "zero": 2}
# [object, {x, y, z, …}]; a single coordinate may stand without braces.
_TEXTURE_PLACE = re.compile(r"\[\s*([%\w$]+)\s*,\s*\{?([^{}\]]*)\}?\s*\]$")


def _geometry(encoder: FunctionEncoder) -> str:
    geometry = next((m for m in encoder.modifiers if m in _DIMENSIONS), "")
    if not geometry:
        raise encoder.unsupported()
    return geometry


def _coordinates(
    encoder: FunctionEncoder, text: str, geometry: str, kind: str
) -> tuple[int, list[int]]:
    """The object's register, and those of the layer and the coordinates."""
    match = _TEXTURE_PLACE.match(text)
    if match is None:
        raise encoder.unsupported()
    texts = [part.strip() for part in match.group(2).split(",") if part.strip()]
    kinds = [*(["u32"] if geometry[0] == "a" else []), *[kind] * _DIMENSIONS[geometry]]
    if len(texts) < len(kinds):
        raise encoder.unsupported()
    sources = [encoder.source(part, each) for part, each in zip(texts, kinds, strict=False)]
    return encoder.source(match.group(1), "u64"), sources


def _lower_fetch(encoder: FunctionEncoder) -> None:
    """`tex{.level|.grad}.geom.v4.dtype.ctype {d…}, [t, {c…}]`, and `tld4.comp.2d…`.

    Without mipmaps the level of detail has no effect. `d|p` (sparse textures) is refused.
    """
    modifiers, operands = encoder.modifiers, encoder.operands
    geometry = _geometry(encoder)
    kind, coordinate_kind = modifiers[-2:]
    if "|" in operands[0] or kind not in ("f32", "s32", "u32") or "v4" not in modifiers:
        raise encoder.unsupported()
    gather = 1 + "rgba".index(modifiers[0]) if encoder.opcode == "tld4" else 0
    handle, coordinates = _coordinates(encoder, operands[1], geometry, coordinate_kind)
    results = [encoder.destination(part, kind) for part in elements(operands[0])]
    flags = _LAYERED * (geometry[0] == "a") + _FLOAT_COORDINATES * (coordinate_kind == "f32")
    shape = [_DIMENSIONS[geometry], flags, gather, len(results)]
    encoder.emit("texture_fetch", a=handle, flags=encoder.table([*shape, *results, *coordinates]))


def _lower_surface(encoder: FunctionEncoder) -> None:
    """`suld.b.geom.vec.type.clamp {d…}, [s, {c…}]` and `sust.b…`; x counts bytes."""
    modifiers, operands = encoder.modifiers, encoder.operands
    geometry = _geometry(encoder)
    kind = next((m for m in modifiers if m in ("b8", "b16", "b32", "b64")), "")
    if modifiers[0] != "b" or not kind:
        raise encoder.unsupported()
    is_store = encoder.opcode == "sust"
    place, values = operands if is_store else operands[::-1]
    handle, coordinates = _coordinates(encoder, place, geometry, "s32")
    register = encoder.source if is_store else encoder.destination
    slots = [register(part, "b64" if kind == "b64" else "b32") for part in elements(values)]
    outside = next((_OUTSIDE[m] for m in modifiers if m in _OUTSIDE), 0)
    shape = [_DIMENSIONS[geometry], _LAYERED * (geometry[0] == "a"), outside, len(slots)]
    table = encoder.table([*shape, *slots, *coordinates])
    encoder.emit(f"surface_{'store' if is_store else 'load'}_{kind}", a=handle, flags=table)


TEXTURE_LOWERINGS: dict[str, Lowering] = {
    "tex": _lower_fetch,
    "tld4": _lower_fetch,
    "suld": _lower_surface,
    "sust": _lower_surface,
}
