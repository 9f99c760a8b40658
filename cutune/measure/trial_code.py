"""Code of trials. Takes PTX that is read, gives its entries, what these reach, and what they read.

A template is tried in each of its instances, with the types that its parameters have there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cutune.proof.confirm import parameters_in
from cutune.ptx.control_flow import call_target
from cutune.ptx.types import Function, Module
from cutune.source.program import Kernel, KernelParameter
from cutune.toolchain.kernel_names import base_name, is_named, renamed_entry

#: Registers that tell a thread where it is, and how many there are.
_PLACES = re.compile(r"%(?:n?tid|n?ctaid)\.[xyz]|%laneid")
_REGISTER = re.compile(r"%[A-Za-z]\w*(?:\.[a-z]\w*)?")
#: What tells a register of a scope of its own, as `low@21`, from others in instructions as read.
_NUMBERED = re.compile(r"(?<=\w)@\d+")


def instances_of(
    module: Module, kernel: Kernel, copies: Sequence[str]
) -> Iterator[tuple[Kernel, Mapping[str, str]]]:
    """Yield each instance of a kernel, and by their names the entries of it and of its copies."""
    names = [name for name, one in module.functions.items() if one.is_kernel]
    own = [name for name in names if is_named(name, kernel.name)]
    of_copies = {copy: [name for name in names if base_name(name) == copy] for copy in copies}
    for entry, types in zip(own, parameters_in(kernel, own), strict=True):
        entries = {kernel.name: entry}
        for copy, of_copy in of_copies.items():
            # One of a single instance may have other arguments.
            same = of_copy if len(own) == 1 else [renamed_entry(entry, copy)]
            if len(same) == 1 and same[0] in of_copy and len(of_copy) == len(own):
                entries[copy] = same[0]
        pairs = zip(kernel.parameters, types, strict=True)
        parameters = tuple(its if _are_alike(known, its) else known for known, its in pairs)
        yield replace(kernel, parameters=parameters), entries


def _are_alike(known: KernelParameter, own: KernelParameter) -> bool:
    """What a launch asks of pointers and integers it asks of those that are such everywhere."""
    are_integers = (known.integer is None) == (own.integer is None)
    return known.is_pointer == own.is_pointer and are_integers


def unknown_code(module: Module, entry: str) -> str:
    """Return what an entry reaches that is not known; "" if nothing."""
    for name in functions_reached(module, entry):
        function = module.functions.get(name)
        if function is None or function.body is None:
            return f"it calls '{base_name(name)}'"
        if strange := _strange_register(function):
            return f"it reads {strange}"
    return ""


def functions_reached(module: Module, entry: str) -> list[str]:
    """Return the functions that an entry calls, itself first."""
    names = [entry]
    for name in names:
        function = module.functions.get(name)
        instructions = function.instructions if function is not None else ()
        calls = (i for i in instructions if i.opcode == "call")
        names += [t for i in calls if (t := call_target(i)) and t not in names]
    return names


def _strange_register(function: Function) -> str:
    """One that a function reads beside its own, and those of indices and shapes; or ""."""
    named = (name for operand in function.operands for name in _REGISTER.findall(operand))
    others = (name for name in named if name not in function.registers)
    return next((name for name in others if not _PLACES.fullmatch(name)), "")


def as_written(instructions: str) -> str:
    """Return instructions with the names that registers have in the text, within their scopes."""
    return _NUMBERED.sub("", instructions)
