"""Code of trials. Takes PTX, gives it read and assembled, with what an entry reaches and reads."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from cutune.emulator.assemble import assemble, reached_functions
from cutune.emulator.module_metadata import AssembledModule
from cutune.ptx.control_flow import call_target
from cutune.ptx.parse import parsed
from cutune.ptx.types import Function, Module

#: Registers that tell a thread where it is, and how many there are.
_PLACES = re.compile(r"%(?:n?tid|n?ctaid)\.[xyz]|%laneid")
_REGISTER = re.compile(r"%[A-Za-z]\w*(?:\.[a-z]\w*)?")
#: What tells a register of a scope of its own, as `low@21`, from others in instructions as read.
_NUMBERED = re.compile(r"(?<=\w)@\d+")


@lru_cache(maxsize=2)
def assembled_code(text: str) -> tuple[Module, AssembledModule]:
    """Read and assemble a text: it has all kernels of a program, tried one after another."""
    module = parsed(text)
    return module, assemble(module)


def with_these(lines: Sequence[str], module: Module, entries: Collection[str]) -> list[str]:
    """Return the lines of a text without the kernels that these entries do not need."""
    needed, others = reached_functions(module, entries), [*lines]
    for name, function in module.functions.items():
        is_alone = lines[function.line - 1].startswith((".visible .entry ", ".entry "))
        if name not in needed and is_alone and lines[function.last_line - 1] == "}":
            lengths = function.last_line - function.line + 1
            others[function.line - 1 : function.last_line] = [""] * lengths
    return others


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
