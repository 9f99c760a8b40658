"""Calls of the replacements of NVIDIA's libraries, with arrays that are copied there and back."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutune.emulator.link import runtime_library
from cutune.toolchain.nvcc import find_nvcc

Array = NDArray[Any]
#: By the letter of BLAS; single precision differs in the last bits alone.
TYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}


class LibraryCalls:
    """Calls functions of one library: those whose names begin with `prefix`, with its handle."""

    def __init__(self, prefix: str, create: str = "") -> None:
        self.library = ctypes.CDLL(str(runtime_library(find_nvcc())))
        self.prefix = prefix
        self.handle: list[ctypes.c_void_p] = []
        if create:
            handle = ctypes.c_void_p()
            assert getattr(self.library, f"{prefix}{create}")(ctypes.byref(handle)) == 0
            self.handle = [handle]

    @contextmanager
    def sent(self, array: Array) -> Iterator[ctypes.c_void_p]:
        place, size = ctypes.c_void_p(), ctypes.c_size_t(array.nbytes)
        assert self.library.cudaMalloc(ctypes.byref(place), size) == 0
        self.library.cudaMemcpy(place, array.ctypes.data_as(ctypes.c_void_p), size, 1)
        yield place
        self.library.cudaMemcpy(array.ctypes.data_as(ctypes.c_void_p), place, size, 2)
        assert self.library.cudaFree(place) == 0

    @contextmanager
    def sent_together(self, arrays: list[Array]) -> Iterator[Array]:
        """Gives their addresses."""
        with ExitStack() as sent:
            places = [sent.enter_context(self.sent(one)).value for one in arrays]
            yield np.array(places, np.uint64)

    def call(self, name: str, *words: Any, status: int = 0) -> Any:
        """Call one. Arrays change; numpy's scalars stay on the host, and the last is given.

        Other words are integers, None, and what ctypes has.
        """
        kept = [np.array(word) for word in words if isinstance(word, np.generic)]
        scalars = iter([one.ctypes.data_as(ctypes.c_void_p) for one in kept])
        with ExitStack() as sent:

            def given(word: Any) -> object:
                if isinstance(word, np.ndarray):
                    return sent.enter_context(self.sent(word))
                if isinstance(word, np.generic):
                    return next(scalars)
                return ctypes.c_int(word) if isinstance(word, int) else word

            called = getattr(self.library, f"{self.prefix}{name}")
            assert called(*self.handle, *map(given, words)) == status
        return kept[-1][()] if kept else None


class Draw:
    """Arrays of one type, in the order of columns."""

    def __init__(self, letter: str) -> None:
        self.type: Any = TYPES[letter]
        self.letter = letter
        self._rng = np.random.default_rng(ord(letter))

    def __call__(self, *shape: int) -> Array:
        numbers = self._rng.uniform(-1, 1, shape)
        if self.letter in "cz":
            numbers = numbers + 1j * self._rng.uniform(-1, 1, shape)
        return np.asfortranarray(numbers.astype(self.type))

    def factor(self) -> Any:
        return self.type(0.5 - 0.25j if self.letter in "cz" else 0.5)

    def triangle(self, n: int) -> Array:
        """Of which systems can be solved."""
        return np.asfortranarray(self(n, n) + 3 * np.eye(n, dtype=self.type))

    def is_near(self, found: Any, wanted: Any) -> bool:
        return np.allclose(found, wanted, rtol=1e-4 if self.letter in "sc" else 1e-12, atol=1e-6)
