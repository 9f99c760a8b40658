"""Does all that a function makes of sizes show at sizes that were tried?

Takes PTX functions and the sizes, gives what may be otherwise at larger ones. Only operations that
are known are let through. A *size* is an integer parameter, a block's place, and what a loop
counts; each has a scale: by how much a size has to grow for it to grow by one. So `n >> 10`
compared with 5 is `n` compared with 5120. A *pointer* is only moved and followed. A *real*
parameter, and what is computed from sizes in real numbers, never becomes an integer; itself it may
be compared with numbers, where the trials have each outcome of that (`beta == 0`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf

from cutune.ptx.named_numbers import (
    REAL_NUMBER,
    REALS,
    joins_bits,
    literal,
    numbers_of,
    step_of_upper_half,
    tests_of_parameters,
    type_of,
)
from cutune.ptx.of_place import loops_with_one_end, uneven_rounds
from cutune.ptx.taint import (
    loads_data,
    made_of_themselves,
    moved_once,
    names,
    results,
    sources,
    spaces,
)
from cutune.ptx.types import LOADS, MEMORY, Function, Instruction, Label, Variable, opcodes

_THREADS = re.compile(r"%n?tid\.[xyz]|%laneid")
_BLOCKS = re.compile(r"%n?ctaid\.([xyz])")
_WIDE = frozenset({"s32", "u32", "b32", "s64", "u64", "b64"})
_COMPARED = frozenset({"setp", "min", "max"})
_BOUNDED = _COMPARED | {"add", "sub", "and", "or", "xor"}
_ALLOWED = _BOUNDED | opcodes("mov cvt cvta mul mad neg not abs shl shr selp")
_LINEAR = frozenset({"mov", "cvta", "add", "sub", "neg", "mul", "mad", "shl"})
_MOVING = frozenset({"add", "sub", "mad"})
_DIVIDING = frozenset({"div", "rem"})
_OF_POINTERS = frozenset({"mov", "cvta", "add", "sub", "ld", "ldu", "st", "atom", "red", "call"})
#: From which operand on memory operations read what they store.
_VALUES = {"st": 1, "red": 1, "atom": 2}
_OFREALS = opcodes("mov cvt add sub mul div fma mad neg selp rcp sqrt rsqrt sin cos lg2")
_ROUNDING = frozenset({"rni", "rzi", "rmi", "rpi"})
#: Sizes in bytes are so many times what they are in numbers.
_BYTES = 8
_FAR = 1 << 40
#: The least index above n is that of a size of n + 2.
_FIRST_BEYOND = 2
#: What is added to a size and grows in as many passes over the code is added again and again.
_MOST_PASSES = 32
#: With numbers up to this, all kinds of sizes were tried together.
_USUAL = 4

Scales = dict[str, float]


@dataclass(frozen=True)
class TriedSizes:
    """What was tried: the most of integer parameters, and how a grid grows with these.

    `covered`: by how much a size has to grow, in each dimension, for one more block.
    `per_thread`: the same for one more thread of whole blocks.
    `numbers`: those on both sides of which each real parameter was tried, and they themselves.
    """

    most: Mapping[int, int]
    covered: tuple[float, float, float]
    per_thread: tuple[float, float, float]
    numbers: Mapping[int, frozenset[float]]

    @property
    def limit(self) -> int:
        return max(self.most.values(), default=0)


class SizesOfFunctions:
    """`FollowedSizes`: what registers hold is looked at once for all sizes that are tried."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bool], tuple[Function, FollowedSizes]] = {}

    def of(self, function: Function, kernel: Function, tried: TriedSizes) -> FollowedSizes:
        """A function of this kernel where sizes were tried."""
        key = id(function), function is kernel
        if key not in self._known or not self._known[key][1].may_be_at(tried):
            self._known[key] = function, FollowedSizes(function, kernel, tried)
        return self._known[key][1].at(tried)

    def untried(self, functions: Iterable[Function], kernel: Function, tried: TriedSizes) -> str:
        """Return what may do something else beyond the sizes that were tried; "" if nothing."""
        return next(
            (said for one in functions if (said := self.of(one, kernel, tried).reason())), ""
        )

    def asked(self, functions: Iterable[Function], kernel: Function, tried: TriedSizes) -> float:
        """Return the size from which on functions do nothing new, of all that they compare."""
        return max((self.of(one, kernel, tried).asked() for one in functions), default=0)


