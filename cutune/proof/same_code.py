"""Does a copy of a kernel do the same? Takes compiled entries, compares them.

`code_of` compares instruction by instruction, as for copies that change a number or a name. Where a
copy may be other code, and only has to round alike, `rounds_alike` decides.

Where a program adds a product the compiler may fuse both, so that the product is not rounded, and
of `a * b + c * d` it may fuse either one. Which one depends on the code around: in a copy of a
kernel it may be the other, and the last bits of the results differ. Besides that compilers keep the
order of floating-point operations, unless they are told otherwise.

A value has the names of the parameters, built-in variables, loaded values and constants that it
depends on, without the order of basic blocks. These stay the same when the compiler unrolls a loop,
keeps a value in a register or moves code. A value that is read through a pointer depends on all
values that are stored through it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain
from types import MappingProxyType

from cutune.ptx.taint import names, results
from cutune.ptx.types import ACTIVE_LANES, TYPE_BYTES, Function, Instruction, Module, of_last

#: Numbers of labels and local memory count the functions of a module.
_COUNTED = re.compile(r"(\$L__BB|__local_depot)\d+")
_NAME = re.compile(r"[\w$]+")
#: Texts, and the names of functions as assertions have them.
_DYNAMIC = "@dynamic"
_UNNAMED = re.compile(r"(?:\$str|__unnamed_)[\w$]*")


def code_of(
    module: Module,
    name: str,
    with_limits: bool = True,
    in_texts: Callable[[str], str] = lambda text: text,
) -> object:
    """Text that is equal for entries with the same code. `with_limits`: and launch bounds.

    `in_texts`: what a string of an assertion says in the other code.
    """
    function = module.functions[name]
    texts = {variable.name: in_texts(_text(variable.initial)) for variable in module.variables}
    # The frame has what arrays of the function are.
    shared = _shared_arrays(function)
    for variable in module.variables:
        if variable.name in dynamic_arrays(module):
            shared[variable.name] = f"{_DYNAMIC} {variable.content}"

    def plain(text: str) -> str:
        text = _NAME.sub(lambda found: shared.get(found[0], found[0]), text)
        text = _COUNTED.sub(r"\1", text.replace(name, "@"))
        return _UNNAMED.sub(lambda found: f'"{texts.get(found[0], found[0])}"', text)

    body = tuple(
        (item.opcode, item.modifiers, tuple(map(plain, item.operands)), item.guard, item.negated)
        if isinstance(item, Instruction)
        else (plain(item.name), plain(item.table))
        for item in function.body or ()
    )
    registers = tuple(sorted(function.registers.items()))
    limits = tuple(sorted(function.directives.items())) if with_limits else ()
    frame = [tuple(v.content for v in each) for each in (function.parameters, function.variables)]
    return tuple(frame), limits, registers, body


#: Why there is no copy of what does so.
MEETS_OTHERWISE = "may bring lanes of a warp together elsewhere, and the kernel asks for them"


def tells_active_lanes(function: Function) -> bool:
    """Does it ask which lanes of a warp are at one place? A copy's may come together elsewhere."""
    return any(one.opcode == ACTIVE_LANES for one in function.instructions)


def dynamic_arrays(module: Module) -> frozenset[str]:
    """Names of arrays whose size the launch gives: all begin at one place."""
    variables = (v for v in module.variables if v.space == "shared")
    return frozenset(variable.name for variable in variables if variable.size == 0)


def _shared_arrays(function: Function) -> dict[str, str]:
    """Names for shared arrays of a function, which are called after it, without it."""
    variables = enumerate(function.variables)
    return {one.name: f"@{index}" for index, one in variables if one.space == "shared"}


def _text(initial: str) -> str:
    """The string whose bytes are listed, `{72, 105, 0}`; anything else as it is."""
    numbers = initial.removeprefix("{").removesuffix("}").split(",")
    are_bytes = all(one.strip().isdigit() and int(one) < 256 for one in numbers)
    return bytes(map(int, numbers)).decode("latin-1") if are_bytes else initial


Made = frozenset[str]
"""The names that a value depends on, which mean the same in a kernel and its copies."""


