"""Lowering of what reaches memory: loads, stores, atomics, addresses, calls, textures and surfaces.

Takes PTX instructions, emits the machine's records. Parameters of a kernel lie in a buffer of their
own, those of a device function in the local memory of its thread.
"""

from __future__ import annotations

import re

from cutune.emulator.lower.encoder import (
    NO_REGISTER,
    SHARED,
    SPINNING,
    FunctionEncoder,
    Lowering,
    elements,
    parameter_offsets,
    width_of,
)
from cutune.emulator.lower.opcodes import bits_type
from cutune.ptx.control_flow import call_target
from cutune.ptx.types import TYPE_BYTES, placed

#: Functions that the machine has, and how many arguments they take.
BUILTINS = {"vprintf": 2, "__assertfail": 5, "malloc": 1, "free": 1}
_SPACES = ("global", "shared", "local", "const", "param")
_NARROW = {"u8": "u8", "b8": "u8", "s8": "s8", "u16": "u16", "b16": "u16", "s16": "s16"}
_NARROW |= {"f16": "u16", "bf16": "u16"}
_SPIN = frozenset(("volatile", "acquire", "relaxed", "release", "acq_rel", "cas", "exch"))
_ATOMICS = frozenset(("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"))
#: Those that trials make of maxima and minima of data (`cutune.measure.trial_functions`).
_JOINED = frozenset(("joined_max", "joined_min"))
#: Types of floating-point numbers that atomic operations take.
_REALS = frozenset(("f32", "f64", "f16", "f16x2", "bf16", "bf16x2"))


def space_of(encoder: FunctionEncoder) -> str:
    """The state space that the opcode names, or `generic`."""
    spaces = (modifier.split("::")[0] for modifier in encoder.modifiers)
    return next((space for space in spaces if space in _SPACES), "generic")


def _element_type(kind: str) -> str:
    return _NARROW.get(kind) or ("b64" if TYPE_BYTES[kind] == 8 else "b32")


def _handler_space(encoder: FunctionEncoder, address: str) -> str:
    """The space of the handlers: `local` for memory of a thread, `global` for other addresses."""
    space, (base, _) = space_of(encoder), encoder.memory_operand(address)
    if space == "param":
        return "local" if base in encoder.frame or not encoder.function.is_kernel else "global"
    return "global" if space in ("generic", "const") else space


def _accessed(
    encoder: FunctionEncoder, kind: str, address: str, size: int
) -> tuple[str, dict[str, int]]:
    """Number an access; the space of its handler, and the fields of the record but registers."""
    handler_space, space = _handler_space(encoder, address), space_of(encoder)
    slot, offset = encoder.address_operand(address, handler_space == "shared")
    # Parameters of a kernel lie in constant memory, those of a call in its thread's own.
    space = "const" if space == "param" and handler_space == "global" else space
    is_real = kind == "atomic" and encoder.modifiers[-1] in _REALS
    flags = SHARED if handler_space == "shared" else 0
    flags |= 0 if _SPIN.isdisjoint(encoder.modifiers) else SPINNING
    site = encoder.access(kind, space, size, real=is_real)
    return handler_space, {"a": slot, "x": site, "flags": flags, "imm": offset}


def _moved_elements(encoder: FunctionEncoder, operand: str) -> tuple[str, list[str]]:
    """The type that a load or store moves, and the elements of its register operand."""
    kind = encoder.modifiers[-1]
    if kind == "b128" or "v8" in encoder.modifiers:
        raise encoder.unsupported()
    return kind, elements(operand)


def _vector_prefix(parts: list[str]) -> str:
    return f"v{len(parts)}_" if len(parts) > 1 else ""


