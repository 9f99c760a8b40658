"""Where the run of a block (`block_run`) begins: what each of its threads has in its registers.

Takes values of a walk, gives lanes: a number or a symbol per thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cutune.proof.collectives.arithmetic import compared, computed, held, signed
from cutune.proof.collectives.lanes import (
    TERM,
    Lanes,
    Numbers,
    Terms,
    numbers,
    own_parts,
    uniform,
    unknown,
)
from cutune.proof.collectives.shared_memory import SharedAddresses
from cutune.proof.collectives.thread_sums import Sums
from cutune.proof.flow.walk import Walk
from cutune.proof.values.built_ins import LANE as LANE_ATOM
from cutune.proof.values.operations import LANE
from cutune.proof.values.polynomial import BLOCK_SIZE, OPAQUE, THREAD, Atom, IntegerPolynomial
from cutune.proof.values.predicates import Both, Fixed, Not, Relation, Value, properties_of
from cutune.proof.values.terms import WARP, AtomOperation
from cutune.ptx.types import TYPE_BYTES, Function

_BUILT_INS = ("%tid.", "%ntid.", "%ctaid.", "%nctaid.")
_EXTENSIONS = frozenset({"s16", "u16", "s32", "u32"})


@dataclass
class InitialLanes:
    """The values at a point of a walk, for a block of `width` threads in x."""

    walk: Walk
    function: Function
    at_beginning: Mapping[str, Value]
    sums: Sums
    terms: Terms
    width: int
    addresses: SharedAddresses

    def of_text(self, text: str) -> Lanes:
        """Return the value of a register, a built-in or a constant."""
        if text in self.function.registers:
            if text not in self.at_beginning:
                return unknown(self.width)
            kind = self.function.registers[text]
            bits = 1 if kind == "pred" else 8 * TYPE_BYTES[kind]
            return self._of(self.at_beginning[text], bits)
        if text == "%laneid":
            return numbers(self._threads % WARP)
        is_known = not text.startswith("%") or text.startswith(_BUILT_INS)
        return self._of(self.walk.value_of(text), 64) if is_known else unknown(self.width)

    @property
    def _threads(self) -> Numbers:
        return np.arange(self.width, dtype=np.int64)

    def _of(self, value: Value, bits: int) -> Lanes:
        if (sum_ := self.sums.of(value)) is not None:
            return own_parts(self.width, self.terms.number(sum_))
        known = self._number(value)
        if known is not None:
            return numbers(held(known, bits))
        properties = properties_of(value, self.walk.atoms)
        # A register that nothing was written to is known by all dimensions.
        if self.terms.of_lanes and properties.ids == {"x"} and not properties.raw:
            return self._by_lanes(value)
        if properties.raw or properties.ids:
            return unknown(self.width)
        return uniform(self.width, TERM, self.terms.number(("value", value)))

    def _by_lanes(self, value: Value) -> Lanes:
        """What differs between the lanes of a warp, and is alike in all warps."""
        of_lanes = [self.terms.number(("value", value, lane)) for lane in range(WARP)]
        return Lanes(np.full(self.width, TERM, np.uint8), np.array(of_lanes)[self._threads % WARP])

    def _number(self, value: object) -> Numbers | None:
        """The number of each thread; None where that depends on more than its place."""
        try:
            match value:
                case IntegerPolynomial():
                    return self._polynomial(value)
                case Relation(relation, bits, is_signed, left, right):
                    first, second = self._polynomial(left), self._polynomial(right)
                    if first is None or second is None:
                        return None
                    kind = f"{'s' if is_signed else 'u'}{bits}"
                    one, other = held(first, bits), held(second, bits)
                    return compared(relation, kind, one, other).astype(np.int64)
                case Both(first_part, second_part):
                    one_, other_ = self._number(first_part), self._number(second_part)
                    return None if one_ is None or other_ is None else one_ & other_
                case Not(inner):
                    inside = self._number(inner)
                    return None if inside is None else 1 - inside
                case Fixed(holds):
                    return np.full(self.width, holds, np.int64)
        except ValueError:
            return None
        return None

    def _polynomial(self, value: IntegerPolynomial) -> Numbers | None:
        total = np.zeros(self.width, np.int64)
        for monomial, coefficient in value.terms:
            wrapped = (coefficient + (1 << 63)) % (1 << 64) - (1 << 63)
            product = np.full(self.width, wrapped, np.int64)
            for atom in monomial:
                factor = self._atom(atom)
                if factor is None:
                    return None
                product = product * factor
            total = total + product
        return total

    def _atom(self, atom: Atom) -> Numbers | None:
        in_one = WARP if self.terms.of_lanes else 1
        if atom == Atom(THREAD, "x"):
            return self._threads // in_one
        if atom == Atom(BLOCK_SIZE, "x"):
            return np.full(self.width, self.width // in_one, np.int64)
        if atom == LANE_ATOM and self.terms.of_lanes:
            return self._threads % WARP
        if atom.kind != OPAQUE:
            return None
        if (address := self.addresses.of(atom.symbol or "")) is not None:
            return np.full(self.width, address, np.int64)
        operation = self.walk.atoms.operation(atom)
        return self._operation(operation) if operation is not None else None

    def _operation(self, operation: AtomOperation) -> Numbers | None:
        opcode, *modifiers = operation.name.split(".")
        if opcode == LANE:
            return self._threads & WARP - 1 & int(str(operation.operands[0]))
        operands = [self._number(one) for one in operation.operands]
        known = [one for one in operands if one is not None]
        if len(known) < len(operands):
            return None
        if opcode in _EXTENSIONS:
            bits = int(opcode[1:])
            narrow = held(known[0], bits)
            return signed(narrow, bits) if opcode[0] == "s" else narrow
        kind = modifiers[-1] if modifiers else ""
        if kind[:1] not in ("s", "u", "b") or not kind[1:].isdigit() or opcode == "selp":
            return None
        return computed(opcode, modifiers, [held(one, int(kind[1:])) for one in known])
