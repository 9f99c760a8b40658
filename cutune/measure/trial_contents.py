"""Contents of memory for trials. Takes a size and a kind, gives bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Bits of a word that stay as they are drawn, and those that are set: as `float` from 0.5 to 2, as
#: two `half` numbers from 1 to 2, as a `double` near 1.
_RANDOM, _SET = 0x80FF83FF, 0x3F003C00
_FEW = np.array([0, 1 << 31, 0x3F800000, 0xBF800000, 0x40000000], np.uint32)
_STRANGE = np.array(
    [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7FFFFFFF, 0xFFFFFFFF], np.uint32
)


def trial_contents(
    random: np.random.Generator, size: int, kind: int, named: NDArray[np.uint32]
) -> NDArray[np.uint8]:
    """Return numbers at random (0), few different ones (1), or some that are special (2).

    `named`: words that the code names.
    """
    count = -(-size // 4)
    words = random.integers(0, 1 << 32, count, np.uint32) & np.uint32(_RANDOM) | np.uint32(_SET)
    if kind == 1:
        words = random.choice(_FEW, count)
        if len(named):
            words = np.where(random.random(count) < 1 / 2, random.choice(named, count), words)
    elif kind:
        words = np.where(random.random(count) < 1 / 16, random.choice(_STRANGE, count), words)
        any_bits = random.integers(0, 1 << 32, count, np.uint32)
        words = np.where(random.random(count) < 1 / 4, any_bits, words)
    return words.astype(np.uint32).view(np.uint8)[:size]
