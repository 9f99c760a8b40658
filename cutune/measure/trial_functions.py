"""Hashes in place of operations on data. Takes PTX, gives a text for trials.

A trial compares a kernel with its copy on a few contents of memory, and may miss those at which
they differ: a flag that none sets, a sum that overflows. So both also run as *hashed* texts, in
which each operation on loaded data gives a hash of its operands (`machine_functions.cpp`):

    add.f32 %f3, %f1, %f2;      becomes  hashed.add.f32 %f3, %f1, %f2;
    setp.lt.f32 %p1, %f3, %f4;  becomes  a hash in %cutune_o__p1, and %p1 by that

Equal bytes in memory then mean equal expressions of data, for all data at these sizes. The rules:

- Moves, loads and stores of whole words, and shuffles stay. So do integer sums, differences, and
  products with what is no data: the terms of a sum may come in any order.
- Operands of commutative operations may be exchanged.
- Tiles are padded with zeros and infinities. Zero is neutral in a sum (it makes 0 of -0), and makes
  a product zero; numbers from 2^96 on stand for infinity. No data are such numbers.
- A maximum is a hash of the set of its terms. A literal may be among them any number of times.
- A predicate has an *outcome*, a register of 32 bits. What a branch or a guard by it may change is
  hashed with its outcome, on both ways. Comparisons of places alone come out as they do.

`NoFunction` is raised for what a hash would not tell: stores behind branches by data, loops by
data, carries, votes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from zlib import crc32

from cutune.core.diagnostics import CutuneError
from cutune.emulator.assemble import assemble
from cutune.emulator.lower.encoder import elements, paired_names
from cutune.emulator.machine import LoadedModule
from cutune.measure.trial_code import as_written, functions_reached
from cutune.ptx.control_flow import ControlFlow, control_flow
from cutune.ptx.named_numbers import REAL_NUMBER, REALS, literal, tests_of_parameters, type_of
from cutune.ptx.taint import blocks_between, names, results, sources, spaces
from cutune.ptx.types import (
    BARRIERS,
    BINDING,
    BRANCHES,
    LEAVING,
    LOADS,
    TYPE_BYTES,
    Function,
    Instruction,
    Module,
    PtxError,
    opcodes,
)

#: Prefix of the registers that are added.
_OWN = "%cutune_"
_KEY, _OTHER_KEY, _SHOWS = f"{_OWN}k", f"{_OWN}l", f"{_OWN}w"
_BY, _OUTCOME, _HOLDS = f"{_OWN}s", f"{_OWN}o", f"{_OWN}p"
_HELD = {16: f"{_OWN}h", 32: f"{_OWN}t", 64: f"{_OWN}x"}
_DECLARED = (
    f".reg .b64 {_KEY}, {_OTHER_KEY}, {_SHOWS}; .reg .b32 {_BY}, {_OUTCOME}; "
    + "".join(f".reg .b{width} {name}; " for width, name in _HELD.items())
    + f".reg .pred {_HOLDS}; "
)
#: Sign bit, and the least bits that stand for infinity, by the letter of a literal.
_LARGE = {"f": (31, (127 + 96) << 23), "d": (63, (1023 + 96) << 52)}
_SCALARS = frozenset({"f16", "bf16", "f32", "f64"})
#: Opcodes that move a value and leave it as it is.
_MOVING = frozenset({"mov", "cvta", "shfl", "st", "call"})
#: Linear in integers of one width, but for products of data.
_LINEAR = frozenset({"add", "sub", "neg", "mul", "mad", "shl", "not"})
#: Of integers: the first two operands may be exchanged, and zero decides.
_SYMMETRIC = frozenset({"mul", "mul24", "and", "or", "xor"})
#: Fused operations that add their last operand: the operation whose result they add.
_ADDING = {"mad": "mul", "mad24": "mul24", "dp4a": "dp4a", "dp2a": "dp2a", "sad": "sad"}
#: Opcodes that depend on nothing but their operands. Others are refused.
_KNOWN = opcodes(
    """
    abs add and bfe bfi bfind brev clz cnot copysign cos cvt div dp2a dp4a ex2 fma lg2 lop3 mad
    mad24 max min mul mul24 or popc prmt rcp rem rsqrt sad shf shl shr sin sqrt sub tanh xor
    """
)
#: All opcodes that a text may have.
_ALLOWED = (
    _KNOWN
    | _LINEAR
    | _MOVING
    | BARRIERS
    | BRANCHES
    | LEAVING
    | LOADS
    | opcodes("atom red cp setp set selp membar fence vote activemask slct testp trap prefetch")
)
#: Each comparison as one of a few: its name; are operands exchanged; is the outcome negated?
_OF_INTEGERS = {
    "lt": ("lt", False, False),
    "gt": ("lt", True, False),
    "le": ("lt", True, True),
    "ge": ("lt", False, True),
    "eq": ("eq", False, False),
    "ne": ("eq", False, True),
}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_OF_REALS = {
    **{name: _OF_INTEGERS[name] for name in ("lt", "gt", "eq")},
    "le": ("le", False, False),
    "ge": ("le", True, False),
    "ltu": ("le", True, True),
    "gtu": ("le", False, True),
    "leu": ("lt", True, True),
    "geu": ("lt", False, True),
    "neu": ("eq", False, True),
    "equ": ("equ", False, False),
    "ne": ("equ", False, True),
    "num": ("num", False, False),
    "nan": ("num", False, True),
}
_LOGIC = ("and", "or", "xor")
#: Modifiers of operations on reals that have a hash of their own.
_USUAL = frozenset({"rn", "ftz", "approx", "full"})
#: Opcodes that may not be behind a branch by data.
_BINDING = BINDING | opcodes("st red atom shfl")


class NoFunction(Exception):
    """A hash would not tell what an instruction does; the message says why."""


def with_functions(text: str, module: Module, entries: Iterable[str]) -> LoadedModule | None:
    """Return a module whose entries are hashed; None where that is not possible."""
    try:
        return LoadedModule(assemble(*rewritten(text, module, entries)))
    except (PtxError, CutuneError, NoFunction):
        return None


def rewritten(text: str, module: Module, entries: Iterable[str]) -> tuple[str, set[str]]:
    """Return the hashed text, and the names of the functions in it. Raises NoFunction."""
    reached = {entry: functions_reached(module, entry) for entry in entries}
    lines, all_names = text.splitlines(), {name for each in reached.values() for name in each}
    for name in sorted(all_names):
        changed = _Changed(module.functions[name], name in reached)
        for one in module.functions[name].instructions:
            lines[one.line - 1] = changed.line(lines[one.line - 1], one)
    return "\n".join(lines), all_names


class _Changed:
    """A function, and the hashed form of each of its instructions."""

    def __init__(self, function: Function, is_entry: bool) -> None:
        self._function, self._is_entry = function, is_entry
        self._instructions = function.instructions
        if strange := next((i for i in self._instructions if i.opcode not in _ALLOWED), None):
            raise NoFunction(f"nothing is known of '{strange.opcode}'")
        self._tests = tests_of_parameters(function) if is_entry else {}
        #: Instructions behind each branch by data, by its id; and the predicates of such
        #: branches ahead of each instruction, by the id of that.
        self._dependents: dict[int, list[Instruction]] = {}
        self._branches_ahead: dict[int, list[str]] = {}
        self._data = self._data_registers()

    def line(self, line: str, one: Instruction) -> str:
        """The line of an instruction in the hashed text."""
        said = self._in_place(one)
        begin = self._declared() if one is self._instructions[0] else ""
        if said is None:
            return begin + line
        words = re.escape(".".join((one.opcode, *one.modifiers)))
        found = [*re.finditer(rf"(?<![\w.%$@!])(?:@!?[\w%$]+\s+)?{words}(?:\s[^;]*)?;", line)]
        if len(found) != 1:
            raise NoFunction(f"'{one.opcode}' is not alone in its line")
        first, last = found[0].span()
        return (
            begin + line[:first] + as_written(" ".join(f"{each};" for each in said)) + line[last:]
        )

    def _declared(self) -> str:
        kinds = self._function.registers
        outcomes = (self._outcome(name) for name in sorted(self._data) if kinds.get(name) == "pred")
        return "".join(f".reg .b32 {name}; " for name in outcomes) + _DECLARED

    # ---- what is data

    def _data_registers(self) -> frozenset[str]:
        """Registers that depend on data: by operands, by branches, or through memory."""
        found, is_kept, size = set[str](), False, -1
        while size != (size := len(found) + is_kept):
            for one in self._instructions:
                is_of_data = not found.isdisjoint(sources(one))
                where = spaces(one)
                # Copies of its own to shared memory.
                is_kept |= one.opcode == "cp"
                if one.opcode in ("st", "red", "atom") and is_of_data:
                    is_kept |= not {"shared", "local"}.isdisjoint(where)
                    found.update(names(one.operands[0]) if "param" in where else ())
                if self._loads_data(one, is_kept) or (is_of_data and id(one) not in self._tests):
                    # Of a shuffle the predicate tells of lanes.
                    written = results(one)
                    found.update(written[:1] if one.opcode == "shfl" else written)
                if one.opcode == "bra" and one.guard in found and id(one) not in self._dependents:
                    self._dependents[id(one)] = self._dependents_of(one)
                for other in self._dependents.get(id(one), ()):
                    found.update(results(other))
        return frozenset(found)

    def _loads_data(self, one: Instruction, is_kept: bool) -> bool:
        where = spaces(one)
        if one.opcode not in LOADS or "param" in where:
            is_real = one.opcode in LOADS and type_of(one, 0) in REALS
            return one.opcode == "atom" or (one.opcode in LOADS and (is_real or not self._is_entry))
        return is_kept or {"shared", "local"}.isdisjoint(where)

    def _dependents_of(self, branch: Instruction) -> list[Instruction]:
        """The instructions between a branch by data and the place where its ways meet."""
        flow = self._flow
        ends = (n for n, block in enumerate(flow.blocks) if block.terminator.instruction is branch)
        start = next(ends, None)
        if start is None:
            raise NoFunction("a branch depends on data")
        between = blocks_between(flow, start, flow.meetings[start])
        inside = [one for index in between for one in flow.blocks[index].instructions]
        has_loop = start in between or any(loop.header in between for loop in flow.loops)
        leaves = any(flow.blocks[index].terminator.kind in LEAVING for index in between)
        if has_loop or leaves or any(one.opcode in _BINDING for one in inside):
            raise NoFunction("a loop, or what is stored, depends on a branch by data")
        for one in inside:
            self._branches_ahead.setdefault(id(one), []).append(branch.guard)
        return inside

    @cached_property
    def _flow(self) -> ControlFlow:
        return control_flow(self._function, lambda name: False)

    @cached_property
    def _sums(self) -> frozenset[str]:
        """Data registers that hold sums of integers, which are not hashed, and copies of these."""
        found, size = set[str](), -1
        while size != (size := len(found)):
            for one in self._instructions:
                is_sum = one.opcode in _LINEAR and type_of(one, 0) not in REALS
                is_copy = one.opcode in ("mov", "shfl", "selp") and not found.isdisjoint(
                    sources(one)
                )
                if is_sum or is_copy:
                    found.update(name for name in results(one) if name in self._data)
        return frozenset(found)

    @cached_property
    def _widest_kept(self) -> int:
        """Bits of the widest of these sums that shared or local memory keeps."""
        stores = (i for i in self._instructions if i.opcode in ("st", "red", "atom"))
        kept = {n for i in stores for n in names(i.operands[-1]) if "global" not in spaces(i)}
        return max(map(self._width, kept & self._sums), default=0)

    def _width(self, name: str) -> int:
        return _bits_of(self._function.registers.get(name, ""))

    def _outcome(self, predicate: str) -> str:
        return f"{_OWN}o_{re.sub(r'[^A-Za-z0-9_]', '_', predicate)}"

    # ---- instructions

    def _in_place(self, one: Instruction) -> list[str] | None:
        """The statements that replace an instruction; None: it stays."""
        if one.opcode == "bra":
            if one.guard not in self._data:
                return None
            changed = {n for other in self._dependents[id(one)] for n in results(other)}
            return [*self._hashed_with(changed, one.guard), f"{_guard(one)}{_statement(one)}"]
        is_guarded = one.guard in self._data
        if is_guarded and one.opcode == "st" and id(one) not in self._branches_ahead:
            return self._stored(one)
        if is_guarded and one.opcode in _BINDING:
            raise NoFunction(f"it depends on data whether there is '{one.opcode}'")
        body = None if id(one) in self._tests else self._function_of(one)
        said = [_statement(one)] if body is None else body
        if body is None:
            # A predicate of places here, which other instructions set by data.
            known = [name for name in results(one) if self._is_outcome(name)]
            said += [f"selp.u32 {self._outcome(name)}, 1, 0, {name}" for name in known]
        said = [f"{_guard(one)}{each}" for each in said]
        if is_guarded:
            said = [*self._hashed_with(results(one), one.guard), *said]
        for predicate in (
            *self._branches_ahead.get(id(one), ()),
            *([one.guard] if is_guarded else ()),
        ):
            said += self._hashed_with(results(one), predicate)
        return said if said != [f"{_guard(one)}{_statement(one)}"] else None

    def _is_outcome(self, name: str) -> bool:
        return name in self._data and self._function.registers.get(name) == "pred"

    def _hashed_with(self, changed: Iterable[str], predicate: str) -> list[str]:
        """Statements that hash registers with the outcome of a predicate."""
        by, said = self._outcome(predicate), list[str]()
        for name in sorted(changed):
            if name == predicate:
                raise NoFunction("a comparison of data decides about itself")
            if self._is_outcome(name):
                own = self._outcome(name)
                said += [
                    f"hashed.touched.b32 {own}, {own}, {by}",
                    f"hashed.holds.b32 {name}, {own}",
                ]
            elif width := self._width(name):
                said.append(f"hashed.touched.b{width} {name}, {name}, {by}")
            else:
                raise NoFunction("registers of another kind depend on a branch by data")
        return said

    def _stored(self, one: Instruction) -> list[str]:
        """A store guarded by data: it stores a hash of both values and the outcome."""
        place, value = one.operands
        width = 8 * TYPE_BYTES[type_of(one, 0)]
        if width not in (32, 64) or value[0] == "{" or "param" in one.modifiers:
            raise NoFunction("it depends on data whether there is a store")
        where, old = ".".join((*one.modifiers[:-1], f"b{width}")), _HELD[width]
        negated = [f"hashed.not.b32 {_BY}, {_BY}"] if one.negated else []
        return [
            *(f"mov.b32 {_BY}, {self._outcome(one.guard)}", *negated),
            f"setp.ne.u32 {_HOLDS}, {_BY}, 0",
            f"@{_HOLDS} ld.{where} {old}, {place}",
            f"hashed.select.b{width} {old}, {value}, {old}, {_BY}",
            f"@{_HOLDS} st.{where} {place}, {old}",
        ]

    # ---- functions

    def _function_of(self, one: Instruction) -> list[str] | None:
        """The hashed operation, without its guard; None: the instruction stays."""
        if one.opcode in LOADS:
            return self._loaded(one)
        if one.opcode in ("atom", "red"):
            if {"and", "or", "cas", "inc", "dec"} & {*one.modifiers}:
                raise NoFunction("an atomic operation is no sum")
            return self._joined(one)
        read = [name for name in sources(one) if name != one.guard]
        if self._data.isdisjoint(read):
            return None
        if one.opcode in ("setp", "set"):
            return self._compared(one)
        if type_of(one, 0) == "pred":
            return self._logic(one)
        if one.opcode == "selp":
            result, *pair, predicate = one.operands
            if predicate not in self._data:
                return None
            width, by = self._width(result), self._outcome(predicate)
            return [f"hashed.select.b{width} {result}, {', '.join(pair)}, {by}"]
        if one.opcode == "mov" and one.operands[0][0] == "{":
            return self._unpacked(one)
        if one.opcode in _MOVING:
            return None
        kind = type_of(one, 0)
        return self._of_reals(one, kind) if kind in REALS else self._of_integers(one, kind)

    def _joined(self, one: Instruction) -> list[str] | None:
        """An atomic maximum or minimum of data: a hash of the set of its terms."""
        if {"max", "min"}.isdisjoint(one.modifiers) or self._data.isdisjoint(
            names(one.operands[-1])
        ):
            return None
        words = (f"joined_{m}" if m in ("max", "min") else m for m in (one.opcode, *one.modifiers))
        return [".".join(words) + " " + ", ".join(one.operands)]

    def _loaded(self, one: Instruction) -> list[str] | None:
        """A load: hashed where it fills a part of its register, or reads a part of a sum."""
        if "param" in spaces(one) or self._data.isdisjoint(results(one)):
            return None
        bits, is_own = 8 * TYPE_BYTES[type_of(one, 0)], "global" not in spaces(one)
        said = [_statement(one)]
        for name in results(one):
            width = self._width(name)
            if not width:
                raise NoFunction("a load into registers of another kind")
            if width > bits or (is_own and bits < self._widest_kept):
                said += [
                    f"hashed.key.b{width} {_KEY}, {name}",
                    _hash_result(name, f"b{width}", "ld", bits),
                ]
        return said if len(said) > 1 else None

    def _unpacked(self, one: Instruction) -> list[str] | None:
        """A `mov` that splits a register: halves of a sum of integers are hashed with the whole."""
        parts, whole = elements(one.operands[0]), one.operands[1]
        if whole not in self._sums:
            return None
        width = self._width(parts[0] if parts[0] != "_" else parts[1])
        said = [f"hashed.key.b{self._width(whole)} {_KEY}, {whole}", _statement(one)]
        for place, name in enumerate(parts):
            if name != "_":
                said.append(_hash_result(name, f"b{width}", "mov", place))
        return said

    def _compared(self, one: Instruction) -> list[str]:
        """A comparison: the hash of its operands is its outcome, and that sets its predicate."""
        kind = one.modifiers[-1]
        name = _UNSIGNED.get(one.modifiers[0], one.modifiers[0])
        told = (_OF_REALS if kind in REALS else _OF_INTEGERS).get(name)
        if told is None or "x2" in kind:
            raise NoFunction("a comparison of another kind")
        name, is_exchanged, is_opposite = told
        pair = one.operands[2:0:-1] if is_exchanged else one.operands[1:3]
        of_data = sum(place for place, o in zip((1, 2), pair, strict=True) if o in self._data)
        of_data += 4 * (kind[0] == "u" or one.modifiers[0] in _UNSIGNED)
        hashed = kind if kind in REALS else f"b{_bits_of(kind)}"
        said = [
            f"hashed.{name}.{hashed} {_BY}, {', '.join(pair)}, {of_data}",
            f"setp.{name}.{kind} {_HOLDS}, {', '.join(pair)}",
            f"selp.u32 {_OUTCOME}, 1, 0, {_HOLDS}",
            f"hashed.outcome.b32 {_BY}, {_BY}, {_OUTCOME}",
        ]
        if is_opposite:
            said.append(f"hashed.not.b32 {_BY}, {_BY}")
        if one.opcode == "set":
            result, of = one.operands[0], one.modifiers[-2]
            ones = {"f32": "0f3F800000", "s32": "-1", "u32": "-1"}.get(of)
            if ones is None or len(one.operands) > 3:
                raise NoFunction("a comparison of another kind")
            return [*said, f"hashed.select.b32 {result}, {ones}, 0, {_BY}"]
        operator = next((word for word in one.modifiers if word in _LOGIC), "")
        first, *others = paired_names(one.operands[0])
        if others:
            raise NoFunction("a comparison with two results")
        if operator:
            said += [
                *self._outcome_of(one.operands[3], _OUTCOME),
                f"hashed.{operator}.b32 {_BY}, {_BY}, {_OUTCOME}",
            ]
        return [*said, *self._into_predicate(first)]

    def _into_predicate(self, predicate: str) -> list[str]:
        own = self._outcome(predicate)
        return [f"mov.b32 {own}, {_BY}", f"hashed.holds.b32 {predicate}, {own}"]

    def _outcome_of(self, predicate: str, into: str) -> list[str]:
        """Statements that put the outcome of a predicate operand into a register."""
        name = predicate.lstrip("!")
        if name in self._data:
            said = [f"mov.b32 {into}, {self._outcome(name)}"]
        elif name in self._function.registers:
            said = [f"selp.u32 {into}, 1, 0, {name}"]
        else:
            said = [f"mov.b32 {into}, {int(int(name) != 0)}"]
        return said + [f"hashed.not.b32 {into}, {into}"] * (name != predicate)

    def _logic(self, one: Instruction) -> list[str]:
        result, *read = one.operands
        said = self._outcome_of(read[0], _BY)
        if one.opcode in _LOGIC:
            said += self._outcome_of(read[1], _OUTCOME)
            said.append(f"hashed.{one.opcode}.b32 {_BY}, {_BY}, {_OUTCOME}")
        elif one.opcode == "not":
            said.append(f"hashed.not.b32 {_BY}, {_BY}")
        elif one.opcode != "mov":
            raise NoFunction(f"nothing is known of '{one.opcode}' of comparisons")
        return [*said, *self._into_predicate(result)]

    def _of_reals(self, one: Instruction, kind: str) -> list[str] | None:
        result, *read = one.operands
        operation = "fma" if one.opcode == "mad" else one.opcode
        if result in self._only_compared:
            return None
        is_usual = kind in _SCALARS and {*one.modifiers} <= _USUAL | {kind}
        if operation == "neg":
            return [f"hashed.neg.{kind} {', '.join(one.operands)}"] if is_usual else None
        is_plain = is_usual and not any(map(_is_large, read))
        if is_usual and operation in ("max", "min") and self._are_terms(read):
            return [f"hashed.{operation}.{kind} {', '.join(one.operands)}"]
        if is_plain and operation in ("add", "sub", "mul", "fma", "div"):
            known = [o for o in read[:2] if o not in self._data]
            if operation in ("mul", "fma") and known:
                read[:2] = sorted(read[:2], key=lambda o: o not in self._data)
                operation += ".known"
            return [f"hashed.{operation}.{kind} {result}, {', '.join(read)}"]
        return self._of_operands(one)

    def _are_terms(self, read: Iterable[str]) -> bool:
        """Are all operands of a maximum data or literals, with which a maximum begins?"""
        return all(o in self._data or o in self._constants or _is_number(o) for o in read)

    @cached_property
    def _constants(self) -> frozenset[str]:
        """Registers that hold nothing but literals."""
        found, others = set[str](), set[str]()
        for one in self._instructions:
            is_number = one.opcode == "mov" and _is_number(one.operands[1])
            (found if is_number else others).update(results(one))
        return frozenset(found - others)

    @cached_property
    def _only_compared(self) -> set[str]:
        """Real parameters that are compared with literals, and not used otherwise."""
        read, tested = set[str](), set[str]()
        for one in self._instructions:
            (tested if id(one) in self._tests else read).update(sources(one))
        return tested - read

    def _of_integers(self, one: Instruction, kind: str) -> list[str] | None:
        if not {"cc", "sat"}.isdisjoint(one.modifiers):
            raise NoFunction("a carry of data, or a limit")
        is_plain = bool(_bits_of(kind)) and {*one.modifiers} <= {"lo", kind}
        data = [o for o in one.operands[1:3] if o in self._data]
        if one.opcode in _LINEAR and is_plain:
            is_product = one.opcode in ("mul", "mad") and len(data) > 1
            if not is_product and not (one.opcode == "shl" and one.operands[2] in self._data):
                return None
        if one.opcode in ("max", "min") and is_plain and self._are_terms(one.operands[1:]):
            return [f"hashed.{one.opcode}.b{_bits_of(kind)} {', '.join(one.operands)}"]
        return self._of_operands(one)

    def _of_operands(self, one: Instruction) -> list[str]:
        """A hash of opcode and operands. Where a data operand is zero, the operation itself."""
        if one.opcode not in _KNOWN or any("x2" in word for word in one.modifiers):
            raise NoFunction(
                f"nothing is known of '{'.'.join((one.opcode, *one.modifiers))}' of data"
            )
        to, kind, added = type_of(one, 0), type_of(one, 1), ""
        result, *read = one.operands
        width, opcode = self._width(result), one.opcode
        if not width or "|" in result:
            raise NoFunction(f"'{one.opcode}' gives registers of another kind")
        into, is_sum = result, opcode in _ADDING and to not in REALS
        if is_sum:
            *read, added = read
            opcode, into = _ADDING[opcode], _HELD[width]
            words = (opcode, *one.modifiers)
            own = read if opcode in ("mul", "mul24") else [*read, "0"]
            operation = f"{'.'.join(words)} {into}, {', '.join(own)}"
        else:
            operation = _statement(one)
        is_symmetric = opcode in _SYMMETRIC and to not in REALS
        said = self._keys(read, kind, is_symmetric)
        said += [
            operation,
            _hash_result(into, to if to in _SCALARS else f"b{width}", opcode, one.modifiers),
        ]
        return said + ([f"add.u{width} {result}, {into}, {added}"] if is_sum else [])

    def _keys(self, read: list[str], kind: str, is_symmetric: bool) -> list[str]:
        """Statements that hash operands into `_KEY`; 0 where an operand that is data is special."""
        if is_symmetric:
            first, second = read
            return [
                f"hashed.key.{self._hashed_type(first, '')} {_KEY}, {first}",
                f"hashed.key.{self._hashed_type(second, '')} {_OTHER_KEY}, {second}",
                f"min.u64 {_SHOWS}, {_KEY}, {_OTHER_KEY}",
                f"hashed.pair.b64 {_KEY}, {_KEY}, {_OTHER_KEY}",
                f"hashed.unless.b64 {_KEY}, {_KEY}, {_SHOWS}",
            ]
        said = [f"mov.b64 {_KEY}, 0", f"mov.b64 {_SHOWS}, 0"]
        for operand in read:
            said += [
                f"hashed.key.{self._hashed_type(operand, '')} {_OTHER_KEY}, {operand}",
                f"hashed.mix.b64 {_KEY}, {_KEY}, {_OTHER_KEY}",
            ]
            if operand in self._data:
                said += [
                    f"hashed.key.{self._hashed_type(operand, kind)} {_OTHER_KEY}, {operand}",
                    f"or.b64 {_SHOWS}, {_SHOWS}, {_OTHER_KEY}",
                ]
        return [*said, f"hashed.unless.b64 {_KEY}, {_KEY}, {_SHOWS}"]

    def _hashed_type(self, operand: str, kind: str) -> str:
        """The PTX type by which the hash reads an operand."""
        width = self._width(operand) or 64
        is_whole = kind in _SCALARS and 8 * TYPE_BYTES[kind] == width
        return kind if is_whole else f"b{width}"


def _guard(one: Instruction) -> str:
    return f"@{'!' * one.negated}{one.guard} " if one.guard else ""


def _statement(one: Instruction) -> str:
    return ".".join((one.opcode, *one.modifiers)) + " " + ", ".join(one.operands)


def _hash_result(name: str, kind: str, *about: object) -> str:
    """A statement that replaces a result by a hash of `_KEY`, unless the key is 0."""
    return f"hashed.result.{kind} {name}, {name}, {_KEY}, {crc32(repr(about).encode())}"


def _is_number(operand: str) -> bool:
    return literal(operand) is not None or bool(REAL_NUMBER.fullmatch(operand))


def _is_large(operand: str) -> bool:
    """Is it a literal that stands for infinity in hashed texts?"""
    if not REAL_NUMBER.fullmatch(operand):
        return False
    bits, first = _LARGE[operand[1].lower()]
    return int(operand[2:], 16) & ((1 << bits) - 1) >= first


def _bits_of(kind: str) -> int:
    """The width of a register of this type in bits; 0: a predicate, or another kind."""
    digits = kind.lstrip("subf")
    return int(digits) if digits.isdigit() and int(digits) in (16, 32, 64) else 0
