"""Lowering of loads, stores, atomics, address conversions and calls."""

from __future__ import annotations

from collections.abc import Callable

from cutune.emulator.lower.encoder import (
    NO_REGISTER,
    SHARED,
    SPINNING,
    Access,
    FunctionEncoder,
    width_of,
)
from cutune.emulator.lower.encoder import parameter_offsets as offsets_of
from cutune.emulator.lower.opcodes import bits_type
from cutune.emulator.ptx.control_flow import call_target
from cutune.emulator.ptx.types import TYPE_BYTES, Instruction, Variable

BUILTINS = {
    "vprintf": 2,
    "__assertfail": 5,
    "malloc": 1,
    "free": 1,
}
_SPACES = ("global", "shared", "local", "const", "param")
_ELEMENTS = {"u8": "u8", "b8": "u8", "s8": "s8", "u16": "u16", "b16": "u16", "s16": "s16"}
_ELEMENTS |= {"f16": "u16", "bf16": "u16"}
_SPIN = ("volatile", "acquire", "relaxed", "release", "acq_rel", "cas", "exch")


def space_of(instruction: Instruction) -> str:
    """The state space that the opcode names, or `generic`."""
    for modifier in instruction.modifiers:
        space = modifier.split("::")[0]
        if space in _SPACES:
            return space
    return "generic"


def _element(kind: str) -> str:
    return _ELEMENTS.get(kind) or ("b64" if TYPE_BYTES[kind] == 8 else "b32")


def _elements(text: str) -> list[str]:
    return [part.strip() for part in text.strip("{} ").split(",")]


def _address(encoder: FunctionEncoder, text: str, space: str) -> tuple[int, int]:
    """Register with the base address and the offset, for handlers of the given space."""
    base, offset = encoder.memory_operand(text)
    kind = "u32" if space == "shared" else "u64"
    return encoder.source(base, kind), offset


def _lowered_space(encoder: FunctionEncoder, instruction: Instruction, base: str) -> str:
    """The space of the handlers: `local` for memory of a thread, `global` for other addresses."""
    space = space_of(instruction)
    if space == "param":
        return "local" if base in encoder.frame or not encoder.function.is_kernel else "global"
    return "global" if space in ("generic", "const") else space


def _site(
    encoder: FunctionEncoder, instruction: Instruction, kind: str, size: int, lowered: str
) -> int:
    # Parameters of a kernel lie in constant memory, those of a call in its thread's own.
    space = space_of(instruction)
    space = "const" if space == "param" and lowered == "global" else space
    return encoder.symbols.site(
        Access(
            kind,
            space,
            size,
            bool(instruction.guard),
            instruction.line,
            kind == "atomic" and instruction.modifiers[-1] in REALS,
        )
    )


#: Types of floating-point numbers that atomic operations take.
REALS = frozenset(("f32", "f64", "f16", "f16x2", "bf16", "bf16x2"))


def _flags(instruction: Instruction, space: str) -> int:
    flags = SHARED if space == "shared" else 0
    return flags | (SPINNING if set(_SPIN) & set(instruction.modifiers) else 0)


def _moved(
    encoder: FunctionEncoder, instruction: Instruction, operand: str
) -> tuple[str, list[str]]:
    """The type that a load or store moves, and the elements of its register operand."""
    kind = instruction.modifiers[-1]
    if kind == "b128" or "v8" in instruction.modifiers:
        raise encoder.unsupported()
    return kind, _elements(operand) if operand.startswith("{") else [operand]


def _load(encoder: FunctionEncoder, instruction: Instruction) -> None:
    target, address = instruction.operands[:2]
    kind, parts = _moved(encoder, instruction, target)
    base, offset = encoder.memory_operand(address)
    parameters = {p.name: o for o, p in offsets_of(encoder.function)}
    if space_of(instruction) == "param" and encoder.function.is_kernel and base in parameters:
        for k, part in enumerate(parts):
            at = parameters[base] + offset + k * TYPE_BYTES[kind]
            slot, finish = _receiver(encoder, part, kind)
            encoder.emit(f"ld_param_{_element(kind)}", d=slot, imm=at)
            finish()
        return
    space = _lowered_space(encoder, instruction, base)
    slot_a, offset = _address(encoder, address, space)
    site = _site(encoder, instruction, "load", TYPE_BYTES[kind] * len(parts), space)
    flags = _flags(instruction, space)
    receivers = [_receiver(encoder, part, kind) for part in parts]
    name = f"ld_{space}_{_element(kind)}"
    if len(parts) > 1:
        name = f"ld_{space}_v{len(parts)}_{_element(kind)}"
        flags |= encoder.table([slot for slot, _ in receivers])
    encoder.emit(name, d=receivers[0][0], a=slot_a, x=site, flags=flags, imm=offset)
    for _, finish in receivers:
        finish()


