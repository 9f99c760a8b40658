"""Contents of memory, and real arguments, for trials; and whether two contents are equal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutune.emulator.machine import LoadedModule
from cutune.ptx.types import Function, Module

#: Bits of a word that stay as they are drawn, and those that are set: as `float` from 0.5 to 2, as
#: two `half` numbers from 1 to 2, as a `double` near 1.
_RANDOM, _SET = 0x80FF83FF, 0x3F003C00
#: Odd ones are among them: products of the others vanish where they are integers.
_FEW = np.array([0, 1 << 31, 0x3F800000, 0xBF800000, 0x40000000, 1, 3], np.uint32)
_STRANGE = np.array(
    [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7FFFFFFF, 0xFFFFFFFF], np.uint32
)
#: A symbol, in an operand or in what a variable holds at first.
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
#: Spaces of variables that stay behind a launch.
_KEPT = frozenset({"global", "const"})
#: Words after which contents repeat themselves: a prime number, unlike the lengths of rows.
_PERIOD = 65_537
#: Contents of a launch that are kept have no more bytes.
_MOST_KEPT = 1 << 20


@dataclass(frozen=True)
class TrialContents:
    """Contents of memory for launches of a kernel and of its copies, which are drawn once.

    `named`: words that the code names.
    """

    named: NDArray[np.uint32]
    _known: dict[object, list[NDArray[np.uint8]]] = field(default_factory=dict)

    def of(self, seed: Sequence[int], sizes: Sequence[int], kind: int) -> list[NDArray[np.uint8]]:
        """Return bytes for pieces of memory of these sizes, to be read only.

        `kind`: numbers at random (0, 3), few different ones (1), or some that are special (2).
        """
        key = *seed, None, *sizes, kind
        if (known := self._known.get(key)) is not None:
            return known
        random = np.random.default_rng(seed)
        drawn = [_drawn(random, size, kind, self.named) for size in sizes]
        if sum(sizes) <= _MOST_KEPT:
            self._known[key] = drawn
        return drawn


class LaunchVariables:
    """Variables of a module that the host may have set, or that a launch may leave otherwise.

    `functions`: those that are launched, and what they call. What none of them names is left out:
    headers of libraries bring dozens of variables.
    """

    def __init__(self, module: Module, loaded: LoadedModule, functions: Iterable[Function]) -> None:
        named = {name for one in functions for text in one.operands for name in _NAME.findall(text)}
        texts = {one.name: {*_NAME.findall(one.initial)} for one in module.variables}
        while more := {n for name in named & texts.keys() for n in texts[name]} - named:
            named |= more
        each = ((one, loaded.variable(one.name)) for one in module.variables if one.name in named)
        kept = [(v, there) for v, there in each if v.space in _KEPT and there is not None]
        self._known = [(there, there.copy() if v.initial else None) for v, there in kept]

    def all(self) -> list[NDArray[np.uint8]]:
        return [there for there, _ in self._known]

    def drawn(self, kind: int) -> list[NDArray[np.uint8]]:
        """Give variables their initial values, if contents are of kind 0; return all others."""
        if kind:
            return self.all()
        for there, initial in self._known:
            if initial is not None:
                there[:] = initial
        return [there for there, initial in self._known if initial is None]


def _drawn(
    random: np.random.Generator, size: int, kind: int, named: NDArray[np.uint32]
) -> NDArray[np.uint8]:
    count = min(-(-size // 4), _PERIOD)
    words = random.integers(0, 1 << 32, count, np.uint32) & np.uint32(_RANDOM) | np.uint32(_SET)
    if kind == 1:
        words = random.choice(_FEW, count)
        if len(named):
            words = np.where(random.random(count) < 1 / 2, random.choice(named, count), words)
    elif kind == 2:
        words = np.where(random.random(count) < 1 / 16, random.choice(_STRANGE, count), words)
        any_bits = random.integers(0, 1 << 32, count, np.uint32)
        words = np.where(random.random(count) < 1 / 4, any_bits, words)
    return np.resize(words.astype(np.uint32), -(-size // 4)).view(np.uint8)[:size]


def near_numbers(
    integers: Iterable[int], reals: Iterable[int]
) -> tuple[set[int], NDArray[np.uint32]]:
    """Return numbers beside integers, and words beside these and the bits of `float` numbers."""
    near = {one + step for one in integers for step in (-1, 0, 1)}
    bits = {one ^ sign for one in reals for sign in (0, 1 << 31)}
    words = {word & 0xFFFFFFFF for one in (*near, *bits) for word in (one - 1, one, one + 1)}
    return near, np.array(sorted(words), np.uint32)


def of_each_outcome(numbers: frozenset[float], other: float) -> list[float]:
    """Return values for each outcome of comparisons with numbers, `other` first.

    NaN among the numbers: it is asked what is larger, not only what is equal.
    """
    limits = sorted(one for one in numbers if not isnan(one))
    if len(limits) == len(numbers):
        return [other, *limits]
    ends = [min(2 * one, -1) - 1.0 for one in limits[:1]]
    ends += [*limits, *(max(2 * one, 1) + 1.0 for one in limits[-1:])]
    between = ((low + high) / 2 for low, high in pairwise(ends) if not low < other < high)
    return [other, nan, *limits, *between]


def same_numbers(found: Sequence[bytes], expected: Sequence[bytes], places: Sequence[int]) -> bool:
    """Are bytes of memory equal, or `double` numbers NaN in both?

    Which of two NaN a sum is depends on their order in the code. `places`: where in the first of
    these pieces pointers lead to.
    """
    return all(
        one == other or _are_numbers_same(one, other, place % 8)
        for one, other, place in zip(found, expected, [*places, *[0] * len(found)], strict=False)
    )


def _are_numbers_same(one: bytes, other: bytes, begin: int) -> bool:
    end = begin + (len(one) - begin) // 8 * 8
    numbers = [np.frombuffer(each[begin:end], np.float64) for each in (one, other)]
    are_nans = np.isnan(numbers[0]) & np.isnan(numbers[1])
    words = [number.view(np.uint64) for number in numbers]
    rest = one[:begin] == other[:begin] and one[end:] == other[end:]
    return rest and bool(np.all(are_nans | (words[0] == words[1])))


#: Kinds of numbers on which two functions are compared. `one changed`: as random ones, but for one.
CONTENTS = ("random", "one changed", "positive", "few", "wide", "zeros")
SPECIAL = "special"
_EQUAL = {"zeros": 0, "ones": 1}


def typed_contents(
    random: np.random.Generator, count: int, kind: str, letter: str, size: int
) -> NDArray[Any]:
    """Return numbers of a kind for a type: its letter (f, h, z, i, u or b), and its bytes."""
    is_whole, is_wide = letter in "iub", kind == "wide"
    if kind in _EQUAL:
        numbers = np.full(count, _EQUAL[kind])
    elif kind == "few":
        numbers = random.choice([-1, 0, 1, 2], count)
    elif kind == "positive":
        numbers = random.integers(0, 10, count) if is_whole else random.random(count)
    elif is_whole:
        limit = 1 << (8 * size - 1) if is_wide else 100
        numbers = random.integers(-limit, limit - 1, count, endpoint=True)
    else:
        exponents = random.uniform(-1, 1, count) * ((3 if size == 2 else 7) if is_wide else 1)
        numbers = random.choice([-1.0, 1.0], count) * 2.0**exponents
    if kind == SPECIAL and count and not is_whole:
        places = random.integers(0, count, 1 + count // 64)
        numbers[places] = random.choice([np.inf, -np.inf, np.nan], len(places))
    if kind == "one changed" and count:
        numbers[random.integers(count)] += 1
    if letter == "b":
        return numbers % 2
    return np.abs(numbers) if letter == "u" and not is_wide else numbers
