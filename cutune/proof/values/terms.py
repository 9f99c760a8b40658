"""Values of registers: polynomials over atoms, the properties of atoms, and their intervals.

An atom stands for one exact integer (or for the bits of a number that is none). A register of w
bits holds a polynomial modulo 2^w; ring operations keep that exact. The result of any other
operation is an atom of its own, the same for the same operation on the same operands.

An atom is raw in a dimension if it depends on the thread block other than through the global id or
the number of threads. A value that is not raw is the same for a thread with every thread block.

No launch is changed unless it has fewer than 2^30 threads in each dimension (`cutune_launch.h`),
so that ids are exact in 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from functools import cache, reduce
from typing import NamedTuple

from cutune.proof.values.polynomial import (
    BLOCK,
    BLOCK_SIZE,
    GRID_SIZE,
    IDENTITY,
    OPAQUE,
    PARAMETER,
    STRIDE,
    THREAD,
    Atom,
    IntegerPolynomial,
    Monomial,
    without,
)

#: Threads per dimension of a launch that may be changed.
MOST_THREADS = 1 << 30
#: Blocks of a launch whose numbers, and how many they are, fit into 24 bits with a sign.
MOST_NARROW_BLOCKS = (1 << 23) - 1
#: Threads of a warp.
WARP = 32
RAW = frozenset({THREAD, BLOCK, BLOCK_SIZE, GRID_SIZE})


class Interval(NamedTuple):
    """The smallest and the largest value; None where there is no limit."""

    low: int | None
    high: int | None

    def within(self, low: int, high: int) -> bool:
        """Tell whether it lies between these two, both included."""
        return (
            self.low is not None and self.high is not None and low <= self.low <= self.high <= high
        )


ANYTHING = Interval(None, None)


class AtomProperties(NamedTuple):
    """Properties of the value of an atom.

    `raw`: dimensions in which it changes with the size of blocks. `threadIdx.x` is raw in x; the id
    `blockIdx.x * blockDim.x + threadIdx.x` is not, since other blocks have the same ids.
    `ids`: dimensions in which threads of different ids may have different values.
    `is_loaded`: it was read from memory, or computed from such a value.
    `loops`: headers of the loops between whose rounds it may differ.
    `strides`: dimensions whose number of threads it is computed from.
    """

    raw: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()
    is_loaded: bool = False
    loops: frozenset[int] = frozenset()
    interval: Interval = ANYTHING
    strides: frozenset[str] = frozenset()

    @property
    def is_uniform(self) -> bool:
        """Is it the same number in all threads and in all rounds of loops?"""
        return not (self.raw or self.ids or self.loops or self.is_loaded)

    def joined(self, other: AtomProperties) -> AtomProperties:
        if other is NOTHING or other is self:
            return self
        raw, ids, is_loaded, loops, interval, strides = self
        other_raw, other_ids, other_is_loaded, other_loops, _, other_strides = other
        if (
            interval is ANYTHING
            and ids >= other_ids
            and loops >= other_loops
            and is_loaded >= other_is_loaded
            and raw >= other_raw
            and strides >= other_strides
        ):
            return self
        return AtomProperties(
            raw | other_raw,
            ids | other_ids,
            is_loaded or other_is_loaded,
            loops | other_loops,
            ANYTHING,
            strides | other_strides,
        )


NOTHING = AtomProperties()
_BUILTIN_RANGES = {
    THREAD: (0, 1023),
    BLOCK: (0, MOST_THREADS),
    BLOCK_SIZE: (1, 1024),
    GRID_SIZE: (1, MOST_THREADS),
    IDENTITY: (0, MOST_THREADS),
    STRIDE: (1, MOST_THREADS),
}


#: Built-ins that count threads.
_OF_THREADS = frozenset({THREAD, BLOCK_SIZE, IDENTITY, STRIDE})


@cache
def _of_builtin(atom: Atom, threads_per_id: int, most_blocks: int) -> AtomProperties | None:
    if atom.kind not in _BUILTIN_RANGES:
        return None
    low, high = _BUILTIN_RANGES[atom.kind]
    if atom.kind in (BLOCK, GRID_SIZE):
        high = most_blocks
    if atom.kind in _OF_THREADS and atom.name == "x":
        high //= threads_per_id
    here, nowhere = frozenset({atom.name}), frozenset[str]()
    raw = here if atom.kind in RAW else nowhere
    ids = here if atom.kind in (THREAD, BLOCK, IDENTITY) else nowhere
    strides = here if atom.kind == STRIDE else nowhere
    return AtomProperties(raw, ids, interval=Interval(low, high), strides=strides)


@dataclass(frozen=True)
class AtomOperation:
    """The operation that computes an atom: its opcode with modifiers, and its operands."""

    name: str
    operands: tuple[object, ...]

    @property
    def numbers(self) -> list[IntegerPolynomial]:
        """The operands that are numbers, not predicates."""
        return [one for one in self.operands if isinstance(one, IntegerPolynomial)]


@dataclass(frozen=True)
class Alternatives:
    """Values of a register of `bits` bits where control flow joins, each with its predecessor."""

    block: int
    bits: int
    values: tuple[tuple[int, IntegerPolynomial], ...]


@dataclass
class Atoms:
    """The atoms of one entry. `threads_per_id`: more than one where ids are those of warps.

    `raw_ids`: are ids and the number of threads raw, too? `most_blocks`: of a launch. `changes`:
    how often an atom that was known has got other properties.
    """

    threads_per_id: int = 1
    raw_ids: bool = False
    most_blocks: int = MOST_THREADS
    changes: int = 0
    _properties: dict[Atom, AtomProperties] = field(default_factory=dict)
    _operations: dict[Atom, AtomOperation] = field(default_factory=dict)
    _interned: dict[AtomOperation, IntegerPolynomial] = field(default_factory=dict)
    _named: dict[str, IntegerPolynomial] = field(default_factory=dict)
    #: The properties of polynomials, after how many changes.
    _of: dict[IntegerPolynomial, tuple[int, AtomProperties]] = field(default_factory=dict)

    def properties(self, atom: Atom) -> AtomProperties:
        if atom.kind == OPAQUE:
            return self._properties[atom]
        known = self._properties.get(atom) or _of_builtin(
            atom, self.threads_per_id, self.most_blocks
        )
        if self.raw_ids and atom.kind in (IDENTITY, STRIDE) and known is not None:
            here = frozenset({atom.name})
            return known._replace(raw=here, ids=here)
        return known or NOTHING

    def operation_of(self, value: IntegerPolynomial) -> AtomOperation | None:
        """Return the operation whose result a value is, if it is one and nothing else."""
        atom = only_atom(value)
        return self._operations.get(atom) if atom is not None else None

    def operation(self, atom: Atom) -> AtomOperation | None:
        return self._operations.get(atom)

    def shorter(self, atom: Atom, extensions: Container[str]) -> IntegerPolynomial | None:
        """Return the number that one of these extensions has made longer."""
        operation = self._operations.get(atom)
        is_longer = operation is not None and operation.name in extensions
        return operation.numbers[0] if operation is not None and is_longer else None

    def parameter(self, name: str, interval: Interval = ANYTHING) -> IntegerPolynomial:
        """Make a kernel parameter, or a part of one."""
        atom = Atom(PARAMETER, name)
        self._note(atom, AtomProperties(interval=interval))
        return IntegerPolynomial.atom(*atom)

    def named(self, name: str, properties: AtomProperties) -> IntegerPolynomial:
        """Make the atom of this name, for a value that is no function of operands."""
        value = self._named.get(name)
        if value is None:
            value = self._named[name] = IntegerPolynomial.atom(OPAQUE, name)
        self._note(value.terms[0][0][0], properties)
        return value

    def computed(self, operation: AtomOperation, properties: AtomProperties) -> IntegerPolynomial:
        """Return the result of an operation: the same atom for the same operands."""
        value = self._interned.get(operation)
        if value is None:
            value = IntegerPolynomial.atom(OPAQUE, f"#{len(self._interned)}")
            self._interned[operation] = value
            self._operations[value.terms[0][0][0]] = operation
        self._note(value.terms[0][0][0], properties)
        return value

    def _note(self, atom: Atom, properties: AtomProperties) -> None:
        # Of a parameter something is known before it is noted, of what is opaque nothing.
        before = self._properties.get(atom, NOTHING if atom.kind == PARAMETER else properties)
        if before is not properties and before != properties:
            self.changes += 1
        self._properties[atom] = properties

    def of(self, value: IntegerPolynomial) -> AtomProperties:
        """Return the properties of a polynomial."""
        atom = only_atom(value)
        if atom is not None:
            return self.properties(atom)
        if value.literal is not None:
            return NOTHING
        known = self._of.get(value)
        if known is None or known[0] != self.changes:
            one = reduce(AtomProperties.joined, map(self.properties, value.atoms), NOTHING)
            interval = sum_of_intervals(value, self._monomial)
            known = self._of[value] = self.changes, one._replace(interval=interval)
        return known[1]

    def joined(self, values: Iterable[IntegerPolynomial]) -> AtomProperties:
        """Return the properties of a value that depends on all of these."""
        return reduce(AtomProperties.joined, map(self.of, values), NOTHING)

    def interval(self, value: IntegerPolynomial) -> Interval:
        return sum_of_intervals(value, self._monomial)

    def _monomial(self, monomial: Monomial) -> Interval:
        if len(monomial) == 1:
            return self.properties(monomial[0]).interval
        low, high = 1, 1
        for block in [atom for atom in monomial if atom.kind == BLOCK]:
            # blockIdx.d * blockDim.d is less than the threads of the launch.
            rest = without(monomial, block, Atom(BLOCK_SIZE, block.name))
            if rest is not None:
                monomial = rest
                low, high = 0, MOST_THREADS // (self.threads_per_id if block.name == "x" else 1)
                break
        for atom in monomial:
            interval = self.properties(atom).interval
            if interval.low is None or interval.low < 0 or interval.high is None:
                return ANYTHING
            low, high = low * interval.low, high * interval.high
        return Interval(low, high)


def sum_of_intervals(
    value: IntegerPolynomial, interval_of: Callable[[Monomial], Interval]
) -> Interval:
    """Return the range of a polynomial from the ranges of its monomials."""
    low: int | None = 0
    high: int | None = 0
    for monomial, coefficient in value.terms:
        least, most = interval_of(monomial)
        if coefficient < 0:
            least, most = most, least
        low = None if low is None or least is None else low + coefficient * least
        high = None if high is None or most is None else high + coefficient * most
    return Interval(low, high)


def only_atom(value: IntegerPolynomial) -> Atom | None:
    """Return the atom that a value is, if it is one and nothing else."""
    if len(value.terms) != 1:
        return None
    (monomial, coefficient) = value.terms[0]
    return monomial[0] if coefficient == 1 and len(monomial) == 1 else None


def constant_term(value: IntegerPolynomial) -> int:
    """Return the term of a value that has no atoms."""
    return dict(value.terms).get((), 0)


def is_of_parameters(value: IntegerPolynomial) -> bool:
    """Tell whether parameters are all atoms of a value, so that a launch can compute it."""
    return all(atom.kind == PARAMETER for atom in value.atoms)


def number_range(bits: int, signed: bool) -> tuple[int, int]:
    """Return the least and the greatest number of so many bits."""
    half = 1 << (bits - 1)
    return (-half, half - 1) if signed else (0, 2 * half - 1)


def wrapped(number: int, bits: int, signed: bool) -> int:
    """Return the number that a register of so many bits holds: of 32 bits, 4294967293 may be -3."""
    low = -(1 << (bits - 1)) if signed else 0
    return (number - low) % (1 << bits) + low


def modulo(value: IntegerPolynomial, bits: int) -> IntegerPolynomial:
    """Return an equal value modulo 2^bits, with coefficients nearest to 0."""
    half = 1 << (bits - 1)
    if all(-half <= coefficient < half for _, coefficient in value.terms):
        return value
    return IntegerPolynomial.of({m: wrapped(c, bits, True) for m, c in value.terms})