def _receiver(encoder: FunctionEncoder, text: str, kind: str) -> tuple[int, Callable[[], None]]:
    """Register for a loaded value, and what extends it when the target is wider than the type."""

    def nothing() -> None:
        pass

    element = _element(kind)
    if text == "_":
        return encoder.temporary("u64" if element == "b64" else "u32"), nothing
    wide = width_of(encoder.register_type(text)) == 8
    if wide == (element == "b64"):
        return encoder.register(text), nothing
    if not wide:
        raise encoder.fail(f"register {text} is narrower than .{kind}")
    loaded, target = encoder.temporary("u32"), encoder.register(text)
    widening = "widen_s32" if kind[0] == "s" else "widen_u32"

    def extend() -> None:
        encoder.emit(widening, d=target, a=loaded)

    return loaded, extend


def _store(encoder: FunctionEncoder, instruction: Instruction) -> None:
    address, value = instruction.operands[:2]
    kind, parts = _moved(encoder, instruction, value)
    base, _ = encoder.memory_operand(address)
    space = _lowered_space(encoder, instruction, base)
    bits = f"b{8 * TYPE_BYTES[kind]}"
    lane = "b64" if bits == "b64" else "b32"
    sources = [encoder.source(part, kind if kind in ("f32", "f64") else lane) for part in parts]
    slot, offset = _address(encoder, address, space)
    _release(encoder, instruction)
    site = _site(encoder, instruction, "store", TYPE_BYTES[kind] * len(parts), space)
    flags = _flags(instruction, space)
    name = f"st_{space}_{bits}"
    if len(parts) > 1:
        name = f"st_{space}_v{len(parts)}_{bits}"
        flags |= encoder.table(sources)
    encoder.emit(name, a=slot, b=sources[0], x=site, flags=flags, imm=offset)


def _release(encoder: FunctionEncoder, instruction: Instruction) -> None:
    if {"release", "acq_rel"} & set(instruction.modifiers):
        encoder.emit("fence")


def _atomic(encoder: FunctionEncoder, instruction: Instruction) -> None:
    """`atom.op.type d, [a], b{, c}`; `red` is the same without a result."""
    kind = instruction.modifiers[-1]
    operands = instruction.operands
    result, (address, *values) = "", operands
    if instruction.opcode == "atom":
        result, address, *values = operands
    operation = next((m for m in instruction.modifiers if m in _ATOMICS), "")
    if any(m in ("v2", "v4", "v8") for m in instruction.modifiers) or not operation:
        raise encoder.unsupported()
    signless = operation not in ("min", "max", "inc", "dec") and kind[0] in "su"
    typed = bits_type(kind) if signless else kind
    space = _lowered_space(encoder, instruction, encoder.memory_operand(address)[0])
    slot, offset = _address(encoder, address, space)
    sources = [encoder.source(text, kind) for text in values[: 2 if operation == "cas" else 1]]
    destination = encoder.destination(result, kind) if encoder.is_read(result) else NO_REGISTER
    _release(encoder, instruction)
    site = _site(encoder, instruction, "atomic", TYPE_BYTES[kind], space)
    encoder.emit(
        f"atom_{operation}_{typed}",
        d=destination,
        a=slot,
        x=site,
        flags=_flags(instruction, space),
        imm=offset,
        **dict(zip("bc", sources, strict=False)),
    )


_ATOMICS = frozenset(["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"])


