"""Code of trials. Takes PTX that is read, gives what an entry reaches, and what it reads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

from cutune.ptx.control_flow import call_target
from cutune.ptx.types import Function, Module
from cutune.toolchain.kernel_names import base_name

#: Registers that tell a thread where it is, and how many there are.
_PLACES = re.compile(r"%(?:n?tid|n?ctaid)\.[xyz]|%laneid")
_REGISTER = re.compile(r"%[A-Za-z]\w*(?:\.[a-z]\w*)?")
#: What tells a register of a scope of its own, as `low@21`, from others in instructions as read.
_NUMBERED = re.compile(r"(?<=\w)@\d+")


def entries_of(module: Module, kernels: Collection[str]) -> dict[str, str]:
    """Return the entries of those kernels that have a single one, by their names in the source."""
    names = [name for name, one in module.functions.items() if one.is_kernel]
    count = Counter(map(base_name, names))
    return {base: n for n in names if count[base := base_name(n)] == 1 and base in kernels}


def functions_reached(module: Module, entry: str) -> list[str]:
    """Return the functions that an entry calls, itself first."""
    names = [entry]
    for name in names:
        function = module.functions.get(name)
        instructions = function.instructions if function is not None else ()
        calls = (i for i in instructions if i.opcode == "call")
        names += [t for i in calls if (t := call_target(i)) and t not in names]
    return names


def strange_register(function: Function) -> str:
    """Return one that a function reads beside its own, and those of indices and shapes; or ""."""
    named = (name for operand in function.operands for name in _REGISTER.findall(operand))
    others = (name for name in named if name not in function.registers)
    return next((name for name in others if not _PLACES.fullmatch(name)), "")


def as_written(instructions: str) -> str:
    """Return instructions with the names that registers have in the text, within their scopes."""
    return _NUMBERED.sub("", instructions)