@dataclass(frozen=True)
class FloatOperation:
    """An instruction, and the names that its operands depend on.

    `leaves`: with the offsets in the addresses of those that are loaded.
    """

    instruction: Instruction
    made_of: tuple[Made, ...]
    leaves: tuple[Made, ...] = ()

    @property
    def opcode(self) -> str:
        return self.instruction.opcode

    @property
    def operands(self) -> tuple[str, ...]:
        return self.instruction.operands[1:]

    @property
    def is_rounded_always(self) -> bool:
        """Is it never fused with another one, because it names its rounding (`-fmad=false`)?"""
        return "rn" in self.instruction.modifiers


FLOATS = frozenset({"f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64"})
FUSED = frozenset({"fma", "mad"})
SUMS = frozenset({"add", "sub"})
_LOADS = frozenset({"ld", "ldu", "tex", "tld4", "suld", "atom", "ldmatrix"})
_STORES = frozenset({"st", "atom", "red"})
_MOVES = frozenset({"mov", "cvta"})
_NO_OPERATIONS = _LOADS | _STORES | _MOVES
_REGISTER = re.compile(r"%[\w$]+(?:\.[xyz])?")
_CONSTANT = re.compile(r"0[fFdD][0-9a-fA-F]+$")
_PARAMETER = re.compile(r"\[\s*\w+?_param_(\d+)\s*(?:\+\s*(\d+))?\s*\]")
_OFFSET = re.compile(r"\+\s*(-?\d+)\s*\]")
_OF_PARAMETER = "parameter"


