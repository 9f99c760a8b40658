"""Functions that compiled code calls. Takes a module's functions, says why one is refused."""

from __future__ import annotations

from collections.abc import Mapping

from cutune.core.codes import Code
from cutune.emulator.ptx.control_flow import call_target
from cutune.emulator.ptx.taint import names
from cutune.emulator.ptx.types import TYPE_BYTES, Function, Instruction, Variable
from cutune.proof.values.operations import FUNCTIONS

SPACES = ("param", "global", "const", "local", "shared")
PREFETCHES = frozenset({"prefetch", "prefetchu"})
#: Called functions that end the launch.
ENDINGS = frozenset({"__assertfail"})
#: How a load or a store may be marked without any meaning for its value.
_HINTS = frozenset({"weak", "ca", "cg", "cs", "lu", "wb", "nc", "v2", "v4", "v8", *SPACES})


def uncallable(
    name: str, functions: Mapping[str, Function], variables: Mapping[str, Variable], seen: set[str]
) -> tuple[Code, str] | None:
    """Return why a function may not be called: it reads its ids, or its threads cooperate."""
    function = functions.get(name)
    if function is None or function.body is None:
        return Code.UNKNOWN_FUNCTION, f"'{name}'"
    seen.add(name)
    for item in function.body:
        if not isinstance(item, Instruction):
            continue
        if (problem := _strange(item, function, variables)) is not None:
            return Code.NOT_PROVEN, f"{problem} in '{name}'"
        if item.opcode == "call":
            target = call_target(item)
            if target not in seen | ENDINGS:
                inner = uncallable(target, functions, variables, seen)
                if inner is not None:
                    return inner
    return None


def _strange(
    item: Instruction, function: Function, variables: Mapping[str, Variable]
) -> str | None:
    plain = {"ld", "st", "call", "bra", "brx", "ret", "exit", "trap", *FUNCTIONS, *PREFETCHES}
    if item.opcode not in plain:
        return f"'{item.opcode}'"
    if item.opcode in ("ld", "st"):
        for modifier in item.modifiers:
            if not is_plain(modifier) or modifier.split("::")[0] == "shared":
                return f"'{item.opcode}.{modifier}'"
    for operand in item.operands:
        for name in names(operand):
            variable = variables.get(name)
            if variable is not None and variable.space == "shared":
                return "shared memory"
            if name.startswith("%") and name not in function.registers:
                return f"'{name}'"
    return None


def is_plain(modifier: str) -> bool:
    """Tell whether a modifier of a load or a store leaves its value alone: type, space, a hint."""
    base = modifier.split("::", maxsplit=1)[0]
    return modifier in _HINTS or base in (*SPACES, "L1", "L2") or modifier in TYPE_BYTES
