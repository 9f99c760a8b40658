"""Pointers through which an entry accesses memory. Takes a function, gives pointer parameters.

Each register is followed to the parameters on which its value depends: those that are a summand of
it (`whole`), and those that it depends on in any other way (`parts`). An address leads where a
pointer leads if that pointer is a summand of it and no other pointer has anything to do with it.
One instruction that is not understood makes all of it unknown.

Registers are taken without the order of instructions: one that is written in several places may
hold any of these values. So pointers that a loop exchanges are parts of each other's addresses.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cutune.proof.memory.accesses import ADDRESS, ATOMIC_WORDS, COMMUTATIVE
from cutune.proof.memory.called_functions import PREFETCHES, is_plain
from cutune.proof.memory.waiting_loops import may_wait
from cutune.proof.values.operations import FUNCTIONS, parts
from cutune.ptx.taint import names, results, sources
from cutune.ptx.types import TYPE_BYTES, UNREADABLE, Function, Instruction, Variable

#: Variables that no program can ask for: tables of the mathematical library.
_TABLES = "__cudart_"
_POINTER_BYTES = 8
_FLOW = frozenset({"bra", "ret", "exit"})
_ACCESSES = {"ld": "load", "st": "store", "atom": "atomic", "red": "atomic"}
_BUILTIN = re.compile(r"%(?:n?tid|n?ctaid)\.[xyz]|%laneid|%lanemask_\w+")
_REGISTER = re.compile(r"%[\w.$]+")
_COPIES = frozenset({"mov", "cvta"})
_WORD = frozenset({"b64", "u64", "s64"})
_ASSEMBLY = re.compile(r"//\s*(?:begin|end) inline asm")
_SHARED = "shared"
Name = int | str
"""A parameter by its position, or a variable by its name."""


@dataclass(frozen=True)
class PointerOrigin:
    """The names on which a value depends: its summands, and any others."""

    whole: frozenset[Name] = frozenset()
    parts: frozenset[Name] = frozenset()

    def or_else(self, other: PointerOrigin) -> PointerOrigin:
        """Return the origin of one of two values."""
        parts = self.parts | other.parts | (self.whole ^ other.whole)
        return PointerOrigin((self.whole & other.whole) - parts, parts)

    def plus(self, other: PointerOrigin) -> PointerOrigin:
        """Return the origin of the sum of two values."""
        parts = self.parts | other.parts | (self.whole & other.whole)
        return PointerOrigin((self.whole | other.whole) - parts, parts)

    @property
    def scrambled(self) -> PointerOrigin:
        """The origin of any other function of it."""
        return PointerOrigin(parts=self.everything)

    @property
    def everything(self) -> frozenset[Name]:
        return self.whole | self.parts


_NUMBER = PointerOrigin()


@dataclass(frozen=True)
class PointerAccess:
    """An access of memory: `load`, `store` or `atomic`, and where its address comes from."""

    kind: str
    address: PointerOrigin


@dataclass(frozen=True)
class PointerUses:
    """The accesses of an entry. `problem`: why they are not known, or a reason in itself.

    `is_order`: the problem is that other threads may matter. `leaks`: parameters that reach
    anything but an address: a condition, memory. `spaces`: the state space of each variable that an
    address may come from.
    """

    problem: str | None = None
    accesses: frozenset[PointerAccess] = frozenset()
    leaks: frozenset[Name] = frozenset()
    spaces: tuple[tuple[str, str], ...] = ()
    is_order: bool = False


UNKNOWN_USES = PointerUses("was not looked at")


@dataclass(frozen=True)
class Reached:
    """Positions of the pointers that memory is accessed through, and of those written through.

    `changed`: those that are read as well.
    """

    pointers: frozenset[int]
    written: frozenset[int]
    changed: frozenset[int] = frozenset()

    def joined(self, other: Reached) -> Reached:
        return Reached(
            self.pointers | other.pointers,
            self.written | other.written,
            self.changed | other.changed,
        )


class NotReached(Exception):
    """Why the pointers are not known: words. `is_order`: because other threads may matter."""

    def __init__(self, what: str, is_order: bool = False) -> None:
        super().__init__(what)
        self.what, self.is_order = what, is_order


def reached(uses: PointerUses, pointers: Mapping[int, str]) -> Reached:
    """Return the pointers that an entry uses, of those with these names; raises NotReached."""
    if uses.problem is not None:
        raise NotReached(uses.problem, uses.is_order)
    leaking = sorted(uses.leaks & pointers.keys(), key=str)
    if leaking:
        raise NotReached(f"compares or stores the pointer '{pointers[int(leaking[0])]}'")
    spaces = dict(uses.spaces)
    kinds: defaultdict[int, set[str]] = defaultdict(set)
    for access in uses.accesses:
        bases = access.address.whole & pointers.keys()
        others = access.address.parts & pointers.keys()
        variables = {name for name in access.address.everything if isinstance(name, str)}
        if not bases and not others and _is_harmless(access, variables, spaces):
            continue
        if variables:
            raise NotReached(f"accesses the variable '{min(variables)}'")
        if len(bases) != 1 or others:
            shown = ", ".join(f"'{pointers[int(i)]}'" for i in sorted(bases | others, key=str))
            what = f"made of {shown}" if shown else "that is no pointer parameter"
            raise NotReached(f"accesses memory at an address {what}")
        kinds[int(min(bases, key=str))].add(access.kind)
    for position, of_pointer in sorted(kinds.items()):
        if {"load", "atomic"} <= of_pointer:
            what = f"reads '{pointers[position]}' and changes it by atomic operations"
            raise NotReached(what, is_order=True)
    written = frozenset(i for i, of_pointer in kinds.items() if of_pointer & {"store", "atomic"})
    changed = frozenset(i for i in written if "load" in kinds[i])
    return Reached(frozenset(kinds), written, changed)


def _is_harmless(access: PointerAccess, variables: set[str], spaces: Mapping[str, str]) -> bool:
    if len(variables) != 1 or access.address.whole != variables:
        return False
    (name,) = variables
    is_constant = spaces.get(name) == "const" or name.startswith(_TABLES)
    return spaces.get(name) == "local" or (access.kind == "load" and is_constant)


def assembly_lines(text: str) -> frozenset[int]:
    """Return the lines of PTX that the program has written itself."""
    lines, begin = set[int](), 0
    for number, line in enumerate(text.split("\n") if "inline asm" in text else (), 1):
        if (mark := _ASSEMBLY.search(line)) is not None:
            if "begin" in mark[0]:
                begin = number
            else:
                lines.update(range(begin, number + 1))
    return frozenset(lines)


def pointer_uses(
    function: Function, variables: Mapping[str, Variable], assembly: Container[int] = ()
) -> PointerUses:
    """Return the accesses of an entry. `assembly`: lines that the program has written itself."""
    job = _Following(function, variables, assembly)
    try:
        job.follow()
        return job.uses()
    except NotReached as error:
        return PointerUses(error.what, is_order=error.is_order)
    except UNREADABLE as error:
        return PointerUses(f"is not read ({error})")


@dataclass
class _Following:
    function: Function
    variables: Mapping[str, Variable]
    assembly: Container[int]
    _origins: dict[str, PointerOrigin] = field(default_factory=dict)
    _leaks: set[Name] = field(default_factory=set)
    #: Registers that are written somewhere, whose origin is not known yet.
    _waiting_for: set[str] = field(default_factory=set)

    @cached_property
    def positions(self) -> dict[str, int]:
        return {parameter.name: i for i, parameter in enumerate(self.function.parameters)}

    def follow(self) -> None:
        """Find the origin of each register; raises NotReached where an instruction may do harm."""
        for instruction in self.function.instructions:
            self._check(instruction)
            self._waiting_for.update(results(instruction))
        while sum(map(self._pass, self.function.instructions)):
            pass

    def _pass(self, instruction: Instruction) -> bool:
        if not self._waiting_for.isdisjoint(sources(instruction)):
            return False
        changed = False
        for name in filter(self.function.registers.__contains__, results(instruction)):
            origin, before = self._result(instruction), self._origins.get(name)
            after = origin if before is None else before.or_else(origin)
            changed |= after != before
            self._origins[name] = after
            self._waiting_for.discard(name)
        return changed

    def _result(self, instruction: Instruction) -> PointerOrigin:
        opcode, operands = instruction.opcode, instruction.operands
        if opcode in ("ld", "atom"):
            return self._parameter(instruction) if "param" in instruction.modifiers else _NUMBER
        if self._is_condition(instruction):
            return _NUMBER
        values = [self._origin(operand) for operand in operands[1:]]
        if not any(value.everything for value in values):
            return _NUMBER
        # The compiler does not see what assembly computes.
        sum_or_copy = None if instruction.line in self.assembly else _computed(instruction, values)
        return sum_or_copy or PointerOrigin(parts=_names_in(values))

    def _parameter(self, instruction: Instruction) -> PointerOrigin:
        """A whole parameter as long as a pointer; any other may be a part of one."""
        address = ADDRESS.match(instruction.operands[1])
        if address is None:
            raise NotReached("reads a parameter at an address that is not known")
        position = self.positions.get(address[1])
        if position is None:
            # At an address that was computed: any part of the parameter there.
            return self._origin_of_name(address[1]).scrambled
        is_whole = (address[2] or "0") == "0" and instruction.modifiers[-1] in _WORD
        has_size = self.function.parameters[position].size == _POINTER_BYTES
        is_single = len(parts(instruction.operands[0])) == 1
        if is_whole and has_size and is_single:
            return PointerOrigin(frozenset({position}))
        return PointerOrigin(parts=frozenset({position})) if has_size else _NUMBER

    def _origin(self, operand: str) -> PointerOrigin:
        of_several = operand[:1] in ("{", "[", "!")
        values = [self._origin_of_name(n) for n in (names(operand) if of_several else [operand])]
        return values[0] if len(values) == 1 else PointerOrigin(parts=_names_in(values))

    def _origin_of_name(self, name: str) -> PointerOrigin:
        if name in self._origins:
            return self._origins[name]
        if name in self.variables:
            return PointerOrigin(frozenset({name}))
        if name in self.positions:
            # The address of a parameter: the pointer in it may be read through that.
            return PointerOrigin(parts=frozenset({self.positions[name]}))
        return _NUMBER

    def _is_condition(self, instruction: Instruction) -> bool:
        written = results(instruction)
        return bool(written) and self.function.registers.get(written[0]) == "pred"

    def _check(self, instruction: Instruction) -> None:
        opcode, modifiers = instruction.opcode, instruction.modifiers
        words = f"'{'.'.join((opcode, *modifiers))}'"
        is_memory = opcode in _ACCESSES
        if opcode == "call":
            raise NotReached("calls a function that is not inlined")
        if not is_memory and opcode not in FUNCTIONS | _FLOW | PREFETCHES:
            raise NotReached(f"uses {words}", is_order=True)
        # `__ldg` is assembly in CUDA's own headers: it reads memory that nobody writes meanwhile.
        is_read_only = opcode == "ld" and "nc" in modifiers
        if is_memory and instruction.line in self.assembly and not is_read_only:
            raise NotReached(f"accesses memory by inline assembly: {words}")
        if opcode in ("ld", "st") and not all(map(is_plain, modifiers)):
            raise NotReached(f"uses {words}", is_order=True)
        if any(modifier.split("::")[0] == _SHARED for modifier in modifiers):
            raise NotReached("uses shared memory", is_order=True)
        if opcode in ("atom", "red"):
            self._check_atomic(instruction, words)
        for name in _REGISTER.findall(" ".join(instruction.operands)):
            if name not in self.function.registers and not _BUILTIN.fullmatch(name):
                raise NotReached(f"reads '{name}'")

    def _check_atomic(self, instruction: Instruction, words: str) -> None:
        known = (ATOMIC_WORDS | COMMUTATIVE | TYPE_BYTES.keys()) - {"cas", "exch"}
        if not set(instruction.modifiers) <= known:
            raise NotReached(f"uses {words}", is_order=True)
        if instruction.opcode == "atom" and self._read & {*parts(instruction.operands[0])} - {"_"}:
            raise NotReached(f"uses the result of {words}", is_order=True)

    @cached_property
    def _read(self) -> frozenset[str]:
        return frozenset(name for item in self.function.instructions for name in sources(item))

    def uses(self) -> PointerUses:
        """Return accesses, and what else parameters reach; raises NotReached where it may wait."""
        accesses: set[PointerAccess] = set()
        for instruction in self.function.instructions:
            opcode, operands = instruction.opcode, instruction.operands
            if opcode not in _ACCESSES:
                self._leaks |= self._revealed(instruction)
                continue
            is_read = opcode in ("ld", "atom")
            values = operands[1 + is_read :] if _ACCESSES[opcode] == "atomic" else operands[1:2]
            for operand in values if opcode != "ld" else ():
                self._leaks |= self._origin(operand).everything
            accesses.update(self._access(instruction, _ACCESSES[opcode], operands[is_read]))
        if may_wait(self.function, self.function.instructions):
            raise NotReached("has a loop that may wait for another thread", is_order=True)
        spaces = tuple(sorted((v.name, v.space) for v in self.variables.values()))
        return PointerUses(None, frozenset(accesses), frozenset(self._leaks), spaces)

    def _access(self, instruction: Instruction, kind: str, text: str) -> Iterator[PointerAccess]:
        spaces = {modifier.split("::")[0] for modifier in instruction.modifiers}
        if "param" in spaces:
            return
        address = ADDRESS.match(text)
        if address is None:
            raise NotReached(f"accesses memory at '{text}'")
        if not spaces & {"local", "const"}:
            yield PointerAccess(kind, self._origin_of_name(address[1]))

    def _revealed(self, instruction: Instruction) -> frozenset[Name]:
        """Pointers of which a condition, or a carry, tells: none where both sides are from one."""
        is_condition = self._is_condition(instruction) or "cc" in instruction.modifiers
        if not is_condition or instruction.opcode in _FLOW:
            return frozenset()
        values = [self._origin(operand) for operand in instruction.operands[1:]]
        is_of_one = values[0] == values[-1] and len(values[0].whole) == 1 and not values[0].parts
        if instruction.opcode == "setp" and len(values) == 2 and is_of_one:
            return frozenset()
        return _names_in(values)


def _computed(instruction: Instruction, values: Sequence[PointerOrigin]) -> PointerOrigin | None:
    opcode, operands = instruction.opcode, instruction.operands
    is_long = bool(instruction.modifiers) and instruction.modifiers[-1] in _WORD
    is_plain_sum = not {"cc", "sat", "hi"} & set(instruction.modifiers)
    if len(values) == 1 and opcode in _COPIES and is_long and operands[0][0] != "{":
        return values[0]
    if opcode == "add" and is_long and is_plain_sum:
        return values[0].plus(values[1])
    if opcode == "sub" and is_long and is_plain_sum:
        return values[0].plus(values[1].scrambled)
    if opcode == "mad" and is_plain_sum:
        return values[0].scrambled.plus(values[1].scrambled).plus(values[2])
    if opcode == "selp" and is_long:
        return values[0].or_else(values[1])
    return None


def _names_in(values: Iterable[PointerOrigin]) -> frozenset[Name]:
    return frozenset(name for value in values for name in value.everything)
