"""Calls of one function, and how they ended. Takes nothing, gives what two processes share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutune.emulator.findings import Finding
from cutune.toolchain.device.thread_block import Block

#: Binary digits behind the first, and the tolerance, by code and size.
_REALS = {"f4": (23, 1e-5), "f8": (52, 1e-13), "h2": (10, 1e-2), "z2": (7, 5e-2)}


@dataclass(frozen=True)
class NumberType:
    """`code`: f, h (half), z (bfloat16), i, u or b (bool); `size` in bytes."""

    code: str
    size: int

    @property
    def is_real(self) -> bool:
        return self.code in "fhz"

    @property
    def epsilon(self) -> float:
        """The distance of 1 to the next number."""
        return float(2.0 ** -_REALS[f"{self.code}{self.size}"][0])

    @property
    def tolerance(self) -> float:
        return _REALS[f"{self.code}{self.size}"][1]

    @property
    def stored(self) -> np.dtype[Any]:
        """How it lies in memory."""
        letter = {"h": "f", "z": "u", "b": "u"}.get(self.code, self.code)
        return np.dtype(f"{letter}{self.size}")

    def numbers(self, stored: NDArray[Any]) -> NDArray[Any]:
        """What lies in memory, as numbers: double precision, or integers."""
        if self.code == "z":
            return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        return stored.astype(np.float64) if self.is_real else stored

    def in_memory(self, numbers: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(over="ignore", invalid="ignore"):
            if self.code != "z":
                return numbers.astype(self.stored)
            words = numbers.astype(np.float32).view(np.uint32)
        rounded = (words + 0x7FFF + ((words >> 16) & 1)) >> 16
        return np.where(np.isnan(numbers), 0x7FC0, rounded).astype(np.uint16)


@dataclass(frozen=True)
class Argument:
    """A parameter; `kind`: a `p`ointer, one to `c`onstants, or a `v`alue."""

    name: str
    kind: str
    type: NumberType

    @property
    def is_array(self) -> bool:
        return self.kind != "v"

    def __str__(self) -> str:
        name = {"z": "bfloat16", "b": "bool"}.get(self.type.code, str(self.type.stored))
        return f"an array of {name}" if self.is_array else name


@dataclass(frozen=True)
class Side:
    """One side: a library for the emulated device, or a Python source with a `function`."""

    path: str
    function: str
    arguments: tuple[Argument, ...]

    @property
    def arrays(self) -> tuple[Argument, ...]:
        return tuple(one for one in self.arguments if one.is_array)


@dataclass(frozen=True)
class Extent:
    """The elements of an array, and its shape; its numbers lie between `limits`; None: any."""

    count: int
    shape: tuple[int, ...] = ()
    limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class TrialCall:
    """`values` of the parameters that are no arrays, `extents` of the arrays, in their order.

    `contents`: a kind of `measure.trial_contents`. `moved`: the number of a call whose real numbers
    are moved by their last bits; 0: they are not.
    """

    values: tuple[float, ...]
    block: Block
    extents: tuple[Extent, ...]
    contents: str
    seed: int
    moved: int = 0


@dataclass(frozen=True)
class AccessedBytes:
    """Bytes of global memory from `low` to before `high`, which an instruction reads or writes."""

    low: int
    high: int
    writes: bool


@dataclass(frozen=True)
class Ended:
    """How a call ended: an `error`, or the arrays that it has `changed`, by their place.

    `addresses` of the arrays. `work`: warp instructions. `is_last`: can nothing more be called in
    this process?
    """

    error: str = ""
    changed: Mapping[int, NDArray[Any]] = field(default_factory=dict)
    addresses: tuple[int, ...] = ()
    is_last: bool = False
    work: int = 0
    accesses: tuple[AccessedBytes, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def reason(self) -> str:
        """Why the call failed; empty: it did not."""
        said = [one.diagnostic().render().splitlines()[0] for one in self.findings if one.counts]
        return said[0] if said else self.error

    def touched(self, place: int, size: int, writes: bool = False) -> tuple[int, int] | None:
        """The bytes of an array of a `size` that are accessed, or written, from its beginning."""
        if place >= len(self.addresses):
            return None
        base = self.addresses[place]
        inside = [
            (one.low - base, one.high - base)
            for one in self.accesses
            if base <= one.low < one.high <= base + size and (one.writes or not writes)
        ]
        if not inside:
            return None
        return min(low for low, _ in inside), max(high for _, high in inside)
