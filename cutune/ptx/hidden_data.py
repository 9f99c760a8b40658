"""What never shows in trials of a kernel. Takes its decisions, gives what is made of its data.

Sums of data that become longer or shorter numbers, since sums of parts may wrap around where others
do not, and what operations that nobody has looked at make of data.
"""

from __future__ import annotations

from functools import cached_property

from cutune.ptx.decisions import PRODUCTS, UNDERFLOWS, WATCHED, Decisions
from cutune.ptx.named_numbers import REALS, type_of
from cutune.ptx.taint import made_of_themselves, results, spaces
from cutune.ptx.types import LOADS, TYPE_BYTES, Instruction, opcodes

_ADDING = frozenset({"add", "sub", "mad", "mul", "dp4a", "dp2a"})
_SUMS = frozenset(
    {"mov", "add", "sub", "mad", "mul", "fma", "shl", "shfl", "neg", "selp", "dp4a", "dp2a"}
)
#: What is known of data: nothing is hidden but where `Decisions` asks.
_KNOWN = opcodes(
    """
    abs add and atom bar barrier bfe bfi bfind bra brev call clz copysign cos cvt cvta div dp2a dp4a
    ex2 fma ld ldu lg2 lop3 mad max min mov mul neg not or popc prmt rcp red rem ret rsqrt selp setp
    shf shfl shl shr sin sqrt st sub tanh xor
    """
)
#: What sums keep in shared memory is found in so many passes.
_PASSES = 3
#: What is said of sums of data that become other numbers.
WRAPS = "it makes a sum of data longer or shorter, which may wrap around"


class HiddenData:
    """What of a function's data trials cannot tell."""

    def __init__(self, decisions: Decisions) -> None:
        self._decisions, self._values = decisions, decisions.values
        self._instructions = decisions.values.instructions

    def in_words(self) -> str:
        """Return what is made of data that trials cannot tell of; "" if nothing."""
        return self._wrapping() or self._unknown()

    def _unknown(self) -> str:
        """Return an operation on data of which nothing is known, in words; "" if there is none."""
        for one in self._instructions:
            follows = not self._decisions.asked.isdisjoint(self._values.read(one))
            if not (self._decisions.is_of_data(one) or follows) or type_of(one, 0) == "pred":
                continue
            is_derived = not self._decisions.derived.isdisjoint(self._values.read(one))
            is_hidden = (one.opcode in ("dp4a", "dp2a") or "x2" in one.modifiers) and is_derived
            is_hidden |= one.opcode in ("mad", "mul24", "mad24") and "hi" in one.modifiers
            # Of short numbers it is not noted what they are.
            of_choice = one.opcode in {*PRODUCTS, *UNDERFLOWS, "min", "max"} and is_derived
            is_short = type_of(one, 0) in REALS - WATCHED and of_choice
            if one.opcode not in _KNOWN or is_hidden or is_short:
                return f"nothing is known of '{one.opcode}' of data"
        return ""

    def _wrapping(self) -> str:
        for one in self._instructions:
            is_sum = not self._sums.isdisjoint(results(one))
            if is_sum and one.opcode in _ADDING and type_of(one, 0) in ("s16", "u16"):
                return "it adds up data in 16 bits"
            if is_sum and "sat" in one.modifiers:
                return "it adds up data up to a limit"
            of_sum = results(one) if one.opcode in LOADS else self._values.read(one)
            if self._is_other_number(one) and not self._sums.isdisjoint(of_sum):
                return WRAPS
        return ""

    def _is_other_number(self, one: Instruction) -> bool:
        """Does it make an integer longer or shorter, or a real number of it?"""
        kinds = {type_of(one, 0), type_of(one, 1)}
        if one.opcode in LOADS:
            wide = self._values.registers.get(one.operands[0], "")[1:]
            return wide.isdigit() and int(wide) > max(
                8 * TYPE_BYTES.get(kind, 16) for kind in kinds
            )
        return (one.opcode == "cvt" or "wide" in one.modifiers) and not kinds <= REALS

    def terms(self) -> int:
        """Return of how many integers that are data the longest sum is that becomes another one.

        Sums that are written out, as of a tile, are meant: such of a loop are refused.
        """
        terms: dict[str, int] = {}
        kept, most = 1, 0
        for _ in range(_PASSES):
            for one in self._instructions:
                read = [terms[name] for name in self._values.read(one) if name in terms]
                is_known = one.opcode in LOADS or type_of(one, 0) in REALS or not read
                own = (sum if one.opcode in _ADDING else max)(read) if not is_known else 1
                if one.opcode in LOADS and "shared" in spaces(one):
                    own = kept
                if one.opcode in ("st", "atom", "red") and "shared" in spaces(one):
                    kept = max(kept, *read, 1)
                is_of_data = one.opcode in LOADS or self._decisions.is_of_data(one)
                if is_of_data and one.opcode != "setp":
                    terms.update(dict.fromkeys(results(one), own))
                if is_of_data and self._is_other_number(one):
                    most = max(most, own if one.opcode in LOADS else max(read, default=0))
        return most

    @cached_property
    def _sums(self) -> frozenset[str]:
        """Registers of data that a loop adds up, and what is made of these by adding.

        What is added to shared memory, or kept there, is loaded as such a sum.
        """
        reads: dict[str, set[str]] = {}
        for one in self._instructions:
            if one.opcode in _SUMS | {"and", "min", "max", "cvt"} and self._is_of_integers(one):
                for name in results(one):
                    reads.setdefault(name, set()).update(self._values.read(one))
        found = made_of_themselves(reads)
        size, is_kept = -1, False
        while size != (size := len(found) + is_kept):
            for one in self._instructions:
                is_sum = not found.isdisjoint(self._values.read(one))
                in_shared = "shared" in spaces(one)
                if one.opcode in ("st", "atom", "red"):
                    is_added = "add" in one.modifiers and self._is_of_integers(one)
                    is_kept |= in_shared and (is_sum or is_added)
                elif (one.opcode in _SUMS and is_sum) or (
                    one.opcode in LOADS and in_shared and is_kept and type_of(one, 0) not in REALS
                ):
                    found.update(results(one))
        return frozenset(found)

    def _is_of_integers(self, one: Instruction) -> bool:
        """Does it compute with integers that are data, or follow from these?"""
        return type_of(one, 0) not in REALS and self._decisions.is_of_data(one)
