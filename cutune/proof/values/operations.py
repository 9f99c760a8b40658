"""Instructions without effects: takes operands, gives the values of the registers written.

Results of operations on integers are intervals, and where possible polynomials, which hold where
registers hold the exact numbers: from 0 up to the largest with a sign. Any instruction that is not
named here raises `NotUnderstood`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

from cutune.core.codes import Code
from cutune.proof.values.polynomial import (
    BLOCK,
    IDENTITY,
    THREAD,
    ZERO,
    Atom,
    IntegerPolynomial,
    Monomial,
    TooLarge,
)
from cutune.proof.values.predicates import (
    Both,
    Fixed,
    Not,
    Predicate,
    Relation,
    Unknown,
    Value,
    as_predicate,
    negation,
    properties_of_all,
)
from cutune.proof.values.terms import (
    ANYTHING,
    MOST_NARROW_BLOCKS,
    AtomOperation,
    AtomProperties,
    Atoms,
    Interval,
    modulo,
    number_range,
    wrapped,
)
from cutune.ptx.types import TYPE_BYTES, Instruction
from cutune.source.syntax.tokens import word_set
from cutune.toolchain.device.thread_block import WARP


def bits_of(kind: str) -> int:
    """Return the bits of a PTX type."""
    return 8 * TYPE_BYTES[kind]


def held_of(kind: str) -> Interval:
    """Return the numbers that an instruction of this type may read in a register."""
    return Interval(*number_range(bits_of(kind), kind[0] != "u"))


def whole_of(kind: str) -> Interval:
    """Return the numbers in a register of this type, read with a sign or without."""
    least, _ = number_range(bits_of(kind), True)
    return Interval(least, held_of(kind).high)


def within(interval: Interval, whole: Interval) -> Interval:
    """Return the interval of a register that holds such a number; `whole` where that may wrap."""
    assert whole.low is not None and whole.high is not None
    return interval if interval.within(whole.low, whole.high) else whole


def shifted_right(interval: Interval, by: int) -> Interval:
    """Return the interval after an arithmetic shift."""
    low, high = interval
    assert low is not None and high is not None
    return Interval(low >> by, high >> by)


def reduced(opcode: str, interval: Interval, by: int) -> Interval:
    """Return the interval after `shr`, `div` or `rem`; anything where it may be negative."""
    low, high = interval
    assert low is not None and high is not None
    if low < 0:
        return ANYTHING
    if opcode == "shr":
        return shifted_right(interval, by)
    return Interval(low // by, high // by) if opcode == "div" else Interval(0, by - 1)


def upper_half(interval: Interval, by: int, kind: str) -> Interval:
    """Return the interval after `mul.hi`; the whole type where one of the two is negative."""
    bits, whole = bits_of(kind), whole_of(kind)
    factor = by % (1 << bits) if kind[0] == "u" else by
    if interval.low is None or interval.high is None or interval.low < 0 or factor < 0:
        return whole
    return within(Interval(interval.low * factor >> bits, interval.high * factor >> bits), whole)


def hull(opcode: str, first: Interval, second: Interval) -> Interval:
    """Return the interval of `min`, of `max`, or of one of the two (`selp`)."""
    assert first.low is not None and first.high is not None
    assert second.low is not None and second.high is not None
    low = max if opcode == "max" else min
    high = min if opcode == "min" else max
    return Interval(low(first.low, second.low), high(first.high, second.high))


def divided(
    opcode: str, kind: str, values: Sequence[IntegerPolynomial], atoms: Atoms
) -> IntegerPolynomial | None:
    """Return quotient or remainder by a constant of `step * quotient + rest`, 0 <= rest < step."""
    bits, by = bits_of(kind), values[1].literal
    if by is None:
        return None
    number = wrapped(by, bits, kind[0] == "s")
    above = -wrapped(by, bits, True) if opcode == "and" else 0
    # A mask of all bits from one on leaves out the rest.
    is_above = above > 0 and above & (above - 1) == 0
    step, value = above if is_above else _step(opcode, number, bits), modulo(values[0], bits)
    if step is None or not _is_exact(value, kind, atoms):
        return None
    quotient, rest = _parts(value, step)
    if not atoms.interval(rest).within(0, step - 1):
        # A mask of bits below the step leaves multiples of the step out, whatever there is besides.
        is_mask = opcode == "and" and not is_above and rest != value
        return _masked(rest, kind, number, atoms) if is_mask else None
    if is_above:
        return value - rest
    if opcode == "and" and any(c % _lowest(number) for _, c in rest.terms):
        # Bits of the step and above are not in the mask.
        return _masked(rest, kind, number, atoms) if rest != value else None
    return quotient if opcode in ("shr", "div") else rest


def _masked(value: IntegerPolynomial, kind: str, mask: int, atoms: Atoms) -> IntegerPolynomial:
    properties = atoms.of(value)._replace(interval=Interval(0, mask))
    operation = AtomOperation(f"and.{kind}", (value, IntegerPolynomial.constant(mask)))
    return atoms.computed(operation, properties)


def chosen(
    opcode: str, kind: str, values: Sequence[IntegerPolynomial], atoms: Atoms
) -> IntegerPolynomial | None:
    """Return the operand of `min` or `max` that is never beyond the other one."""
    first, second = (modulo(value, bits_of(kind)) for value in values)
    if not (_is_exact(first, kind, atoms) and _is_exact(second, kind, atoms)):
        return None
    for one, other in ((first, second), (second, first)):
        less, more = (one, other) if opcode == "min" else (other, one)
        high, low = atoms.interval(less).high, atoms.interval(more).low
        if high is not None and low is not None and high <= low:
            return one
    return None


def _is_exact(value: IntegerPolynomial, kind: str, atoms: Atoms) -> bool:
    return atoms.interval(value).within(0, (1 << (bits_of(kind) - 1)) - 1)


def _step(opcode: str, number: int, bits: int) -> int | None:
    """The number that an operation divides by; None where it does not divide."""
    match opcode:
        case "shr":
            return 1 << number if 0 <= number < bits else None
        case "and":
            # A mask of neighbouring bits: those below are 0 where the number is a multiple.
            whole = number + _lowest(number)
            return whole if number > 0 and whole & (whole - 1) == 0 else None
    return number if number > 0 else None


def _lowest(mask: int) -> int:
    return mask & -mask


def _parts(value: IntegerPolynomial, step: int) -> tuple[IntegerPolynomial, IntegerPolynomial]:
    """Quotient and rest, where each term goes into one of them; a number into both."""
    quotient: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, coefficient in value.terms:
        if monomial and coefficient % step:
            rest[monomial] = coefficient
        else:
            quotient[monomial], left = divmod(coefficient, step)
            if left:
                rest[monomial] = left
    return IntegerPolynomial.of(quotient), IntegerPolynomial.of(rest)


class Moment(NamedTuple):
    """One instruction as it is executed, and the comparisons that hold there."""

    instruction: Instruction
    block: int
    known: frozenset[Relation]
    loops: frozenset[int]
    read: Callable[[str], Value]
    write: Callable[[str, Value], None]
    guard: Predicate | None


#: Opcodes whose result is a function of their operands alone (and the carry flag). Where one is
#: missing, a kernel is not proven. A list of its own beside `ptx.types.ARITHMETIC`: an opcode that
#: the emulated device learns is not thereby one that a proof may rest on.
FUNCTIONS = word_set(
    """
    abs add addc and bfe bfi bfind bmsk brev clz cnot copysign cos cvt cvta div dp2a dp4a ex2 fma
    isspacep lg2 lop3 mad mad24 madc max min mov mul mul24 neg not or popc prmt rcp rem rsqrt sad
    selp set setp shf shl shr sin slct sqrt sub subc szext tanh testp vabsdiff2 vabsdiff4 xor
    """
)
_INTEGERS = frozenset(
    kind for kind in TYPE_BYTES if kind[0] in "sub" and kind[1:].isdigit() and kind != "b128"
)
_UNSIGNED_RELATIONS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_ORDER = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
_CARRY = "%carry"
#: Extensions that keep so many bits.
_EXTENSIONS = {16: ("s16", "u16", "s32", "u32"), 32: ("s32", "u32")}
#: Of threadIdx and blockIdx.
_INDEX_BITS = 32
LANE = "lane"


class NotUnderstood(Exception):
    """A proof failed: the code of the rule, the words for its template, the PTX line."""

    def __init__(self, code: Code, what: str, instruction: Instruction) -> None:
        super().__init__(what)
        self.code, self.what, self.instruction = code, what, instruction


@dataclass
class Operations:
    """Computes the values of instructions.

    `uses_lanes`: did one ask for the lane of its thread? `have_lanes`: does a thread keep its lane
    with any block? `walked`: of how many instructions walks have been made.
    """

    atoms: Atoms
    uses_lanes: bool = False
    have_lanes: bool = True
    walked: int = 0

    def compute(self, moment: Moment) -> list[tuple[str, Value]]:
        """Return the registers that an instruction writes, with their values."""
        instruction = moment.instruction
        opcode, operands = instruction.opcode, instruction.operands
        kind = instruction.modifiers[-1] if instruction.modifiers else ""
        if opcode == "setp":
            return self._setp(moment)
        if kind == "pred":
            return [(operands[0], self._logic(moment))]
        if operands[0].startswith("{"):
            return self._unpacked(moment)
        if "|" in operands[0]:
            raise NotUnderstood(Code.NOT_PROVEN, f"'{opcode}' with two results", instruction)
        if opcode == "mov" and not operands[1].startswith("{"):
            return [(operands[0], moment.read(operands[1]))]
        of_integers = self._integer(moment) if _is_integer(instruction) else None
        value = self._function(moment) if of_integers is None else of_integers
        written: list[tuple[str, Value]] = [(operands[0], value)]
        if "cc" in instruction.modifiers:
            carry = AtomOperation("carry", (opcode, *instruction.modifiers, value))
            properties = properties_of_all(_read_all(moment), self.atoms)
            written.append((_CARRY, self.atoms.computed(carry, properties)))
        return written

    def _integer(self, moment: Moment) -> IntegerPolynomial | None:
        instruction = moment.instruction
        opcode, modifiers = instruction.opcode, instruction.modifiers
        if "sat" in modifiers or "cc" in modifiers or instruction.operands[1].startswith("{"):
            return None
        operands = list(map(moment.read, instruction.operands[1:]))
        values = _numbers(operands)
        if len(values) < len(operands):
            return None
        kind = modifiers[-1]
        try:
            match opcode:
                case "cvt":
                    return self._converted(modifiers[-2], kind, values[0])
                case "cvta":
                    return values[0]
                case "add":
                    return modulo(values[0] + values[1], bits_of(kind))
                case "sub":
                    return modulo(values[0] - values[1], bits_of(kind))
                case "neg":
                    return modulo(-values[0], bits_of(kind))
                case "not":
                    return modulo(-values[0] - 1, bits_of(kind))
                case "mul" | "mad":
                    return self._product(modifiers, values)
                case "mul24" | "mad24" if all(map(self._is_narrow, values[:2])):
                    return self._product(modifiers, values)
                case "shl" if (by := values[1].literal) is not None and 0 <= by < bits_of(kind):
                    return modulo(values[0] * (1 << by), bits_of(kind))
                case "and":
                    return self._lane(values) or divided(opcode, kind, values, self.atoms)
                case "shr" | "div" | "rem":
                    return divided(opcode, kind, values, self.atoms)
                case "min" | "max":
                    return chosen(opcode, kind, values, self.atoms)
                case "or":
                    return self._sum_of_bits(values) or self._without_bits(values, kind)
        except TooLarge:
            return None
        return None

    def _product(
        self, modifiers: tuple[str, ...], values: list[IntegerPolynomial]
    ) -> IntegerPolynomial | None:
        kind, factors = modifiers[-1], values[:2]
        bits = bits_of(kind)
        if "wide" in modifiers:
            factors = [self.extended(factor, bits, kind[0] == "s") for factor in factors]
            bits *= 2
        elif "lo" not in modifiers:
            return None
        product = factors[0] * factors[1]
        return modulo(product + values[2] if len(values) > 2 else product, bits)

    def _is_narrow(self, value: IntegerPolynomial) -> bool:
        """Does a number fit into the 24 bits of `mul24`, read with a sign or without?"""
        return self.atoms.interval(value).within(0, MOST_NARROW_BLOCKS)

    def extended(self, value: IntegerPolynomial, bits: int, signed: bool) -> IntegerPolynomial:
        """Return a number of so many bits as a longer one."""
        value, whole = modulo(value, bits), number_range(bits, signed)
        if value.literal is not None:
            return IntegerPolynomial.constant(wrapped(value.literal, bits, signed))
        if self.atoms.interval(value).within(*whole):
            return value
        name = f"{'s' if signed else 'u'}{bits}"
        properties = self.atoms.of(value)._replace(interval=Interval(*whole))
        return self.atoms.computed(AtomOperation(name, (value,)), properties)

    def _converted(
        self, to: str, source: str, value: IntegerPolynomial
    ) -> IntegerPolynomial | None:
        if to not in _INTEGERS or source not in _INTEGERS:
            return None
        if bits_of(to) >= bits_of(source):
            same = bits_of(to) == bits_of(source)
            return value if same else self.extended(value, bits_of(source), source[0] == "s")
        # Less than a register: the rest of it is filled according to the type.
        if bits_of(to) < 16:
            return self.extended(value, bits_of(to), to[0] == "s")
        for atom in set(value.atoms):
            # A number that was made longer has the same low bits as before.
            before = self.atoms.shorter(atom, _EXTENSIONS.get(bits_of(to), ()))
            value = value if before is None else value.replaced(atom, before)
        return modulo(value, bits_of(to))

    def _lane(self, values: list[IntegerPolynomial]) -> IntegerPolynomial | None:
        """threadIdx.x & 31, or 4 * threadIdx.x & 28: the same for any block of whole warps in x."""
        mask, of_thread = values[1].literal, (Atom(THREAD, "x"),)
        step = dict(values[0].terms).get(of_thread, 0)
        is_alone = len(values[0].terms) == 1 and step > 0 and step & (step - 1) == 0
        if not self.have_lanes or mask is None or not is_alone or not 0 < mask < WARP * step:
            return None
        if (bits := mask // step) == 0:
            return IntegerPolynomial.constant(0)
        self.uses_lanes = True
        properties = AtomProperties(ids=frozenset("x"), interval=Interval(0, bits))
        return self.atoms.computed(AtomOperation(LANE, (bits,)), properties) * step

    def _sum_of_bits(self, values: list[IntegerPolynomial]) -> IntegerPolynomial | None:
        """Numbers that have no bit in common: `4 * i | 1`."""
        for high, low in (values, reversed(values)):
            size = self.atoms.interval(low)
            if size.low is None or size.low < 0 or size.high is None:
                continue
            step = 1 << size.high.bit_length()
            if high.terms and all(coefficient % step == 0 for _, coefficient in high.terms):
                return high + low
        return None

    def _without_bits(self, values: list[IntegerPolynomial], kind: str) -> IntegerPolynomial | None:
        """~i | -32 is ~(i & 31), which a compiler makes of the rounds of `for (j = i & 31; …)`."""
        mask, bits = values[1].literal, bits_of(kind)
        if mask is None or wrapped(mask, bits, signed=True) >= 0:
            return None
        inside = IntegerPolynomial.constant(-wrapped(mask, bits, signed=True) - 1)
        of_bits = [modulo(-values[0] - 1, bits), inside]
        left = self._lane(of_bits) or divided("and", kind, of_bits, self.atoms)
        return None if left is None else modulo(-left - 1, bits)

    def _function(self, moment: Moment) -> IntegerPolynomial:
        instruction, operands = moment.instruction, tuple(_read_all(moment))
        properties = properties_of_all(operands, self.atoms)
        if _is_integer(instruction):
            operands = tuple(_as_read(value, instruction.modifiers[-1]) for value in operands)
            interval = self._interval(instruction, operands)
            if interval.low is not None and interval.low == interval.high:
                return IntegerPolynomial.constant(interval.low)
            properties = properties._replace(interval=interval)
        name = ".".join((instruction.opcode, *instruction.modifiers))
        return self.atoms.computed(AtomOperation(name, operands), properties)

    def _interval(self, instruction: Instruction, operands: tuple[Value, ...]) -> Interval:
        opcode, kind = instruction.opcode, instruction.modifiers[-1]
        numbers = _numbers(operands)
        # Read without a sign, what may be below 0 may be a large number.
        held = held_of(kind)
        ranges = [within(self.atoms.interval(value), held) for value in numbers]
        constants = [value.literal for value in numbers]
        if opcode == "and" and (masks := [c for c in constants if c is not None and c >= 0]):
            return Interval(0, min(masks))
        if opcode in ("min", "max", "selp") and len(ranges) > 1:
            return hull(opcode, ranges[0], ranges[1])
        last = constants[-1] if constants else None
        if opcode == "mul" and last is not None and "hi" in instruction.modifiers:
            return upper_half(ranges[0], last, kind)
        if opcode not in ("shr", "div", "rem") or last is None or last <= 0:
            return whole_of(kind)
        if opcode == "shr" and kind[0] == "s" and last < bits_of(kind):
            return shifted_right(ranges[0], last)
        return reduced(opcode, ranges[0], last)

    def _unpacked(self, moment: Moment) -> list[tuple[str, Value]]:
        instruction = moment.instruction
        names, value = parts(instruction.operands[0]), moment.read(instruction.operands[1])
        if instruction.opcode != "mov" or not isinstance(value, IntegerPolynomial):
            raise NotUnderstood(Code.NOT_PROVEN, f"'{instruction.opcode}'", instruction)
        bits = bits_of(instruction.modifiers[-1]) // len(names)
        properties = self.atoms.of(value)._replace(interval=ANYTHING)
        pieces: list[tuple[str, Value]] = [(names[0], modulo(value, bits))]
        for index, name in enumerate(names[1:], 1):
            operation = AtomOperation(f"piece{index}.{bits}", (value,))
            pieces.append((name, self.atoms.computed(operation, properties)))
        return [(name, value) for name, value in pieces if name != "_"]

    def _setp(self, moment: Moment) -> list[tuple[str, Value]]:
        operands, modifiers = moment.instruction.operands, moment.instruction.modifiers
        combined: Predicate = self._compared(moment)
        if len(operands) > 3:
            other = _predicate(operands[3], moment)
            combined = self._combined(modifiers[1], combined, other, moment)
        first, *others = map(str.strip, operands[0].split("|"))
        second: Value = self._unknown(f"second {moment.instruction.line}", combined)
        values = {first: combined, **dict.fromkeys(others, second)}
        return [(name, value) for name, value in values.items() if name != "_"]

    def _unknown(self, name: str, *operands: Value, loops: frozenset[int] = frozenset()) -> Unknown:
        properties = properties_of_all(operands, self.atoms)
        return Unknown(name, properties.joined(AtomProperties(loops=loops)))

    def _compared(self, moment: Moment) -> Predicate:
        instruction = moment.instruction
        relation, kind = instruction.modifiers[0], instruction.modifiers[-1]
        values = [moment.read(operand) for operand in instruction.operands[1:3]]
        numbers = _numbers(values)
        is_order = kind in _INTEGERS and (relation in _ORDER or relation in _UNSIGNED_RELATIONS)
        if not is_order or len(numbers) < len(values):
            return self._unknown(f"{instruction.line}", *numbers, loops=moment.loops)
        bits = bits_of(kind)
        signed = kind[0] == "s" and relation in _ORDER
        relation = _UNSIGNED_RELATIONS.get(relation, relation)
        left, right = (modulo(number, bits) for number in numbers)
        if relation in ("eq", "ne") and right == ZERO:
            chosen = self._choice(left)
            if chosen is not None:
                return chosen if relation == "ne" else negation(chosen)
            if len(leaves := list(self._alternatives(left))) > 1:
                none = _all([Relation("eq", bits, signed, leaf, ZERO) for leaf in leaves])
                return none if relation == "eq" else negation(none)
        if relation in ("eq", "ne"):
            # `blockIdx.x * blockDim.x == -threadIdx.x`, as compilers write `i == 0`.
            left, right = modulo(left - right, bits), ZERO
        return Relation(relation, bits, signed, left, right)

    def _choice(self, value: IntegerPolynomial) -> Predicate | None:
        """Return p for `selp 1, 0, p`."""
        operation = self.atoms.operation_of(value)
        if operation is None or not operation.name.startswith("selp."):
            return None
        first, second, *others = operation.numbers
        if others or second != ZERO or first.literal in (None, 0):
            return None
        return operation.operands[2]  # type: ignore[return-value]

    def _alternatives(self, value: IntegerPolynomial) -> Iterator[IntegerPolynomial]:
        operation = self.atoms.operation_of(value)
        if operation is None or operation.name not in ("or.b32", "or.b64"):
            yield value
            return
        for operand in operation.numbers:
            yield from self._alternatives(operand)

    def _logic(self, moment: Moment) -> Predicate:
        instruction = moment.instruction
        values = [_predicate(operand, moment) for operand in instruction.operands[1:]]
        match instruction.opcode:
            case "mov":
                return values[0]
            case "not":
                return negation(values[0])
            case "and" | "or" | "xor":
                return self._combined(instruction.opcode, values[0], values[1], moment)
        raise NotUnderstood(Code.NOT_PROVEN, f"'{instruction.opcode}.pred'", instruction)

    def _combined(
        self, operator: str, first: Predicate, second: Predicate, moment: Moment
    ) -> Predicate:
        if operator == "and":
            return _all([*_conditions(first), *_conditions(second)])
        if operator == "or":
            return Not(Both(negation(first), negation(second)))
        for one, other in ((first, second), (second, first)):
            if isinstance(other, Fixed):
                return negation(one) if other.holds else one
        return self._unknown(f"{moment.instruction.line}", first, second, loops=moment.loops)


def _read_all(moment: Moment) -> list[Value]:
    texts = [t for operand in moment.instruction.operands[1:] for t in parts(operand)]
    if moment.instruction.opcode in ("addc", "subc", "madc"):
        texts.append(_CARRY)
    return [moment.read(text) for text in texts]


def _numbers(values: Iterable[Value]) -> list[IntegerPolynomial]:
    return [value for value in values if isinstance(value, IntegerPolynomial)]


def _predicate(text: str, moment: Moment) -> Predicate:
    predicate = as_predicate(moment.read(text.removeprefix("!")))
    return negation(predicate) if text.startswith("!") else predicate


def _conditions(predicate: Predicate) -> Iterator[Predicate]:
    if isinstance(predicate, Both):
        yield from _conditions(predicate.first)
        yield from _conditions(predicate.second)
    else:
        yield predicate


def _all(conditions: Sequence[Predicate]) -> Predicate:
    """The conjunction of conditions; where threadIdx.d and blockIdx.d are 0 the global id is."""
    remaining = list(conditions)
    for dimension in "xyz":
        thread = [c for c in remaining if _is_zero(c, THREAD, dimension)]
        block = [c for c in remaining if _is_zero(c, BLOCK, dimension)]
        if thread and block and isinstance(thread[0], Relation):
            remaining = [c for c in remaining if c not in thread + block]
            remaining.append(replace(thread[0], left=IntegerPolynomial.atom(IDENTITY, dimension)))
    return reduce(Both, remaining)


def _is_zero(condition: Predicate, kind: str, dimension: str) -> bool:
    index = IntegerPolynomial.atom(kind, dimension)
    match condition:
        case Relation(relation="eq", bits=bits, left=left, right=right):
            # In fewer bits, block 65536 is 0 too.
            return bits >= _INDEX_BITS and left in (index, -index) and right == ZERO
    return False


def _as_read(value: Value, kind: str) -> Value:
    """A number that the code names, as instructions of this type read it: 4294967293 may be -3."""
    number = value.literal if isinstance(value, IntegerPolynomial) else None
    if number is None or kind[0] == "b":
        return value
    return IntegerPolynomial.constant(wrapped(number, int(kind[1:]), kind[0] != "u"))


def parts(operand: str) -> list[str]:
    """Return the registers of `{%r1, %r2}`, or the operand itself."""
    if operand.startswith("{"):
        return [part.strip() for part in operand.strip("{}").split(",")]
    return [operand]


def _is_integer(instruction: Instruction) -> bool:
    return bool(instruction.modifiers) and instruction.modifiers[-1] in _INTEGERS