def _closed(
    instructions: Sequence[Instruction], begins: Callable[[Instruction], bool]
) -> frozenset[str]:
    """Registers that follow from those that some instructions give, except by comparisons."""
    found, size = set[str](), -1
    found.update(name for one in instructions if begins(one) for name in results(one))
    going_on = [
        (_read(one), results(one))
        for one in instructions
        if one.opcode != "setp" and not loads_data(one)
    ]
    while size != (size := len(found)):
        for read, written in going_on:
            if not found.isdisjoint(read):
                found.update(written)
    return frozenset(found)


def _read(one: Instruction) -> tuple[str, ...]:
    """What an instruction reads, but for its guard."""
    found = sources(one)
    return tuple(name for name in found if name != one.guard) if one.guard else found


def _is_linear(one: Instruction) -> bool:
    return one.opcode in _LINEAR and "hi" not in one.modifiers


def _with_literals(function: Function) -> Function:
    """The function with numbers in place of registers that hold one of them alone."""
    moved = moved_once(function.instructions)
    known = {name: what for name, what in moved.items() if literal(what) is not None}

    def named(item: Instruction | Label) -> Instruction | Label:
        if not isinstance(item, Instruction) or known.keys().isdisjoint(item.operands[1:]):
            return item
        others = (known.get(one, one) for one in item.operands[1:])
        return replace(item, operands=(item.operands[0], *others))

    return replace(function, body=tuple(map(named, function.body or ())))


