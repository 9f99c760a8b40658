"""Values of registers: polynomials over atoms, and properties of the atoms.

An atom stands for one exact integer (or for the bits of a number that is none). A register of w
bits holds a polynomial modulo 2^w; ring operations keep that exact. Whatever else an instruction
computes is an atom of its own, the same for the same operation on the same operands.

An atom is raw in a dimension if it depends on the thread block other than through the global id or
the number of threads. A value that is not raw is the same for a thread with every thread block.

No launch is changed unless it has fewer than 2^30 threads in each dimension (`cutune_launch.h`),
so that ids are exact in 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from cutune.emulator.ptx.types import integer
from cutune.frontend.values.polynomial import (
    BLOCK,
    BLOCK_SIZE,
    GRID_SIZE,
    IDENTITY,
    ONE,
    OPAQUE,
    PARAMETER,
    STRIDE,
    THREAD,
    ZERO,
    Atom,
    IntegerPolynomial,
    Monomial,
    TooLarge,
)

#: Threads per dimension of a launch that may be changed.
MOST_THREADS = 1 << 30
#: Threads of a warp.
WARP = 32
_Operand = TypeVar("_Operand")
_NONE: frozenset[str] = frozenset()
_NO_LOOPS: frozenset[int] = frozenset()
RAW = frozenset({THREAD, BLOCK, BLOCK_SIZE, GRID_SIZE})


class Interval(NamedTuple):
    """Smallest and largest value; None where there is no limit."""

    low: int | None
    high: int | None

    def within(self, low: int, high: int) -> bool:
        """Does it lie between these two, both included?"""
        return (
            self.low is not None and self.high is not None and low <= self.low <= self.high <= high
        )


ANYTHING = Interval(None, None)


@dataclass(frozen=True)
class AtomProperties:
    """Properties of an atom.

    `raw`: dimensions in which it depends on the thread block. `ids`: dimensions in which threads
    differ in it. `is_loaded`: it depends on memory. `loops`: it may differ between their rounds.
    `strides`: dimensions of whose number of threads it is made.
    """

    raw: frozenset[str] = _NONE
    ids: frozenset[str] = _NONE
    is_loaded: bool = False
    loops: frozenset[int] = _NO_LOOPS
    interval: Interval = ANYTHING
    strides: frozenset[str] = _NONE

    def joined(self, other: AtomProperties) -> AtomProperties:
        """What is known of a value that depends on both."""
        if other is NOTHING or other is self:
            return self
        return AtomProperties(
            self.raw | other.raw,
            self.ids | other.ids,
            self.is_loaded or other.is_loaded,
            self.loops | other.loops,
            strides=self.strides | other.strides,
        )


NOTHING = AtomProperties()
_BUILTIN_RANGES = {
    THREAD: Interval(0, 1023),
    BLOCK: Interval(0, MOST_THREADS),
    BLOCK_SIZE: Interval(1, 1024),
    GRID_SIZE: Interval(1, MOST_THREADS),
    IDENTITY: Interval(0, MOST_THREADS),
    STRIDE: Interval(1, MOST_THREADS),
}


#: Those that count threads.
_OF_THREADS = frozenset({THREAD, BLOCK_SIZE, IDENTITY, STRIDE})


def _builtin_facts(atom: Atom, threads_per_id: int) -> AtomProperties | None:
    interval = _BUILTIN_RANGES.get(atom.kind)
    if interval is None:
        return None
    if atom.kind in _OF_THREADS and atom.name == "x" and interval.high is not None:
        interval = interval._replace(high=interval.high // threads_per_id)
    here = frozenset({atom.name})
    raw = here if atom.kind in RAW else _NONE
    varies = here if atom.kind in (THREAD, BLOCK, IDENTITY) else _NONE
    strides = here if atom.kind == STRIDE else _NONE
    return AtomProperties(raw, varies, interval=interval, strides=strides)


@dataclass(frozen=True)
class AtomOperation:
    """How an atom was computed."""

    name: str
    operands: tuple[object, ...]


@dataclass(frozen=True)
class Alternatives:
    """The values that a register of `bits` bits may hold where ways to a block meet.

    `values`: each with the block that it comes from.
    """

    block: int
    bits: int
    values: tuple[tuple[int, IntegerPolynomial], ...]


@dataclass
class Atoms:
    """The atoms of one entry, and what is known of each.

    `threads_per_id`: more than one where ids are those of warps.
    """

    threads_per_id: int = 1
    _properties: dict[Atom, AtomProperties] = field(default_factory=dict)
    _operations: dict[Atom, AtomOperation] = field(default_factory=dict)
    _interned: dict[AtomOperation, Atom] = field(default_factory=dict)

    def properties(self, atom: Atom) -> AtomProperties:
        """What is known of an atom. With the name of a value comes what is known of it."""
        if atom.kind == OPAQUE:
            return self._properties[atom]
        known = self._properties.get(atom) or _builtin_facts(atom, self.threads_per_id)
        return known or NOTHING

    def operation(self, atom: Atom) -> AtomOperation | None:
        """How it was computed, if it is the result of an operation."""
        return self._operations.get(atom)

    def parameter(self, name: str, interval: Interval = ANYTHING) -> IntegerPolynomial:
        """A kernel parameter, or a part of one."""
        atom = Atom(PARAMETER, name)
        self._properties[atom] = AtomProperties(interval=interval)
        return IntegerPolynomial.atom(*atom)

    def named(self, name: str, properties: AtomProperties) -> IntegerPolynomial:
        """The atom of this name: a value that depends on more than operands."""
        atom = Atom(OPAQUE, name)
        self._properties[atom] = properties
        return IntegerPolynomial.atom(*atom)

    def computed(self, operation: AtomOperation, properties: AtomProperties) -> IntegerPolynomial:
        """The result of an operation, the same atom for the same operands."""
        atom = self._interned.get(operation)
        if atom is None:
            atom = Atom(OPAQUE, f"#{len(self._interned)}")
            self._interned[operation] = atom
            self._operations[atom] = operation
        self._properties[atom] = properties
        return IntegerPolynomial.atom(*atom)

    def of(self, value: IntegerPolynomial) -> AtomProperties:
        """What is known of a polynomial."""
        if len(value.terms) == 1 and len(value.terms[0][0]) == 1 and value.terms[0][1] == 1:
            return self.properties(value.terms[0][0][0])
        if value.literal is not None:
            return NOTHING
        properties = NOTHING
        for atom in value.atoms:
            properties = properties.joined(self.properties(atom))
        return replace(properties, interval=self.interval(value))

    def joined(self, values: Iterable[IntegerPolynomial]) -> AtomProperties:
        """What is known of a value that depends on all of these."""
        properties = NOTHING
        for value in values:
            properties = properties.joined(self.of(value))
        return properties

    def interval(self, value: IntegerPolynomial) -> Interval:
        """The range of the exact polynomial."""
        low: int | None = 0
        high: int | None = 0
        for monomial, coefficient in value.terms:
            least, most = self._monomial(monomial)
            if coefficient < 0:
                least, most = most, least
            low = None if low is None or least is None else low + coefficient * least
            high = None if high is None or most is None else high + coefficient * most
        return Interval(low, high)

    def _monomial(self, monomial: Monomial) -> Interval:
        """The range of a product: of numbers from 0 on only, other signs are not needed."""
        if not monomial:
            return Interval(1, 1)
        if len(monomial) == 1:
            return self.properties(monomial[0]).interval
        low, high = 1, 1
        for pair in _threads_in(monomial):
            monomial = _without(monomial, pair)
            low, high = 0, MOST_THREADS // (self.threads_per_id if pair[0].name == "x" else 1)
        for atom in monomial:
            interval = self.properties(atom).interval
            if interval.low is None or interval.low < 0 or interval.high is None:
                return ANYTHING
            low, high = low * interval.low, high * interval.high
        return Interval(low, high)


def _threads_in(monomial: Monomial) -> list[Monomial]:
    """blockIdx.d * blockDim.d, which is less than the threads of the launch."""
    pairs: list[Monomial] = [(Atom(BLOCK, d), Atom(BLOCK_SIZE, d)) for d in "xyz"]
    return [pair for pair in pairs if set(pair) <= set(monomial)][:1]


def _without(monomial: Monomial, atoms: Monomial) -> Monomial:
    rest = list(monomial)
    for atom in atoms:
        rest.remove(atom)
    return tuple(rest)


def common_terms(values: Sequence[IntegerPolynomial]) -> IntegerPolynomial:
    """What all of these have in common."""
    common = set.intersection(*(set(value.terms) for value in values))
    return IntegerPolynomial(tuple(sorted(common)))


def linear(opcode: str, values: list[IntegerPolynomial]) -> IntegerPolynomial:
    """Sum, difference, negation, or else complement."""
    match opcode:
        case "add":
            return values[0] + values[1]
        case "sub":
            return values[0] - values[1]
        case "neg":
            return -values[0]
    return -values[0] - IntegerPolynomial.constant(1)


def modulo(value: IntegerPolynomial, bits: int) -> IntegerPolynomial:
    """The same modulo 2^bits, with coefficients nearest to 0."""
    half, whole = 1 << (bits - 1), 1 << bits
    if all(-half <= coefficient < half for _, coefficient in value.terms):
        return value
    return IntegerPolynomial.of({m: (c + half) % whole - half for m, c in value.terms})


def as_read(value: _Operand, kind: str) -> _Operand | IntegerPolynomial:
    """A number that the code names, as instructions of this type read it: 4294967293 may be -3."""
    number = value.literal if isinstance(value, IntegerPolynomial) else None
    if number is None or kind[0] == "b":
        return value
    bits = int(kind[1:])
    low = 0 if kind[0] == "u" else -(1 << (bits - 1))
    return IntegerPolynomial.constant((number - low) % (1 << bits) + low)


def literal(text: str) -> IntegerPolynomial:
    """A number; one with a point is known by its text."""
    if text == "WARP_SZ":
        return IntegerPolynomial.constant(32)
    if text.lower().startswith(("0f", "0d")):
        return IntegerPolynomial.constant(int(text[2:], 16))
    return IntegerPolynomial.constant(integer(text))


def of_one_thread(kind: str, dimension: str) -> IntegerPolynomial:
    """A built-in of a dimension in which each block has one thread."""
    if kind in (THREAD, BLOCK_SIZE):
        return ZERO if kind == THREAD else ONE
    return IntegerPolynomial.atom(IDENTITY if kind == BLOCK else STRIDE, dimension)


__all__ = [
    "ANYTHING",
    "MOST_THREADS",
    "NOTHING",
    "Alternatives",
    "AtomOperation",
    "AtomProperties",
    "Atoms",
    "Interval",
    "TooLarge",
    "as_read",
    "linear",
    "modulo",
]