def _to_generic(encoder: FunctionEncoder, instruction: Instruction) -> None:
    """`cvta.space` and `cvta.to.space`: only shared and local addresses change."""
    target, value = instruction.operands[:2]
    space = space_of(instruction)
    if instruction.modifiers[-1] != "u64":
        raise encoder.unsupported()
    source, destination = encoder.source(value, "u64"), encoder.destination(target, "u64")
    if space in ("shared", "local"):
        direction = "to_" if "to" in instruction.modifiers else ""
        encoder.emit(f"cvta_{direction}{space}", d=destination, a=source)
    else:
        encoder.emit("mov_b64", d=destination, a=source)


def _is_space(encoder: FunctionEncoder, instruction: Instruction) -> None:
    space = space_of(instruction)
    target, value = instruction.operands
    if space not in ("shared", "local", "global"):
        raise encoder.unsupported()
    destination = encoder.destination(target, "pred")
    encoder.emit(f"isspacep_{space}", d=destination, a=encoder.source(value, "u64"))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.strip("() \n").split(",") if name.strip()]


def _call(encoder: FunctionEncoder, instruction: Instruction) -> None:
    """A builtin; calls of functions end a block and are lowered by `call`."""
    results, arguments = _call_operands(instruction)
    name = call_target(instruction)
    if len(arguments) != BUILTINS.get(name):
        raise encoder.fail(f"function '{name}' is not defined in this module")
    places = [encoder.frame[argument] for argument in arguments]
    places += [encoder.frame[result] for result in results]
    handler = f"call_{name.strip('_')}"
    encoder.emit(handler, flags=encoder.table([len(arguments), *places]))


def _call_operands(instruction: Instruction) -> tuple[list[str], list[str]]:
    at = instruction.operands.index(call_target(instruction))
    results = _names(instruction.operands[0]) if at else []
    rest = instruction.operands[at + 1 :]
    return results, _names(rest[0]) if rest and rest[0].startswith("(") else []


def call(encoder: FunctionEncoder, instruction: Instruction, resume: int) -> None:
    """Emit the call of a device function; the warp goes on at block `resume`."""
    encoder.begin(instruction)
    name = call_target(instruction)
    results, arguments = _call_operands(instruction)
    for text in (*results, *arguments):
        if text not in encoder.frame:
            raise encoder.fail(f"call operand '{text}' is not a .param variable")
    declared = {v.name: v for v in (*encoder.function.variables, *encoder.function.parameters)}
    if encoder.is_register(name):
        # Results come first in a function's frame, and arguments behind them.
        places = [(encoder.frame[x], declared[x]) for x in arguments]
        copies_in = _behind_results(places, [declared[x] for x in results])
        copies_out = [(0, encoder.frame[x], declared[x].size) for x in results]
        table = _flat(copies_in) + _flat(copies_out)
        target = encoder.source(name, "u64")
        encoder.emit("call_indirect", a=target, x=resume, flags=encoder.table(table))
        return
    callee = encoder.symbols.functions.get(name)
    if callee is None or callee.body is None:
        raise encoder.fail(f"function '{name}' is not defined in this module")
    frame = FunctionEncoder(callee, encoder.symbols).frame
    copies_in = [
        (encoder.frame[text], frame[parameter.name], parameter.size)
        for text, parameter in zip(arguments, callee.parameters, strict=True)
    ]
    copies_out = [
        (frame[result.name], encoder.frame[text], result.size)
        for text, result in zip(results, callee.results, strict=True)
    ]
    index = list(encoder.symbols.functions).index(name)
    table = _flat(copies_in) + _flat(copies_out)
    encoder.emit("call", x=resume, imm=index, flags=encoder.table(table))


def _flat(copies: list[tuple[int, int, int]]) -> list[int]:
    return [len(copies), *(number for copy in copies for number in copy)]


def _behind_results(
    arguments: list[tuple[int, Variable]], results: list[Variable]
) -> list[tuple[int, int, int]]:
    """Offsets in the frame of a function of which only the prototype is known."""
    offset = 0
    for result in results:
        offset = -(-offset // result.alignment) * result.alignment + result.size
    copies = []
    for place, argument in arguments:
        offset = -(-offset // argument.alignment) * argument.alignment
        copies.append((place, offset, argument.size))
        offset += argument.size
    return copies


LOWERINGS: dict[str, Callable[[FunctionEncoder, Instruction], None]] = {
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "atom": _atomic,
    "red": _atomic,
    "cvta": _to_generic,
    "isspacep": _is_space,
    "call": _call,
}