def _lower_load(encoder: FunctionEncoder) -> None:
    target, address = encoder.operands[:2]
    kind, parts = _moved_elements(encoder, target)
    base, offset = encoder.memory_operand(address)
    parameters = {p.name: o for o, p in parameter_offsets(encoder.function)}
    if space_of(encoder) == "param" and encoder.function.is_kernel and base in parameters:
        for k, part in enumerate(parts):
            slot = _receiver(encoder, part, kind)
            place = parameters[base] + offset + k * TYPE_BYTES[kind]
            encoder.emit(f"ld_param_{_element_type(kind)}", d=slot, imm=place)
            _widen_received(encoder, part, kind, slot)
        return
    space, fields = _accessed(encoder, "load", address, TYPE_BYTES[kind] * len(parts))
    receivers = [_receiver(encoder, part, kind) for part in parts]
    if len(parts) > 1:
        fields["flags"] |= encoder.table(receivers)
    name = f"ld_{space}_{_vector_prefix(parts)}{_element_type(kind)}"
    encoder.emit(name, d=receivers[0], **fields)
    for part, slot in zip(parts, receivers, strict=True):
        _widen_received(encoder, part, kind, slot)


def _receiver(encoder: FunctionEncoder, text: str, kind: str) -> int:
    """The register for a loaded value: a temporary one where the target is wider than the type."""
    loaded = "u64" if _element_type(kind) == "b64" else "u32"
    if text == "_":
        return encoder.temporary(loaded)
    target = width_of(encoder.register_type(text))
    if target < width_of(loaded):
        raise encoder.fail(f"register {text} is narrower than .{kind}")
    return encoder.register(text) if target == width_of(loaded) else encoder.temporary(loaded)


def _widen_received(encoder: FunctionEncoder, text: str, kind: str, slot: int) -> None:
    if text != "_" and (target := encoder.register(text)) != slot:
        encoder.emit("widen_s32" if kind[0] == "s" else "widen_u32", d=target, a=slot)


def _lower_store(encoder: FunctionEncoder) -> None:
    address, value = encoder.operands[:2]
    kind, parts = _moved_elements(encoder, value)
    bits = f"b{8 * TYPE_BYTES[kind]}"
    lane = kind if kind in ("f32", "f64") else "b64" if bits == "b64" else "b32"
    sources = [encoder.source(part, lane) for part in parts]
    space, fields = _accessed(encoder, "store", address, TYPE_BYTES[kind] * len(parts))
    _emit_release(encoder)
    if len(parts) > 1:
        fields["flags"] |= encoder.table(sources)
    encoder.emit(f"st_{space}_{_vector_prefix(parts)}{bits}", b=sources[0], **fields)


def _emit_release(encoder: FunctionEncoder) -> None:
    if {"release", "acq_rel"} & set(encoder.modifiers):
        encoder.emit("fence")


def _lower_atomic(encoder: FunctionEncoder) -> None:
    """`atom.op.type d, [a], b{, c}`; `red` has no result."""
    kind = encoder.modifiers[-1]
    has_result = encoder.opcode == "atom"
    result, address, *values = encoder.operands if has_result else ("", *encoder.operands)
    operation = next((m for m in encoder.modifiers if m in _ATOMICS | _JOINED), "")
    if {"v2", "v4", "v8"} & set(encoder.modifiers) or not operation:
        raise encoder.unsupported()
    is_signless = operation not in ("min", "max", "inc", "dec") and kind[0] in "su"
    _, fields = _accessed(encoder, "atomic", address, TYPE_BYTES[kind])
    sources = [encoder.source(text, kind) for text in values[: 2 if operation == "cas" else 1]]
    fields |= dict(zip("bc", sources, strict=False))
    is_read = result in encoder.read_registers
    destination = encoder.destination(result, kind) if is_read else NO_REGISTER
    _emit_release(encoder)
    name = f"atom_{operation}_{bits_type(kind) if is_signless else kind}"
    encoder.emit(name, d=destination, **fields)


def _lower_address_conversion(encoder: FunctionEncoder) -> None:
    """`cvta.space` and `cvta.to.space`: only shared and local addresses change."""
    target, value = encoder.operands[:2]
    space = space_of(encoder)
    if encoder.modifiers[-1] != "u64":
        raise encoder.unsupported()
    source, destination = encoder.source(value, "u64"), encoder.destination(target, "u64")
    direction = "to_" if "to" in encoder.modifiers else ""
    name = f"cvta_{direction}{space}" if space in ("shared", "local") else "mov_b64"
    encoder.emit(name, d=destination, a=source)


