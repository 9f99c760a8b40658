"""Integer polynomials over symbolic atoms: the values that the proofs reason with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

_MAXIMAL_TERMS = 48


class Atom(NamedTuple):
    """A symbol. `kind` is one of the constants below, `name` tells symbols of a kind apart."""

    kind: str
    name: str

    @property
    def symbol(self) -> str | None:
        """The variable, function or parameter whose address it is; None for any other value."""
        is_address = self.kind == OPAQUE and self.name.startswith("&")
        return self.name[1:] if is_address else None


#: Raw built-ins: their values change with the block. `name` is the dimension.
THREAD, BLOCK, BLOCK_SIZE, GRID_SIZE = "threadIdx", "blockIdx", "blockDim", "gridDim"
#: blockIdx.d * blockDim.d + threadIdx.d, and gridDim.d * blockDim.d; `name` is the dimension.
IDENTITY, STRIDE = "id", "stride"
#: A kernel parameter, or a part of one, as the launch gives it.
PARAMETER = "parameter"
#: Any other value, each reading of it a symbol of its own.
OPAQUE = "opaque"

Monomial = tuple[Atom, ...]


def without(monomial: Monomial, *atoms: Atom) -> Monomial | None:
    """Return a product without these factors; None where it does not have them."""
    rest = list(monomial)
    for atom in atoms:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


class TooLarge(ArithmeticError):
    """The polynomial has more terms than any index expression."""


@dataclass(frozen=True)
class IntegerPolynomial:
    """Sum of coefficient * product of atoms, sorted, without zero coefficients."""

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def of(terms: Mapping[Monomial, int]) -> IntegerPolynomial:
        """Sort the terms and drop zeros."""
        if len(terms) > _MAXIMAL_TERMS:
            raise TooLarge
        kept = [(m, c) for m, c in terms.items() if c]
        if len(kept) > 1:
            kept.sort()
        return IntegerPolynomial(tuple(kept))

    @staticmethod
    def constant(value: int) -> IntegerPolynomial:
        return IntegerPolynomial((((), value),)) if value else ZERO

    @staticmethod
    def atom(kind: str, name: str) -> IntegerPolynomial:
        return IntegerPolynomial((((Atom(kind, name),), 1),))

    @property
    def literal(self) -> int | None:
        """Its value, if it has no symbols."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    @property
    def atoms(self) -> Iterator[Atom]:
        """All symbols, perhaps repeated."""
        return (atom for monomial, _ in self.terms for atom in monomial)

    def replaced(self, atom: Atom, by: IntegerPolynomial) -> IntegerPolynomial:
        """Return the polynomial with another value in place of a symbol."""
        return self.substituted(lambda one: by if one == atom else IntegerPolynomial.atom(*one))

    def substituted(self, value_of: Callable[[Atom], IntegerPolynomial]) -> IntegerPolynomial:
        """Return the polynomial with values in place of its symbols."""
        result = ZERO
        for monomial, coefficient in self.terms:
            product = IntegerPolynomial.constant(coefficient)
            for atom in monomial:
                product *= value_of(atom)
            result += product
        return result

    def split(self, atom: Atom) -> tuple[IntegerPolynomial, IntegerPolynomial] | None:
        """Itself as factor * atom + rest; None where the symbol is squared."""
        factor: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        for monomial, coefficient in self.terms:
            others = without(monomial, atom)
            if others is None:
                rest[monomial] = coefficient
            elif atom in others:
                return None
            else:
                factor[others] = coefficient
        return IntegerPolynomial.of(factor), IntegerPolynomial.of(rest)

    def __add__(self, other: IntegerPolynomial | int) -> IntegerPolynomial:
        terms = dict(self.terms)
        for monomial, coefficient in _terms_of(other):
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return _with_identities(terms)

    def __neg__(self) -> IntegerPolynomial:
        return IntegerPolynomial(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: IntegerPolynomial | int) -> IntegerPolynomial:
        return self + -other

    def __mul__(self, other: IntegerPolynomial | int) -> IntegerPolynomial:
        terms: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in _terms_of(other):
                monomial = _with_stride(tuple(sorted(left + right)))
                terms[monomial] = terms.get(monomial, 0) + a * b
                if len(terms) > _MAXIMAL_TERMS:
                    raise TooLarge
        return _with_identities(terms)


ZERO = IntegerPolynomial(())
ONE = IntegerPolynomial.constant(1)


def _terms_of(value: IntegerPolynomial | int) -> tuple[tuple[Monomial, int], ...]:
    return (((), value),) if isinstance(value, int) else value.terms


def _with_stride(monomial: Monomial) -> Monomial:
    """gridDim.d * blockDim.d is the number of threads, which re-blocking keeps."""
    for grid in [atom for atom in monomial if atom.kind == GRID_SIZE]:
        rest = without(monomial, grid, Atom(BLOCK_SIZE, grid.name))
        if rest is not None:
            monomial = tuple(sorted([*rest, Atom(STRIDE, grid.name)]))
    return monomial


def _with_identities(terms: dict[Monomial, int]) -> IntegerPolynomial:
    """Replace c * m * (blockIdx.d * blockDim.d + threadIdx.d) by c * m * id.d.

    The replacement keeps the value, so that what is left over tells truly whether the expression
    depends on the block.
    """
    if len(terms) == 1:
        return IntegerPolynomial.of(terms)
    for monomial in list(terms):
        for thread in {atom for atom in monomial if atom.kind == THREAD}:
            coefficient = terms.get(monomial, 0)
            rest = without(monomial, thread) or ()
            dimension = thread.name
            pair = (Atom(BLOCK, dimension), Atom(BLOCK_SIZE, dimension))
            partner = tuple(sorted([*rest, *pair]))
            other = terms.get(partner, 0)
            if coefficient * other <= 0:
                continue
            common = min(coefficient, other, key=abs)
            whole = tuple(sorted([*rest, Atom(IDENTITY, dimension)]))
            terms[monomial] -= common
            terms[partner] -= common
            terms[whole] = terms.get(whole, 0) + common
    return IntegerPolynomial.of(terms)


def exactly(value: IntegerPolynomial, by: IntegerPolynomial) -> IntegerPolynomial | None:
    """Return value / by; None where no exact quotient is found."""
    if by == ZERO:
        return None
    leading, factor = by.terms[-1]
    result = ZERO
    for _ in range(_MAXIMAL_TERMS):
        if value == ZERO:
            return result
        found = (term_over(term, leading, factor) for term in reversed(value.terms))
        times = next((one for one in found if one is not None), None)
        if times is None:
            return None
        result, value = result + times, value - times * by
    return None


def term_over(
    term: tuple[Monomial, int], leading: Monomial, factor: int
) -> IntegerPolynomial | None:
    """A term divided by another one; None where something is left over."""
    monomial, coefficient = term
    rest = without(monomial, *leading)
    if rest is None or coefficient % factor:
        return None
    return IntegerPolynomial.of({rest: coefficient // factor})


def to_c(polynomial: IntegerPolynomial) -> str:
    """C text over parameter names, positive terms first, for instance `2 * n - 1`."""
    ordered = sorted(polynomial.terms, key=lambda term: (term[1] < 0, not term[0]))
    if not ordered:
        return "0"
    text = ""
    for monomial, coefficient in ordered:
        factors = [atom.name for atom in monomial]
        if abs(coefficient) != 1 or not factors:
            factors.insert(0, str(abs(coefficient)))
        sign = "-" if coefficient < 0 else "+"
        product = " * ".join(factors)
        text = f"{text} {sign} {product}" if text else ("-" if coefficient < 0 else "") + product
    return text
