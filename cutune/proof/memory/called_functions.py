"""Functions that are called and not inlined. Takes calls, says what forbids one, or nothing.

A called function may do anything to memory, but not read its ids or let its threads cooperate. A
call by an address is one of any function that it may reach.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cutune.core.codes import Code
from cutune.proof.values.built_ins import REGISTERS
from cutune.proof.values.operations import FUNCTIONS
from cutune.ptx.control_flow import CallTargets, is_by_address
from cutune.ptx.taint import names
from cutune.ptx.types import TYPE_BYTES, Function, Instruction, Variable
from cutune.toolchain.kernel_names import demangled

SPACES = ("param", "global", "const", "local", "shared")
PREFETCHES = frozenset({"prefetch", "prefetchu"})
#: Called functions that end the launch.
ENDINGS = frozenset({"__assertfail"})
#: Functions by which device code launches kernels, of any version, begin so.
_LAUNCHING = re.compile(r"(?:__cudaCDP\d*|cuda)(?:GetParameterBuffer|LaunchDevice)")
#: How a load or a store may be marked without any meaning for its value.
_HINTS = frozenset({"weak", "ca", "cg", "cs", "lu", "wb", "nc", "v2", "v4", "v8", *SPACES})
_PLAIN = FUNCTIONS | PREFETCHES | {"ld", "st", "call", "bra", "brx", "ret", "exit", "trap"}
_BUILT_INS = {register: kind for kind, register in REGISTERS.items()}
_LINKED = "which functions of other sources may answer; compile this source without -rdc=true"
_NOBODY = "for which this source has no function; define one, and take its address, here"


class Problem(NamedTuple):
    """Why a function may not be called: the rule, words for it, and in which function."""

    code: Code
    what: str
    function: str


@dataclass(frozen=True)
class CalledFunctions:
    """Answers for one module. `variables`: those that a function may name."""

    targets: CallTargets
    variables: Mapping[str, Variable]
    _known: dict[str, Problem | None] = field(default_factory=dict, compare=False)

    def against(
        self, call: Instruction, function: Function, is_virtual: bool
    ) -> tuple[Code, str] | None:
        """What forbids a call of a function, with the words for the rule."""
        called = self.targets.of(call, function)
        is_direct = not is_by_address(call, function)
        how = VIRTUAL_CALL if is_virtual else "a call through a function pointer"
        if not called and not is_direct:
            return Code.UNKNOWN_TARGET, f"{how}, {_LINKED if called is None else _NOBODY}"
        for name in called or ():
            if (problem := self._problem(name)) is not None:
                return _direct(problem) if is_direct else _indirect(problem, how, name)
        return None

    def _problem(self, name: str) -> Problem | None:
        if name not in self._known:
            self._known[name] = next(self._problems(name, set()), None)
        return self._known[name]

    def _problems(self, name: str, seen: set[str]) -> Iterator[Problem]:
        function = self.targets.module.functions.get(name)
        if name in ENDINGS or name in seen:
            return
        seen.add(name)
        if name == "vprintf":
            yield Problem(Code.ORDERING, "printf", name)
            return
        if _LAUNCHING.match(name) is not None:
            yield Problem(Code.ORDERING, "launches of kernels", name)
            return
        if function is None or function.body is None:
            yield Problem(Code.UNKNOWN_FUNCTION, f"'{name}'", name)
            return
        for item in function.instructions:
            if (strange := _strange(item, function, self.variables)) is not None:
                yield Problem(Code.NOT_PROVEN, strange, name)
            if item.opcode == "call":
                called = self.targets.of(item, function)
                if not called:
                    yield Problem(Code.NOT_PROVEN, "a call of an unknown function", name)
                for one in called or ():
                    yield from self._problems(one, seen)


#: How a virtual call begins to be told of.
VIRTUAL_CALL = "a virtual call"


def _direct(problem: Problem) -> tuple[Code, str]:
    is_in_it = problem.code is Code.NOT_PROVEN
    return problem.code, problem.what + (f" in '{problem.function}'" if is_in_it else "")


def _indirect(problem: Problem, how: str, target: str) -> tuple[Code, str]:
    (reached,) = demangled([target], parameters=True)
    if problem.code is not Code.NOT_PROVEN:
        return problem.code, f"{problem.what} (in '{reached}', which {how} may reach)"
    register, _, dimension = (what := problem.what).strip("'").partition(".")
    if register in _BUILT_INS:
        what = f"{_BUILT_INS[register]}.{dimension}; pass that as an argument"
    return Code.UNKNOWN_TARGET, f"{how}, which may reach '{reached}' with {what}"


def _strange(
    item: Instruction, function: Function, variables: Mapping[str, Variable]
) -> str | None:
    if item.opcode not in _PLAIN:
        return f"'{item.opcode}'"
    if item.opcode in ("ld", "st"):
        for modifier in item.modifiers:
            if not is_plain(modifier) or modifier.split("::")[0] == "shared":
                return f"'{item.opcode}.{modifier}'"
    for operand in item.operands:
        for name in names(operand):
            if name in variables and variables[name].space == "shared":
                return "shared memory"
            if name.startswith("%") and name not in function.registers:
                return f"'{operand}'"
    return None


def is_plain(modifier: str) -> bool:
    """Tell whether a modifier of a load or a store leaves its value alone: type, space, a hint."""
    base = modifier.split("::", maxsplit=1)[0]
    return modifier in _HINTS or base in (*SPACES, "L1", "L2") or modifier in TYPE_BYTES
