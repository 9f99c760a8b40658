"""What launches of a trial are given. Takes a kernel and sizes, gives parameters as bytes."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from cutune.emulator.module_metadata import KernelCode
from cutune.measure.replay.replay import ARRAY_BYTES, GHOST_BASE
from cutune.measure.trial_contents import of_each_outcome
from cutune.measure.trial_sizes import Sizes
from cutune.source.program import Kernel

#: Combinations of values of real numbers that a kernel compares with others, at most.
_MOST_COMBINED = 16

Numbers = tuple[tuple[int, float], ...]
"""Real parameters by their places, and a value of each."""


@dataclass(frozen=True)
class LaunchParameters:
    """The parameters of a kernel. `compared`: numbers with which it compares real ones."""

    kernel: Kernel
    compared: Mapping[int, frozenset[float]]

    def kind(self, index: int) -> str | None:
        """`p`: a pointer; `i`: an integer; `f`, `d`: a number; None: something else."""
        parameter = self.kernel.parameters[index]
        if parameter.is_pointer:
            return "p" if parameter.type.count("*") == 1 else None
        real = {"float": "f", "double": "d"}.get(" ".join(parameter.words))
        return real or ("i" if parameter.integer is not None else None)

    @property
    def places_of_integers(self) -> list[int]:
        return [n for n in range(len(self.kernel.parameters)) if self.kind(n) == "i"]

    @cached_property
    def integers(self) -> tuple[str, ...]:
        """The names of its integers."""
        return tuple(self.kernel.parameters[n].name for n in self.places_of_integers)

    @cached_property
    def combined(self) -> list[Numbers]:
        """What real parameters are together, first such that no product is a whole number.

        Empty: they are compared with too many numbers.
        """
        each = [
            [
                (index, value)
                for value in of_each_outcome(
                    self.compared.get(index, frozenset()), 0.8125 + index / 7
                )
            ]
            for index in range(len(self.kernel.parameters))
            if self.kind(index) in ("f", "d")
        ]
        found = [*product(*each)]
        return found if len(found) <= _MOST_COMBINED else []

    def packed(self, code: KernelCode, sizes: Sizes, numbers: Numbers) -> bytes:
        """Return the bytes of all parameters; pointers lead to ghosts."""
        buffer = bytearray(code.parameter_bytes)
        array, reals = 0, dict(numbers)
        for index, (parameter, place) in enumerate(
            zip(self.kernel.parameters, code.parameters, strict=True)
        ):
            kind, at = self.kind(index), slice(place.offset, place.offset + place.size)
            if kind == "p":
                address = GHOST_BASE + array * ARRAY_BYTES + ARRAY_BYTES // 2
                buffer[at] = address.to_bytes(8, "little")
                array += 1
            elif kind == "i":
                value = sizes[parameter.name] & ((1 << 8 * place.size) - 1)
                buffer[at] = value.to_bytes(place.size, "little")
            else:
                buffer[at] = struct.pack(f"<{kind}", reals[index])
        return bytes(buffer)