def _lower_space_test(encoder: FunctionEncoder) -> None:
    """`isspacep.space p, a`."""
    target, value = encoder.operands
    if (space := space_of(encoder)) not in ("shared", "local", "global"):
        raise encoder.unsupported()
    destination = encoder.destination(target, "pred")
    encoder.emit(f"isspacep_{space}", d=destination, a=encoder.source(value, "u64"))


def _lower_builtin_call(encoder: FunctionEncoder) -> None:
    """A call of a function of the machine; others end a block: see `lower_function_call`."""
    results, arguments = _call_operands(encoder)
    name = call_target(encoder.instruction)
    if len(arguments) != BUILTINS.get(name):
        raise encoder.fail(f"function '{name}' is not defined in this module")
    places = [encoder.frame[variable] for variable in (*arguments, *results)]
    encoder.emit(f"call_{name.strip('_')}", flags=encoder.table([len(arguments), *places]))


def _call_operands(encoder: FunctionEncoder) -> tuple[list[str], list[str]]:
    """The results and the arguments of `call (results), target, (arguments)`."""
    at = encoder.operands.index(call_target(encoder.instruction))
    results = _listed(encoder.operands[0]) if at else []
    rest = encoder.operands[at + 1 :]
    return results, _listed(rest[0]) if rest and rest[0].startswith("(") else []


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.strip("() \n").split(",") if name.strip()]


def lower_function_call(encoder: FunctionEncoder, resume: int) -> None:
    """Emit the call of a device function; the warp goes on at block `resume`."""
    name = call_target(encoder.instruction)
    results, arguments = _call_operands(encoder)
    for text in (*results, *arguments):
        if text not in encoder.frame:
            raise encoder.fail(f"call operand '{text}' is not a .param variable")
    if name in encoder.function.registers:
        table = _indirect_copies(encoder, results, arguments)
        target = encoder.source(name, "u64")
        encoder.emit("call_indirect", a=target, x=resume, flags=encoder.table(table))
        return
    callee = encoder.symbols.functions.get(name)
    if callee is None or callee.body is None:
        raise encoder.fail(f"function '{name}' is not defined in this module")
    frame = FunctionEncoder(callee, encoder.symbols).frame
    to = [(frame[parameter.name], parameter.size) for parameter in callee.parameters]
    back = [(frame[result.name], result.size) for result in callee.results]
    table = [*_copies(encoder, arguments, to), *_copies(encoder, results, back, is_back=True)]
    index = list(encoder.symbols.functions).index(name)
    encoder.emit("call", x=resume, imm=index, flags=encoder.table(table))


def _indirect_copies(
    encoder: FunctionEncoder, results: list[str], arguments: list[str]
) -> list[int]:
    """Copies for a function of known prototype: results come first in its frame, then arguments."""
    declared = {v.name: v for v in (*encoder.function.variables, *encoder.function.parameters)}
    _, behind_results = placed(declared[name] for name in results)
    offsets, _ = placed((declared[name] for name in arguments), behind_results)
    to = [(at, declared[name].size) for name, at in zip(arguments, offsets, strict=True)]
    back = [(0, declared[name].size) for name in results]
    return [*_copies(encoder, arguments, to), *_copies(encoder, results, back, is_back=True)]


def _copies(
    encoder: FunctionEncoder, names: list[str], places: list[tuple[int, int]], is_back: bool = False
) -> list[int]:
    """A count and triples `from to size` between the frames of caller and callee."""
    table = [len(names)]
    for name, (place, size) in zip(names, places, strict=True):
        own = encoder.frame[name]
        table += [place, own, size] if is_back else [own, place, size]
    return table


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


MEMORY_LOWERINGS: dict[str, Lowering] = {
    **dict.fromkeys(("ld", "ldu"), _lower_load),
    "st": _lower_store,
    **dict.fromkeys(("atom", "red"), _lower_atomic),
    "cvta": _lower_address_conversion,
    "isspacep": _lower_space_test,
    "call": _lower_builtin_call,
    **dict.fromkeys(("tex", "tld4"), _lower_fetch),
    **dict.fromkeys(("suld", "sust"), _lower_surface),
}
