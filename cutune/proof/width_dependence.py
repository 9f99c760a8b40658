"""How values of kernels that are not proven depend on the width of the block, for `flat_blocks`.

Takes polynomials, gives built-ins and numbers, for messages and suggestions. No proof rests on it.

Values that are known by their register alone (`phi`) depend on what the register is computed from,
in whatever order.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import prod

from cutune.core.reaching import reached
from cutune.proof.values.built_ins import LAYER, LAYERS
from cutune.proof.values.id_bounds import ordered
from cutune.proof.values.polynomial import (
    BLOCK,
    BLOCK_SIZE,
    GRID_SIZE,
    PARAMETER,
    THREAD,
    Atom,
    IntegerPolynomial,
    Monomial,
)
from cutune.proof.values.predicates import Predicate, Relation
from cutune.proof.values.terms import WARP, Atoms, constant_term, only_atom
from cutune.ptx.taint import results, sources
from cutune.ptx.types import Function

THREAD_X, WIDTH = Atom(THREAD, "x"), Atom(BLOCK_SIZE, "x")
ROUNDS = re.compile(r"rounds\d+$")
EXTENSION = re.compile(r"[su]\d+$")
#: `phi3.%r7`, `guarded12.%r7`.
BY_REGISTER = re.compile(r"(?:phi|guarded)\d+\.(%\w+)$")
_MOST_THREADS = 1024
_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    **dict.fromkeys(("lt", "lo"), operator.lt),
    **dict.fromkeys(("le", "ls"), operator.le),
    **dict.fromkeys(("gt", "hi"), operator.gt),
    **dict.fromkeys(("ge", "hs"), operator.ge),
    "eq": operator.eq,
    "ne": operator.ne,
}
_COMPUTE: Mapping[str, Callable[[int, int], int]] = {
    "shr": operator.rshift,
    "div": operator.floordiv,
    "rem": operator.mod,
    "and": operator.and_,
    "min": min,
    "max": max,
}
#: What is read from memory does not depend on the block as its address does.
_FROM_MEMORY = frozenset({"ld", "atom", "tex", "shfl", "vote", "redux", "match", "call"})


class WidthDependence:
    """How values of an entry depend on the width of its block.

    `dimension`: in which warps lie, where it is not x; the width is that of the flat block.
    """

    def __init__(self, function: Function, atoms: Atoms, dimension: str = "x") -> None:
        self.atoms = atoms
        built_ins = {THREAD: f"%tid.{dimension}", BLOCK_SIZE: f"%ntid.{dimension}"}
        built_ins[BLOCK] = "%ctaid.x"
        self._registers = {kind: depending(function, name) for kind, name in built_ins.items()}

    def kinds(self, value: IntegerPolynomial) -> set[str]:
        """The built-ins that a value depends on other than by the global id, or by lanes."""
        found = set[str]()
        for part in self.parts(value, with_lanes=False):
            for atom in part.atoms:
                if atom.kind in (THREAD, BLOCK_SIZE, BLOCK, GRID_SIZE) and atom.name == "x":
                    found.add(atom.kind)
                elif (register := BY_REGISTER.match(atom.name)) is not None:
                    found |= {k for k, names in self._registers.items() if register[1] in names}
        return found

    def without_lanes(self, value: IntegerPolynomial) -> IntegerPolynomial:
        """A value with 0 in place of lanes: `t & 31`, `t - 32 * (t / 32)` and `t - (t & ~31)`."""
        terms, thread = dict(value.terms), (THREAD_X,)
        for monomial, factor in value.terms:
            operation = self.atoms.operation(monomial[0]) if len(monomial) == 1 else None
            if operation is None or not operation.numbers:
                continue
            opcode, number = operation.name.split(".")[0], operation.numbers[-1].literal
            # How many threads one of it is.
            size = {("shr", 5): WARP, ("div", WARP): WARP, ("and", -WARP): 1}.get(
                (opcode, number or 0)
            )
            is_of_thread = operation.numbers[0] == IntegerPolynomial.atom(*THREAD_X)
            if (opcode, number) in (("and", WARP - 1), ("rem", WARP)):
                del terms[monomial]
            elif size and is_of_thread and factor == -size * terms.get(thread, 0):
                del terms[monomial], terms[thread]
        return IntegerPolynomial.of(terms)

    def parts(
        self, value: IntegerPolynomial, with_lanes: bool = True
    ) -> Iterator[IntegerPolynomial]:
        """A value, and all numbers that it is computed from, but not those of conditions."""
        seen_as = (lambda one: one) if with_lanes else self.without_lanes

        def numbers(one: IntegerPolynomial) -> Iterator[IntegerPolynomial]:
            operations = filter(None, map(self.atoms.operation, one.atoms))
            return (seen_as(number) for operation in operations for number in operation.numbers)

        return reached([seen_as(value)], numbers)

    def is_by_register(self, value: IntegerPolynomial) -> bool:
        return any(
            BY_REGISTER.match(atom.name) for part in self.parts(value) for atom in part.atoms
        )

    def is_of_row(self, value: IntegerPolynomial) -> bool:
        """`threadIdx.x + rounds * blockDim.x`: the number of an element, for any width."""
        monomials = dict(value.terms)
        return (THREAD_X,) in monomials and any(
            any(map(self.is_width, monomial)) and any(ROUNDS.match(atom.name) for atom in monomial)
            for monomial in monomials
        )

    def group(self, offset: IntegerPolynomial) -> tuple[int, int] | None:
        """How many threads share a place by `threadIdx.x / 32`, and the bytes between places."""
        for monomial, step in offset.terms:
            found = self._quotient(monomial[0]) if len(monomial) == 1 and step > 0 else None
            if found is not None:
                return found[0], step * found[1]
        return None

    def _quotient(self, atom: Atom) -> tuple[int, int] | None:
        """The n and c of `threadIdx.x / n * c`, also as `threadIdx.x >> 3 & ~3`, or `& ~31`."""
        operation = self.atoms.operation(atom)
        if operation is None or len(operation.numbers) != 2:
            return None
        value, number = operation.numbers[0], operation.numbers[1].literal
        opcode, inner = operation.name.split(".")[0], only_atom(value)
        if number is None or inner is None:
            return None
        if opcode in ("shr", "div") and inner == THREAD_X:
            return ((1 << number if opcode == "shr" else number), 1) if number >= 0 else None
        lowest = number & -number
        if opcode != "and" or (inner == THREAD_X and lowest == 1):
            return None
        before = (1, 1) if inner == THREAD_X else self._quotient(inner)
        if number == -lowest:  # of 32 or 64 bits, as `t & ~31` is
            number += _MOST_THREADS
        # All bits from the lowest one on, of numbers of threads.
        if before is None or before[1] != 1 or number + lowest < _MOST_THREADS // before[0]:
            return None
        is_whole = (number + lowest) & (number + lowest - 1) == 0
        return (before[0] * lowest, lowest) if is_whole else None

    def are_few(self, known: Iterable[Relation]) -> bool:
        """Do comparisons with a number let no others through than threads of the first warp?"""
        return any(
            0 <= number * self._threads_in(small) <= WARP
            for test in known
            for small, large in ordered(test)
            if (number := large.literal) is not None and self._threads_in(small)
        )

    def _threads_in(self, value: IntegerPolynomial) -> int:
        """How many threads have one number, of threads or of groups of them; 0: it is another."""
        if value == IntegerPolynomial.atom(*THREAD_X):
            return 1
        group = self.group(value) if len(value.terms) == 1 else None
        return group[0] if group is not None and group[1] == 1 else 0

    def are_of_first_warp(self, known: Iterable[Predicate]) -> bool:
        """Do comparisons let through some of the first 32 threads alone, for any width?

        They do the rest of a row behind its last vector: `(n & ~3) + threadIdx.x < n`.
        """
        tests = (one for one in known if isinstance(one, Relation) and one.relation != "eq")
        return any(self._is_rest(small, large) for test in tests for small, large in ordered(test))

    def _is_rest(self, small: IntegerPolynomial, end: IntegerPolynomial) -> bool:
        """Is the first one a thread behind the last vector of at most 32 elements before an end?"""
        begin = small - IntegerPolynomial.atom(*THREAD_X)
        match begin.terms:
            case (((atom,), factor),):
                operation = self.atoms.operation(atom)
            case _:
                return False
        if operation is None or len(operation.numbers) != 2 or self.kinds(begin) | self.kinds(end):
            return False
        whole, number = operation.numbers[0], operation.numbers[1].literal
        opcode = operation.name.split(".")[0]
        # `n / 4 * 4`, or `n & ~3`, which it may have been compiled to.
        size = {"shr": factor, "and": -(number or 0)}.get(opcode, 0)
        is_power = 1 < size <= WARP and size & (size - 1) == 0
        is_multiple = number == size.bit_length() - 1 if opcode == "shr" else factor == 1
        # Numbers with a sign are moved before they are rounded down.
        moved = self.atoms.interval(whole - end)
        return is_power and is_multiple and moved.low is not None and moved.low >= 0

    def goes_round(self, value: IntegerPolynomial) -> bool:
        return any(ROUNDS.match(atom.name) for p in self.parts(value) for atom in p.atoms)

    def is_only_divisor(self, value: IntegerPolynomial) -> bool:
        """Does the width stand below a fraction line only, as the number of tiles has it?"""
        whole = IntegerPolynomial.atom(*WIDTH)
        below = (part for part in self.parts(value) if part is not value)
        return WIDTH not in value.atoms and all(
            WIDTH not in part.atoms or part == whole for part in below
        )

    def holds(self, test: Relation, width: int) -> bool | None:
        left, right = self.number(test.left, width), self.number(test.right, width)
        if left is None or right is None:
            return None
        return _COMPARE[test.relation](left, right)

    def number(self, value: IntegerPolynomial, width: int) -> int | None:
        """The value with a width of the block, where it depends on nothing else."""
        total = 0
        for monomial, factor in value.terms:
            known = [width if a == WIDTH else self.computed(a, width) for a in monomial]
            if None in known:
                return None
            total += factor * prod(number for number in known if number is not None)
        return total

    def computed(self, atom: Atom, width: int) -> int | None:
        operation = self.atoms.operation(atom)
        if operation is None:
            return None
        numbers = [self.number(one, width) for one in operation.numbers]
        if EXTENSION.match(operation.name) and len(numbers) == 1:
            return numbers[0]
        compute = _COMPUTE.get(operation.name.split(".")[0])
        if compute is None or len(numbers) != 2:
            return None
        first, second = numbers
        return compute(first, second) if first is not None and second and second > 0 else None

    def begin(self, offset: IntegerPolynomial) -> Iterator[tuple[Monomial, int]]:
        """The terms of an offset in dynamic memory at which one of several arrays begins.

        They lie behind one another, of so many elements as arguments or numbers of warps say. What
        lies before such a place is of the array before.
        """
        for monomial, factor in offset.terms:
            is_of_arguments = bool(monomial) and all(map(_is_of_launch, monomial))
            is_of_warps = factor > 0 and self.is_number_of_warps(monomial)
            if is_of_arguments or (is_of_warps and constant_term(offset) >= 0):
                yield monomial, factor

    def is_number_of_warps(self, monomial: Monomial) -> bool:
        """`blockDim.x / 32`."""
        operation = self.atoms.operation(monomial[0]) if len(monomial) == 1 else None
        is_quotient = operation is not None and operation.name.split(".")[0] in ("shr", "div")
        return is_quotient and self.computed(monomial[0], _MOST_THREADS) == _MOST_THREADS // WARP

    def is_width(self, atom: Atom) -> bool:
        """The width of the block, or its number of warps."""
        operation = self.atoms.operation(atom)
        if operation is None:
            return atom == WIDTH
        return any(self.is_width(one) for value in operation.numbers[:1] for one in value.atoms)


def _is_of_launch(atom: Atom) -> bool:
    """Is it the same for all threads that share an array?"""
    return atom.kind == PARAMETER or atom.name in (LAYER, LAYERS)


def depending(function: Function, built_in: str) -> frozenset[str]:
    """Return the registers that are computed from a built-in, in whatever order."""
    found, before = {built_in}, 0
    flows = [
        (results(item), frozenset((*sources(item), *item.operands[1:])))
        for item in function.instructions
        if item.opcode not in _FROM_MEMORY
    ]
    while before != (before := len(found)):
        found.update(*(written for written, read in flows if not read.isdisjoint(found)))
    return frozenset(found)
