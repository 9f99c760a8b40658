"""Calls by address: of virtual functions, and through pointers. Says what they may reach.

    call (result), %rd7, (arguments), prototype_0;

A module that is linked with no other one has all functions that such a call may reach: those whose
address is taken somewhere, in a table of virtual functions or by an instruction, and whose results
and parameters have the sizes of the prototype.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from cutune.ptx.control_flow import call_target
from cutune.ptx.types import (
    TYPE_BYTES,
    Function,
    Instruction,
    Label,
    Module,
    Variable,
    split_operands,
)

#: results "_" parameters, each in parentheses; no results may be none at all.
_PROTOTYPE = re.compile(r"\.callprototype\s*(?:\(([^()]*)\))?\s*_\s*(?:\(([^()]*)\))?")
_PARAMETER = re.compile(r"\.param\s*(?:\.align\s+\d+\s*)?\.(\w+)\s+_\s*(?:\[\s*(\d+)\s*\])?$")
_NAME = re.compile(r"[%$A-Za-z_][\w$]*")
_Sizes = tuple[tuple[int, ...], tuple[int, ...]]


def is_by_address(call: Instruction, function: Function) -> bool:
    """Does a register say which function is called?"""
    return call_target(call) in function.registers


@dataclass(frozen=True)
class CallTargets:
    """Answers for one module."""

    module: Module
    _known: dict[str, tuple[str, ...] | None] = field(default_factory=dict, compare=False)

    def of(self, call: Instruction, function: Function) -> tuple[str, ...] | None:
        """All functions that an instruction of a function may call; None where more may be."""
        target = call_target(call)
        if target not in function.registers:
            return (target,)
        tables = (x for x in function.body or () if isinstance(x, Label) and x.table)
        table = next((x.table for x in tables if x.name == call.operands[-1]), "")
        if table not in self._known:
            self._known[table] = self._of_table(table)
        return self._known[table]

    def _of_table(self, table: str) -> tuple[str, ...] | None:
        if table.startswith(".calltargets"):
            return split_operands(table.removeprefix(".calltargets"))
        sizes = _sizes(table)
        if sizes is None or not self.module.is_whole:
            return None
        known = ((name, self.module.functions[name]) for name in self._addressed)
        return tuple(
            name
            for name, one in known
            if _are(sizes[0], one.results) and _are(sizes[1], one.parameters)
        )

    @cached_property
    def _addressed(self) -> tuple[str, ...]:
        """Functions whose address is taken, by their own names."""
        functions, aliases = self.module.functions, self.module.aliases
        found = (aliases.get(name, name) for name in self._named())
        own = (name for name in found if name in functions and not functions[name].is_kernel)
        return tuple(dict.fromkeys(own))

    def _named(self) -> Iterator[str]:
        """What stands in initial values and in operands, but for the targets of calls."""
        functions = self.module.functions.values()
        for variable in (*self.module.variables, *(v for f in functions for v in f.variables)):
            yield from _NAME.findall(variable.initial)
        for item in (item for function in functions for item in function.instructions):
            called = call_target(item) if item.opcode == "call" else None
            for operand in item.operands:
                if operand != called:
                    yield from _NAME.findall(operand)


def _sizes(table: str) -> _Sizes | None:
    """The bytes of each result and parameter of a prototype; None where it is not understood."""
    found = _PROTOTYPE.match(table)
    if found is None:
        return None
    parts = [[_PARAMETER.match(p) for p in split_operands(text or "")] for text in found.groups()]
    if not all(match is not None and match[1] in TYPE_BYTES for part in parts for match in part):
        return None
    results, parameters = (
        tuple(TYPE_BYTES[m[1]] * int(m[2] or 1) for m in part if m is not None) for part in parts
    )
    return results, parameters


def _are(sizes: tuple[int, ...], variables: tuple[Variable, ...]) -> bool:
    """May arguments of these sizes be passed so? A list of any length has no size."""
    lengths = tuple(variable.size for variable in variables)
    return lengths == sizes or 0 in lengths