class FollowedSizes:
    """What registers hold: `loaded` data, `reals` of the launch, and sizes, with their `scales`."""

    def __init__(self, function: Function, kernel: Function, tried: TriedSizes) -> None:
        is_kernel = function is kernel
        function = _with_literals(function)
        kernel = function if is_kernel else kernel
        self._tried, self.body = tried, function.body or ()
        of_entry = kernel.parameters if function is kernel else ()
        self._entry: Mapping[str, Variable] = {one.name: one for one in of_entry}
        self._tests = tests_of_parameters(kernel) if function is kernel else {}
        self.instructions, self.registers = function.instructions, function.registers
        self._pointers = self._closed(self._is_pointer)
        self.loaded = self._closed(self._is_data)
        self.reals = self._numbers_of_the_launch()
        self.scales = self._sizes()

    def may_be_at(self, tried: TriedSizes) -> bool:
        """Are the same parameters sizes?"""
        return tried.most.keys() == self._tried.most.keys()

    def at(self, tried: TriedSizes) -> FollowedSizes:
        """Return it where other sizes were tried: of all that is known, scales change."""
        if tried == self._tried:
            return self
        other = copy(self)
        for name in ("_products", "_moves"):
            other.__dict__.pop(name, None)
        other._tried = tried
        other.scales = other._sizes()
        return other

    # ---- what registers hold

    def _is_pointer(self, one: Instruction) -> bool:
        """Loads a kernel's parameter that is no number, or a function's that is followed."""
        if not self._is_parameter(one) or type_of(one, 0) in REALS:
            return False
        place = self.place(one)
        return one.operands[0] in self._followed if place is None else place not in self._tried.most

    def _is_data(self, one: Instruction) -> bool:
        """Loads what is no parameter of the kernel: functions are given data, and return them."""
        if loads_data(one):
            return True
        is_from_elsewhere = self._is_parameter(one) and self.place(one) is None
        return is_from_elsewhere and one.operands[0] not in self._pointers

    def place(self, one: Instruction) -> int | None:
        """The place of the parameter of a kernel that is loaded."""
        named = {*names(one.operands[1])}
        return next((n for n, known in enumerate(self._entry) if known in named), None)

    def _numbers_of_the_launch(self) -> frozenset[str]:
        """Registers of real numbers that follow from what the launch tells.

        A product with data is data: of these there are numbers of any size and sign.
        """
        found, size = set[str](), -1
        while size != (size := len(found)):
            for one in self.instructions:
                stops = one.opcode == "setp" or loads_data(one)
                follows = not (stops or found.isdisjoint(self.read(one)))
                if self._is_real(one) or (follows and not self._scales_data(one, found)):
                    found.update(results(one))
        return frozenset(found)

    def _scales_data(self, one: Instruction, numbers: Collection[str]) -> bool:
        """Does it multiply data by one of these numbers, and add none of them?"""
        if one.opcode not in ("mul", "fma") or type_of(one, 0) not in REALS:
            return False
        factors, added = one.operands[1:3], one.operands[3:]
        data = [factor for factor in factors if factor in self.loaded and factor not in numbers]
        is_alone = len(data) == 1 and not any(term in numbers for term in added)
        # What is kept in memory may be loaded as data.
        return is_alone and self._stored.isdisjoint(numbers)

    @cached_property
    def _stored(self) -> frozenset[str]:
        stores = (one for one in self.instructions if one.opcode in ("st", "red", "atom"))
        return frozenset(name for one in stores for name in names(one.operands[-1]))

    def _is_real(self, one: Instruction) -> bool:
        is_converted = one.opcode == "cvt" and type_of(one, 1) in _WIDE
        is_real = type_of(one, 0) in REALS
        return is_real and (self._is_parameter(one) or is_converted)

    @staticmethod
    def _is_parameter(one: Instruction) -> bool:
        return one.opcode in LOADS and "param" in spaces(one)

    @property
    def _followed(self) -> frozenset[str]:
        """Registers of which addresses are made, by `cvta` or at once."""
        found = set[str]()
        for one in self.instructions:
            if one.opcode == "cvta":
                found.update(names(one.operands[1]))
            elif one.opcode in MEMORY and "param" not in spaces(one):
                found.update(names(one.operands[0 if one.opcode in ("st", "red") else 1]))
        return frozenset(found)

    def _closed(self, begins: Callable[[Instruction], bool]) -> frozenset[str]:
        return _closed(self.instructions, begins)

    read = staticmethod(_read)

    def _sizes(self) -> Scales:
        scales: Scales = {}
        carried, leaping = self.carried, self._leaping
        for _ in range(64):
            before = dict(scales)
            for one in self.instructions:
                scale = self._scale_of(one, scales)
                for name in results(one):
                    # Nobody knows how often a loop goes round.
                    most = max(scale, 1.0) if name in carried else scale
                    most = _FAR if name in leaping else most
                    if most and not (name in self.loaded or name in self._pointers):
                        scales[name] = max(most, scales.get(name, 0.0))
            if scales == before:
                return scales
        return dict.fromkeys(scales, float(_FAR))

    @cached_property
    def carried(self) -> frozenset[str]:
        """Registers of integers that a loop computes from themselves."""
        reads: dict[str, set[str]] = {}
        for one in self.instructions:
            is_integer = type_of(one, 0) in _WIDE and one.opcode != "setp"
            for name in results(one) if is_integer and not loads_data(one) else ():
                reads.setdefault(name, set()).update(n for n in self.read(one) if n[0] == "%")
        own = made_of_themselves(reads)
        return frozenset(own - self.loaded - self._pointers - self._counting_to_literals(own))

    @property
    def _leaping(self) -> set[str]:
        return uneven_rounds(self.body, self.carried)

    def _counting_to_literals(self, own: set[str]) -> set[str]:
        """Registers of loops that end where a literal is reached, in all launches alike.

        Such a loop has no other end. Its last block adds to what is made of literals, and of places
        in the block, compares it with a literal, and goes back. `own`: what loops go on with.
        """
        found = set[str]()
        for loop, block in loops_with_one_end(self.body):
            last = block[-1]
            tests = [one for one in block if last.guard in results(one)]
            read = {name for one in tests for name in self.read(one) if name[0] == "%"}
            is_test = len(tests) == 1 and tests[0].opcode == "setp" and bool(read)
            if not is_test or not read <= self._made:
                continue
            within, at_end = ({id(one) for one in part} for part in (loop, block))
            begun = [one for one in self.instructions if id(one) not in within]
            # What another loop goes on with does not begin with the same each time.
            going_on = {
                n for one in begun for n in results(one) if not own.isdisjoint(self.read(one))
            }
            skipped = {n for one in loop if id(one) not in at_end for n in results(one)}
            is_literal = any(literal(operand) is not None for operand in tests[0].operands)
            if is_literal and read.isdisjoint(skipped | going_on):
                found |= {n for one in loop for n in results(one) if n in self._made} - going_on
        return found

    @cached_property
    def _made(self) -> frozenset[str]:
        """Registers into which only literals go, and places in the block."""
        made = {name for one in self.instructions for name in results(one)}
        is_less = True
        while is_less:
            before = len(made)
            for one in self.instructions:
                is_known = one.opcode in _ALLOWED | _DIVIDING and all(
                    literal(o) is not None or o in made or _THREADS.fullmatch(o)
                    for o in one.operands[1:]
                )
                if not is_known:
                    made.difference_update(results(one))
            is_less = len(made) < before
        return frozenset(made)

    def _scale_of(self, one: Instruction, scales: Scales) -> float:
        """How much a size grows where the result grows by one; 0 where it is no size."""
        if one.opcode == "setp" or loads_data(one) or type_of(one, 0) in REALS:
            return 0
        if self._is_parameter(one):
            return self._of_parameter(one)
        if (ids := self._of_ids(one)) is not None:
            return min([ids, *(scales[o] for o in one.operands[3:] if o in scales)])
        own = [scales[name] for name in self.read(one) if name in scales]
        for operand in one.operands[1:]:
            if match := _BLOCKS.fullmatch(operand):
                own.append(float(self._tried.covered["xyz".index(match[1])]))
        if not own:
            return 0
        # Of a sum the term that grows least counts: (n & 1) + (m >> 20) > 1.
        scale = max(own)
        last = literal(one.operands[-1])
        if one.opcode == "mad":
            factor, added = literal(one.operands[2]), scales.get(one.operands[3], 0.0)
            multiplied = scales.get(one.operands[1], 0.0)
            return max(multiplied / abs(factor), added) if factor else scale
        if last is None:
            return scale
        if one.opcode == "shr":
            return 0 if self._is_sign(one, last) else min(_FAR, scale * 2**last)
        if step := step_of_upper_half(one):
            return min(_FAR, scale * step)
        if one.opcode in ("shl", "mul"):
            return scale / (2**last if one.opcode == "shl" else max(1, abs(last)))
        return scale

    def _of_ids(self, one: Instruction) -> float | None:
        """The scale of `blockIdx.d * blockDim.d`: a step is as many as a block has threads."""
        factors = one.operands[1:3] if one.opcode in ("mul", "mad") else ()
        for d, per_thread in zip("xyz", self._tried.per_thread, strict=True):
            if {self._moved.get(factor) for factor in factors} == {f"%ctaid.{d}", f"%ntid.{d}"}:
                return max(1.0, per_thread)
        return None

    @cached_property
    def _moved(self) -> dict[str, str]:
        return moved_once(self.instructions)

    def _of_parameter(self, one: Instruction) -> float:
        """An integer of which less was tried counts for more."""
        place = self.place(one)
        most = self._tried.limit if place is None else self._tried.most.get(place, 0)
        return self._tried.limit / most if most else float(_FAR)

    def _is_sign(self, one: Instruction, places: int) -> bool:
        return places == int(type_of(one, 0)[1:] or 0) - 1

    # ---- what is done with them

    def reason(self) -> str:
        if len(self._sought) > 1:
            return "it asks whether several sizes are certain numbers"
        for one in self.instructions:
            if said := next(self._strange(one), ""):
                return said
        return ""

    @property
    def _sought(self) -> set[str]:
        """Sizes that are compared with a number for equality: each number was tried by itself."""
        equal = (one for one in self.instructions if one.opcode == "setp")
        return {
            name
            for one in equal
            if not {"eq", "ne"}.isdisjoint(one.modifiers)
            if any(abs(literal(o) or 0) > _USUAL for o in one.operands[1:])
            for name in self.read(one)
            if name in self.scales
        }

    def _strange(self, one: Instruction) -> Iterator[str]:
        read = self.read(one)
        if not self._pointers.isdisjoint(read) and one.opcode not in _OF_POINTERS:
            yield "it uses a pointer as a number"
        if not self.reals.isdisjoint(read) and not self._is_real_use(one):
            yield f"it compares or rounds a number that its launch tells ({one.opcode})"
        if one.opcode == "setp" and not {"eq", "ne"}.isdisjoint(one.modifiers):
            others = {literal(o) for o in one.operands[1:]} - {None, 0}
            is_real = any(REAL_NUMBER.fullmatch(o) and int(o[2:], 16) for o in one.operands[1:])
            if not self.loaded.isdisjoint(read) and (others or is_real):
                yield "it asks whether data are one number"
        sizes = [name for name in read if name in self.scales]
        is_mixed = sizes and type_of(one, 0) in _WIDE and not self.loaded.isdisjoint(read)
        if is_mixed and not (one.opcode in MEMORY or one.opcode in _COMPARED):
            yield "it makes a number of a size and of data"
        if any(_BLOCKS.fullmatch(operand) for operand in one.operands) and one.opcode != "mov":
            yield "it uses the place of a block at once"
        if not sizes:
            return
        if one.opcode in MEMORY:
            value = [name for o in one.operands[_VALUES.get(one.opcode, 3) :] for name in names(o)]
            if not self.scales.keys().isdisjoint(value):
                yield "it stores a number that follows from sizes"
            return
        if one.opcode in ("call", "bra", "bar", "barrier"):
            return
        yield from self._beyond(one, sizes)

    def _tells_signs(self, one: Instruction) -> bool:
        """Is the result compared with 0 or -1 alone: is one of several numbers below zero?"""
        joined = [one]
        for read in joined:  # which grows
            for use in self._uses(read):
                if use.opcode == "setp":
                    if {0, -1}.isdisjoint(map(literal, use.operands)):
                        return False
                elif use.opcode != "or":
                    return False
                elif use not in joined:
                    joined.append(use)
        return True

    def _uses(self, one: Instruction) -> list[Instruction]:
        result = {*results(one)}
        return [other for other in self.instructions if not result.isdisjoint(self.read(other))]

    @cached_property
    def _shifted(self) -> frozenset[str]:
        return frozenset(
            n for one in self.instructions if one.opcode == "shl" for n in results(one)
        )

    def _is_real_use(self, one: Instruction) -> bool:
        if one.opcode in MEMORY | {"call", "mov"}:
            return True
        if id(one) in self._tests:
            place, numbers = self._tests[id(one)]
            return place in self._tried.numbers and numbers <= self._tried.numbers[place]
        if one.opcode == "abs":
            # Elsewhere it would hide what negative numbers do.
            return all(id(other) in self._tests for other in self._uses(one))
        is_number = type_of(one, 0) in REALS and _ROUNDING.isdisjoint(one.modifiers)
        return one.opcode in _OFREALS and is_number

    @cached_property
    def _products(self) -> frozenset[str]:
        """Registers into which a product of sizes goes, that wraps around beyond what was tried."""
        return self._closed(self._is_product)

    def _is_product(self, one: Instruction) -> bool:
        is_product = one.opcode in ("mul", "mad")
        return is_product and all(factor in self.scales for factor in one.operands[1:3])

    @cached_property
    def _tested(self) -> frozenset[str]:
        """Registers of which more is made than addresses and values that are linear in sizes."""
        found, size = set[str](), -1
        while size != (size := len(found)):
            for one in self.instructions:
                is_test = not _is_linear(one) and one.opcode not in MEMORY
                if is_test or not found.isdisjoint(results(one)):
                    found.update(self.read(one))
        return frozenset(found)

    def _beyond(self, one: Instruction, sizes: list[str]) -> Iterator[str]:
        types = {m for m in one.modifiers if re.fullmatch(r"(?:[subf]|bf)\d+(?:x2)?", m)}
        is_real = one.opcode == "cvt" and type_of(one, 0) in REALS
        divides = one.opcode in _DIVIDING and literal(one.operands[-1]) is None
        is_known = one.opcode in _ALLOWED or divides
        if not is_known or ("hi" in one.modifiers and not step_of_upper_half(one)):
            yield f"nothing is known of '{one.opcode}' of a size"
        if not (types <= _WIDE or (is_real and types & _WIDE)):
            yield f"it keeps few bits of a size ({one.opcode})"
        if one.opcode in _COMPARED and not self.loaded.isdisjoint(self.read(one)):
            yield "it compares a size with data"
        if one.opcode in _COMPARED | _DIVIDING and not self._products.isdisjoint(self.read(one)):
            yield "it compares a product of sizes"
        numbers = numbers_of(one)
        if one.opcode in ("and", "xor") and not numbers:
            yield f"nothing is known of '{one.opcode}' of sizes"
        if one.opcode == "or" and not (
            numbers or self._tells_signs(one) or joins_bits(one, self.writers)
        ):
            yield "nothing is known of 'or' of sizes"
        if one.opcode in ("shl", "shr"):
            if not numbers:
                yield f"nothing is known of '{one.opcode}' by a size"
            is_sign = one.opcode == "shr" and any(self._is_sign(one, n) for n in numbers)
            if one.opcode == "shr" and not (is_sign or self._shifted.isdisjoint(sizes)):
                yield "it cuts off bits of a size"
        for least, said in self._asked(one, sizes):
            if self._tried.limit < least:
                yield said

    def asked(self) -> float:
        """Return the size from which on nothing new shows, of all that is compared with numbers."""
        of_sizes = (
            (one, [name for name in self.read(one) if name in self.scales])
            for one in self.instructions
            if one.opcode not in MEMORY | {"call", "bra", "bar", "barrier"}
        )
        asked = (self._asked(one, sizes) for one, sizes in of_sizes if sizes)
        return max((least for each in asked for least, _ in each), default=0)

    def _asked(self, one: Instruction, sizes: list[str]) -> Iterator[tuple[float, str]]:
        """Sizes from which on nothing new shows of an instruction, and what it does until then."""
        scales = [self.scales[name] for name in sizes]
        moved = max(map(self.moved_by, sizes)) if one.opcode in _COMPARED else 0
        if one.opcode in _COMPARED | _DIVIDING and len(sizes) > 1:
            said = "it compares a multiple of a size that is larger than any size tried"
            yield max(2 / min(scales), moved + _FIRST_BEYOND if moved else 0), said
        if one.opcode == "selp" or (_is_linear(one) and self._tested.isdisjoint(results(one))):
            return
        numbers, scale = numbers_of(one), max(scales)
        if one.opcode == "and":
            numbers = [min(abs(n), n ^ 0x7FFFFFFF, n ^ 0xFFFFFFFF, key=abs) for n in numbers]
        if one.opcode in ("shl", "shr"):
            is_sign = one.opcode == "shr" and any(self._is_sign(one, n) for n in numbers)
            numbers = [0 if is_sign else 2**n for n in numbers]
        if step := step_of_upper_half(one):
            numbers = [ceil(step)]
        elif one.opcode in ("mul", "mad", "shl"):
            scale = 1 / _BYTES
        # A sum with numbers may be less: `i - 100 > 3900` holds from a size of 4002 on.
        beyond = _FIRST_BEYOND * scale + moved if one.opcode in _COMPARED else 0
        for number in numbers:
            said = "it compares something with a number that is larger than any size tried"
            yield abs(number) * scale + beyond, said

    def moved_by(self, name: str) -> float:
        """Return what is added to sizes on their way into a register, in sizes."""
        return self._moves.get(name, 0)

    @cached_property
    def _moves(self) -> dict[str, float]:
        """How far the registers of sizes were shifted; infinitely where a loop adds to them."""
        moves: dict[str, float] = {}
        # Loops begin with what any others have.
        begun = max(map(self._added, self.instructions), default=0)
        passes, is_more = 0, True
        while is_more:
            passes, is_more = passes + 1, False
            for one in self.instructions:
                added = self._added(one) + max((moves.get(n, 0) for n in self.read(one)), default=0)
                for name in self.scales.keys() & {*results(one)}:
                    moved = begun if name in self.carried else added
                    if moved > moves.get(name, 0):
                        moves[name] = moved if passes < _MOST_PASSES else inf
                        is_more = True
        return moves

    def _added(self, one: Instruction) -> float:
        """What an instruction adds to a size, in sizes; nothing in a loop."""
        if one.opcode not in _MOVING or not self.carried.isdisjoint(results(one)):
            return 0
        terms = one.operands[-1:] if one.opcode == "mad" else one.operands[1:]
        added = max((abs(n) for term in terms if (n := literal(term)) is not None), default=0)
        scales = (self.scales[name] for name in self.read(one) if name in self.scales)
        return added * max(scales, default=0)

    @cached_property
    def writers(self) -> dict[str, list[Instruction]]:
        found: dict[str, list[Instruction]] = {}
        for one in self.instructions:
            for name in results(one):
                found.setdefault(name, []).append(one)
        return found
