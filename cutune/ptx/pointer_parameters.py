"""What a kernel does through each of its pointers. Takes PTX, gives places of parameters.

A register follows from a pointer if any instruction makes it of one. What functions that are called
do, they may do through each pointer that is handed to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from cutune.ptx.taint import loads_data, names, results, sources, spaces
from cutune.ptx.types import LOADS, MEMORY, Function, Instruction

#: In place of a pointer: an access that no parameter tells of.
ELSEWHERE = -1
_SIZE = re.compile(r"(?:[subf]|bf)(\d+)(?:x2)?")
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
_POINTER_BYTES = 8
_WRITES = frozenset({"st", "atom", "red"})


@dataclass(frozen=True)
class PointerParameters:
    """The accesses of a kernel. `functions`: itself, and those that it may call."""

    kernel: Function
    functions: Sequence[Function]

    def widths(self, of_functions: Callable[[Sequence[int]], int]) -> Mapping[int, int]:
        """Return the most bits of an access through each pointer, by the place of its parameter.

        `of_functions`: what counts of the accesses of functions that are given a pointer.
        """
        found: dict[int, int] = {}
        for one in self._accesses(self.kernel):
            for place in self._places_of(one) or {ELSEWHERE}:
                found[place] = max(found.get(place, 0), _bits(one))
        if within := [_bits(one) for one in self._within]:
            for place in self._handed or {ELSEWHERE}:
                found[place] = max(found.get(place, 0), of_functions(within))
        return found

    @property
    def written(self) -> frozenset[int]:
        """Places of parameters through which memory may be written."""
        stores = (one for one in self._accesses(self.kernel) if one.opcode in _WRITES)
        found = {place for one in stores for place in self._places_of(one)}
        may_write = any(one.opcode in _WRITES for one in self._within)
        return frozenset(found | (self._handed if may_write else set()))

    @cached_property
    def _within(self) -> list[Instruction]:
        others = (one for one in self.functions if one is not self.kernel)
        return [access for one in others for access in self._accesses(one)]

    @staticmethod
    def _accesses(function: Function) -> list[Instruction]:
        """Accesses of memory that others see."""
        return [
            one
            for one in function.instructions
            if one.opcode in MEMORY and not spaces(one) & {"param", "shared", "local"}
        ]

    def _places_of(self, access: Instruction) -> Set[int]:
        address = access.operands[0 if access.opcode in ("st", "red") else 1]
        return {place for name in names(address) for place in self._origins.get(name, ())}

    @cached_property
    def _handed(self) -> set[int]:
        """Places of what is handed to functions."""
        given = (one for one in self.kernel.instructions if one.opcode == "st")
        values = (o for one in given if "param" in spaces(one) for o in one.operands[1:])
        return {place for o in values for name in names(o) for place in self._origins.get(name, ())}

    @cached_property
    def _origins(self) -> dict[str, set[int]]:
        """Places of the parameters that registers follow from."""
        known = enumerate(self.kernel.parameters)
        parameters = {one.name: place for place, one in known if one.size == _POINTER_BYTES}
        found: dict[str, set[int]] = {}
        handed, size = set[int](), -1
        while size != (size := sum(map(len, found.values())) + len(handed)):
            for one in self.kernel.instructions:
                if loads_data(one):
                    continue
                origins = {place for name in sources(one) for place in found.get(name, ())}
                if one.opcode in LOADS:
                    named = {parameters[name] for name in sources(one) if name in parameters}
                    # Or it is what a function returns.
                    origins |= named or handed
                if one.opcode == "st" and "param" in spaces(one):
                    handed |= origins
                for name in results(one) if origins else ():
                    found.setdefault(name, set()).update(origins)
        return found


def asks_for_more(kernel: PointerParameters, copy: PointerParameters) -> bool:
    """Tell whether accesses of a copy are longer through a pointer than any of its kernel.

    They would ask for pointers to multiples of more bytes.
    """
    allowed = kernel.widths(min)
    return any(bits > allowed.get(place, 0) for place, bits in copy.widths(max).items())


def _bits(access: Instruction) -> int:
    """How many bits an access has at once."""
    sizes = (int(m[1]) for word in access.modifiers if (m := _SIZE.fullmatch(word)))
    lanes = (_VECTORS[word] for word in access.modifiers if word in _VECTORS)
    return max(sizes, default=0) * next(lanes, 1)