@dataclass
class FloatOperations:
    """The operations of a function with a body.

    `counts_as`: other names of built-in variables and `parameter_name`s; without one they are left
    out. `dynamic`: shared arrays of the module that begin at one place, whatever they are called.
    """

    function: Function
    counts_as: Mapping[str, str] = field(default_factory=dict)
    dynamic: Collection[str] = ()
    #: The names that registers and memory depend on, whoever writes them.
    _made: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    #: The same of registers that were written before in the same basic block.
    _local: dict[str, set[str]] = field(default_factory=dict)
    #: The memory behind the address of each access.
    _places: dict[int, str] = field(default_factory=dict)
    _read: dict[int, tuple[Made, ...]] = field(default_factory=dict)
    _added: dict[int, tuple[set[str], ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._until_nothing_is_added()
        for number, one in self._instructions:
            if (address := _address(one)) is not None:
                self._places[number] = self._place(address)
        # Addresses are known: from here on loads depend on stored values.
        self._made.clear()
        self._until_nothing_is_added()
        self._read = {number: tuple(map(frozenset, made)) for number, made in self._added.items()}

    def in_order(self, with_loads: bool = False) -> Iterator[FloatOperation]:
        """Yield all operations on floating-point numbers; `with_loads`: and loads, by places."""
        for number, one in self._instructions:
            if one.opcode in _LOADS and number in self._places and with_loads:
                yield FloatOperation(one, (frozenset({self._places[number]}),))
            elif _is_operation(one):
                leaves = map(self._leaf, one.operands[1:], self._read[number])
                yield FloatOperation(one, self._read[number], tuple(leaves))

    @property
    def fuses_all(self) -> bool:
        """Are there products, and each of them added to something, without being rounded?"""
        opcodes = {one.opcode for one in self.in_order() if not one.is_rounded_always}
        fused = any(one.opcode in FUSED for one in self.in_order())
        return fused and "mul" not in opcodes

    def definition(self, operand: str) -> FloatOperation | None:
        """Return the only instruction that writes a register; None where there are several."""
        definitions = self._definitions.get(operand.lstrip("-"), [])
        if len(definitions) != 1:
            return None
        number, one = definitions[0]
        return FloatOperation(one, self._read[number])

    def vector_part(self, operand: str) -> tuple[int, int] | None:
        """Which load of several values gives a register, and at which place; None: no other does.

        Its values lie behind one another in memory, however it is compiled.
        """
        definitions = self._definitions.get(operand.lstrip("-"), [])
        if len(definitions) != 1 or definitions[0][1].opcode not in _LOADS:
            return None
        number, one = definitions[0]
        written = results(one)
        is_vector = _address(one) is not None and len(written) > 1
        return (number, written.index(operand.lstrip("-"))) if is_vector else None

    @cached_property
    def _instructions(self) -> list[tuple[int, Instruction]]:
        body = enumerate(self.function.body or ())
        return [(number, item) for number, item in body if isinstance(item, Instruction)]

    @cached_property
    def _arrays(self) -> Mapping[str, str]:
        return {**dict.fromkeys(self.dynamic, _DYNAMIC), **_shared_arrays(self.function)}

    @cached_property
    def _definitions(self) -> Mapping[str, list[tuple[int, Instruction]]]:
        found: defaultdict[str, list[tuple[int, Instruction]]] = defaultdict(list)
        for number, one in self._instructions:
            for name in results(one):
                found[name].append((number, one))
        return found

    def _leaf(self, operand: str, made: Made) -> Made:
        """A value that is loaded is known by the constant in its address, too."""
        found = self.definition(operand)
        address = _address(found.instruction) if found is not None else None
        if found is None or address is None or found.opcode not in _LOADS:
            return made
        offset = _OFFSET.search(address)
        behind = int(offset[1]) if offset else 0
        part = results(found.instruction).index(operand.lstrip("-"))
        return made | {f"at {behind + part * _bytes(found.instruction)}"}

    def _until_nothing_is_added(self) -> None:
        before = -1
        while before != (before := sum(map(len, self._made.values()))):
            self._local.clear()
            for number, item in enumerate(self.function.body or ()):
                if isinstance(item, Instruction):
                    self._add(number, item)
                else:
                    self._local.clear()

    def _of(self, operand: str) -> set[str]:
        constants, registers = _parts_of(operand)
        found = {*constants}
        for name in registers:
            # A condition selects values, it is no part of them.
            if (kind := self.function.registers.get(name)) is None:
                found |= self._named(name)
            elif kind != "pred":
                found |= self._local.get(name, self._made[name])
        return found

    def _named(self, name: str) -> set[str]:
        return {self.counts_as.get(name, name)} - {""}

    def _add(self, number: int, one: Instruction) -> None:
        self._added[number] = read = tuple(map(self._of, one.operands[1:]))
        place = self._places.get(number, "")
        if place and one.opcode in _STORES:
            for operand in one.operands[1:]:
                # A constant is stored by its bits: as it is written elsewhere.
                text = f"0f{int(operand):08X}" if operand.isdecimal() else operand
                self._made[place] |= self._of(text)
        if one.opcode not in _LOADS:
            found = {f"call {one.operands[-2:]}"} if one.opcode == "call" else set()
            found = found.union(*read)
        else:
            found = self._made[place] | {place} if place else set()
        written = [name for name in results(one) if name in self.function.registers]
        for part, name in enumerate(written):
            is_parameter = one.opcode in _LOADS and "param" in one.modifiers
            value = self._named(_parameter(one, part)) if is_parameter else set(found)
            # Under a condition it may keep its value.
            before = self._local.get(name, self._made[name]) if one.guard else set()
            self._made[name] |= value
            self._local[name] = value | before

    def _place(self, operand: str) -> str:
        found: set[str] = set()
        for name in names(operand):
            made = self._made.get(name, {name})
            words = {word for word in made if _OF_PARAMETER in word or word == name}
            found |= {self._arrays.get(word, word) for word in words}
        return f"behind {sorted(found)}"


def _is_operation(one: Instruction) -> bool:
    return not FLOATS.isdisjoint(one.modifiers) and one.opcode not in _NO_OPERATIONS


@cache
def _parts_of(operand: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The constant that an operand is, and the registers that it names."""
    is_constant = _CONSTANT.match(operand) and operand.strip("0dDfF")
    return (operand,) if is_constant else (), tuple(_REGISTER.findall(operand))


def _address(one: Instruction) -> str | None:
    if "param" in one.modifiers or one.opcode not in _LOADS | _STORES:
        return None
    return one.operands[0 if one.opcode in ("st", "red") else 1]


def _parameter(one: Instruction, part: int) -> str:
    found = _PARAMETER.search(one.operands[1])
    if found is None:
        return one.operands[1]
    return parameter_name(int(found[1]), int(found[2] or 0) + part * _bytes(one))


def parameter_name(position: int, offset: int = 0) -> str:
    """The name of what lies at an offset in bytes in a parameter."""
    return f"{_OF_PARAMETER} {position} {offset}"


def _bytes(one: Instruction) -> int:
    return next((TYPE_BYTES[word] for word in one.modifiers if word in TYPE_BYTES), 0)


Operand = int | Made
"""The number of an operation, or the names that another value depends on."""
Operation = tuple[str, tuple[str, ...], tuple[tuple[bool, Operand], ...]]
"""Opcode, modifiers, and operands, each with its sign."""
_Factors = frozenset[Operand]


def _numbered(operations: FloatOperations) -> tuple[Operation, ...]:
    numbers: dict[str, int] = {}
    ordered: list[Operation] = []
    for number, one in enumerate(operations.in_order(with_loads=True)):
        if one.opcode in _LOADS:
            # Whether it goes through the read-only cache does not matter.
            ordered.append((one.opcode, (), ((False, one.made_of[0]),)))
        else:
            ordered.append(_operation(one, one.made_of, numbers))
        _note(operations, one, numbers, number)
    return tuple(ordered)


def _expressions(operations: FloatOperations, table: dict[Operation, int]) -> tuple[set[int], bool]:
    """The set of all expressions; are any two products that are added to each other different?

    At their leaves are parameters, built-in variables, constants, and loaded values: identified by
    the pointer and the constant that is added to the address, not by the rest of it. `table`:
    numbers of expressions, shared by the functions that are compared.
    """
    of_register: dict[str, int] = {}
    products: dict[str, _Factors] = {}
    numbers, sums, are_distinct = set[int](), set[tuple[_Factors, _Factors]](), True
    for one in operations.in_order():
        operation = _operation(one, one.leaves, of_register)
        number = table.setdefault(operation, len(table))
        numbers.add(number)
        _note(operations, one, of_register, number)
        factors = frozenset(operand for _, operand in operation[2][:2])
        added = [products.get(operand.lstrip("-")) for operand in one.operands]
        if one.opcode == "mul" and not one.is_rounded_always:
            products |= dict.fromkeys(results(one.instruction), factors)
        elif one.opcode in FUSED and (addend := added[2]) is not None:
            sums.add((factors, addend))
        elif one.opcode in SUMS and None not in added:
            are_distinct = False
    return numbers, are_distinct and not any((other, one) in sums for one, other in sums)


def _operation(
    one: FloatOperation, leaves: tuple[Made, ...], numbers: Mapping[str, int]
) -> Operation:
    """Signs are exact, but belong to the operation."""
    read = zip(one.operands, leaves, strict=True)
    operands = ((word.startswith("-"), numbers.get(word.lstrip("-"), leaf)) for word, leaf in read)
    return one.opcode, one.instruction.modifiers, tuple(operands)


def _note(
    operations: FloatOperations, one: FloatOperation, numbers: dict[str, int], number: int
) -> None:
    """A result is known by its number, unless another instruction writes to the same place."""
    for name in results(one.instruction):
        if operations.definition(name) is not None:
            numbers[name] = number


Product = tuple[str, tuple[Made, Made]]
"""The type of a product, and the names that its factors depend on."""
Sum = tuple[Product, ...]
"""Products that are added to each other; where one is fused it is the first."""


class Products:
    """The products of a function, each identified by the names that its factors depend on.

    In `sums` they stand as `fused` with an addition, or `rounded`: all others. `added`: a fused
    product, and the rounded one that is added to it. `loose`: rounded products that are added; the
    assembler may still fuse them.
    """

    def __init__(self, operations: FloatOperations) -> None:
        self.operations = operations
        self.sums: defaultdict[str, set[Sum]] = defaultdict(set)
        for one in operations.in_order():
            if one.opcode == "mul" and not one.is_rounded_always:
                self.sums["rounded"].add((_product(one),))
            elif one.opcode in FUSED:
                addend = self._multiplied(one.operands[2])
                self.sums["fused"].add((_product(one),))
                self.sums["added"] |= {self._sum(one, addend)} if addend is not None else set()
            elif one.opcode in SUMS:
                operands = map(self._multiplied, one.operands)
                if products := tuple(product for product in operands if product is not None):
                    self.sums["loose"].add(self._sum(*products))

    def are_those_of(self, kernel: Products) -> bool:
        """Tell whether they are those of a kernel, of which this function is a copy."""
        both, of_kernel = (one.sums["added"] | one.sums["loose"] for one in (self, kernel))
        turned = {one[::-1] for one in of_kernel if len(one) > 1}
        kinds = ("fused", "rounded", "added", "loose")
        return all(_are_alike(self.sums[kind], kernel.sums[kind]) for kind in kinds) and not any(
            _may_be(one, other) for one in both for other in turned
        )

    def _multiplied(self, operand: str) -> FloatOperation | None:
        one = self.operations.definition(operand)
        if one is None:
            return None
        if one.opcode in ("neg", "mov"):
            return self._multiplied(one.operands[0])
        is_product = one.opcode == "mul" and _kinds(one) and not one.is_rounded_always
        return one if is_product else None

    def _sum(self, *products: FloatOperation) -> Sum:
        """Products that are added; factors of the same vectors are known by their places, too."""
        parts = [[self.operations.vector_part(o) for o in one.operands[:2]] for one in products]
        known = [[part for part in both if part is not None] for both in parts]
        loads = {tuple(sorted(load for load, _ in both)) for both in known}
        if len(products) < 2 or len(loads) != 1 or len(known[0]) != 2:
            return tuple(map(_product, products))
        placed = []
        for one, ((_, first), (_, second)) in zip(products, known, strict=True):
            kind, (left, right) = _product(one)
            placed.append((kind, (left | {f"part {first}"}, right | {f"part {second}"})))
        return tuple(placed)


def _product(one: FloatOperation) -> Product:
    first, second, *_ = one.made_of
    return _kinds(one)[0], (first, second)


def _kinds(one: FloatOperation) -> list[str]:
    return [word for word in one.instruction.modifiers if word in FLOATS]


def _are_alike(of_copy: Collection[Sum], of_kernel: Collection[Sum]) -> bool:
    return all(any(_may_be(one, other) for other in of_kernel) for one in of_copy) and all(
        any(_may_be(one, other) for one in of_copy) for other in of_kernel
    )


def _may_be(of_copy: Sum, of_kernel: Sum) -> bool:
    """May they be the same? A copy that keeps values in registers has them made of less."""
    return len(of_copy) == len(of_kernel) and all(
        kind == other_kind
        and ((first <= one and second <= other) or (first <= other and second <= one))
        for (kind, (first, second)), (other_kind, (one, other)) in zip(
            of_copy, of_kernel, strict=True
        )
    )


@of_last
def _operations_of_kernel(
    kernel: Function, counts_as: frozenset[tuple[str, str]], dynamic: frozenset[str]
) -> FloatOperations:
    return FloatOperations(kernel, dict(counts_as), dynamic)


def rounds_alike(
    kernel: Function,
    copy: Function,
    counts_as: Mapping[str, str] = MappingProxyType({}),
    dynamic: Collection[str] = (),
) -> bool:
    """Tell whether one of these is known. The rest is as in `FloatOperations`, for both.

    - Both have the same floating-point operations and loads in the same order.
    - Both fuse all products.
    - Both have the same expressions, and products that are added to each other are different ones.
    - Both fuse the same products, round the same ones, and add the same ones to each other; these
      are made of different values.
    """
    if not any(map(_is_operation, chain(kernel.instructions, copy.instructions))):
        return True
    of_kernel = _operations_of_kernel(kernel, frozenset(counts_as.items()), frozenset(dynamic))
    of_copy = FloatOperations(copy, counts_as, dynamic)
    if _numbered(of_kernel) == _numbered(of_copy):
        return True
    if of_kernel.fuses_all and of_copy.fuses_all:
        return True
    table: dict[Operation, int] = {}
    one, other = _expressions(of_kernel, table), _expressions(of_copy, table)
    if one == other and one[1]:
        return True
    return Products(of_copy).are_those_of(Products(of_kernel))
