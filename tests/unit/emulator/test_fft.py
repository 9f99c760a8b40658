"""The replacement of cuFFT does what scipy does, of any length, layout, direction and precision."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import fft

from tests.support.library_calls import Array, LibraryCalls

pytestmark = pytest.mark.nvcc

FORWARD, INVERSE = -1, 1
#: By the letters of cuFFT: the number of the type, and what goes in and comes out.
TYPES: dict[str, tuple[int, Any, Any]] = {
    "C2C": (0x29, np.complex64, np.complex64),
    "R2C": (0x2A, np.float32, np.complex64),
    "C2R": (0x2C, np.complex64, np.float32),
    "Z2Z": (0x69, np.complex128, np.complex128),
    "D2Z": (0x6A, np.float64, np.complex128),
    "Z2D": (0x6C, np.complex128, np.float64),
}
#: A power of two, small primes, a square of a prime, large primes and what has them as factors.
LENGTHS = (1, 2, 8, 60, 43 * 3, 49, 97, 1021, 3 * 101, 47 * 53)


class Transforms(LibraryCalls):
    """Plans, and what they make of arrays."""

    def __init__(self) -> None:
        super().__init__("cufft")

    def made(self, name: str, *words: Any) -> ctypes.c_int:
        """A plan by `cufft<name>`; tuples are arrays of integers, None is null."""
        plan = ctypes.c_int()
        given = [(ctypes.c_int * len(w))(*w) if isinstance(w, tuple) else w for w in words]
        assert getattr(self.library, f"cufft{name}")(ctypes.byref(plan), *given) == 0
        return plan

    def execute(self, letters: str, plan: ctypes.c_int, given: Array, to: Array, *sign: int) -> int:
        """Transform the first array to the other one, or in place where they are the same."""
        with self.sent(given) as source, self.sent(to) as target:
            place = source if given is to else target
            called = getattr(self.library, f"cufftExec{letters}")
            result: int = called(plan, source, place, *sign)
            if given is to:  # what is copied back last stays
                size = ctypes.c_size_t(to.nbytes)
                self.library.cudaMemcpy(target, source, size, 3)
        return result

    def transformed(
        self, letters: str, plan: ctypes.c_int, given: Array, shape: Sequence[int], *sign: int
    ) -> Array:
        """What comes out, of such a shape; the plan is destroyed."""
        found = np.zeros(shape, TYPES[letters][2])
        assert self.execute(letters, plan, given, found, *sign) == 0
        assert self.library.cufftDestroy(plan) == 0
        return found


@pytest.fixture(scope="module")
def device() -> Transforms:
    return Transforms()


def drawn(kind: Any, *shape: int) -> Array:
    rng = np.random.default_rng(len(shape) + sum(shape))
    numbers = rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape)
    found: Array = numbers.astype(kind) if np.issubdtype(kind, np.complexfloating) else numbers.real
    return np.ascontiguousarray(found, kind)


def is_near(found: Array, wanted: Array) -> bool:
    bound = 1e-5 if found.dtype in (np.float32, np.complex64) else 1e-12
    return bool(np.abs(found - wanted).max() <= bound * max(1.0, float(np.abs(wanted).max())))


def expected(letters: str, given: Array, axes: Sequence[int], last: int, *sign: int) -> Array:
    """By scipy; an inverse is not divided by the number of elements."""
    # In double precision, from what the device gets.
    wide = given.astype(np.complex128 if np.iscomplexobj(given) else np.float64)
    found: Array
    if letters in ("R2C", "D2Z"):
        found = fft.rfftn(wide.real, axes=axes)
    elif letters in ("C2R", "Z2D"):
        shape = [*(given.shape[a] for a in axes[:-1]), last]
        found = fft.irfftn(wide, shape, axes=axes, norm="forward")
    elif sign == (FORWARD,):
        found = fft.fftn(wide, axes=axes)
    else:
        found = fft.ifftn(wide, axes=axes, norm="forward")
    return found


def signs(letters: str) -> tuple[tuple[int, ...], ...]:
    return ((FORWARD,), (INVERSE,)) if letters in ("C2C", "Z2Z") else ((),)


def shapes(letters: str, *shape: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of what goes in and of what comes out."""
    short = (*shape[:-1], shape[-1] // 2 + 1)
    return (
        short if letters in ("C2R", "Z2D") else shape,
        short if letters in ("R2C", "D2Z") else shape,
    )


@pytest.mark.parametrize("letters", TYPES)
def test_lengths_and_batches(device: Transforms, letters: str) -> None:
    number, kind, _ = TYPES[letters]
    for n, sign in product(LENGTHS, signs(letters)):
        before, after = shapes(letters, 3, n)
        given = drawn(kind, *before)
        plan = device.made("Plan1d", n, number, 3)
        found = device.transformed(letters, plan, given, after, *sign)
        assert is_near(found, expected(letters, given, (1,), n, *sign)), (n, sign)


@pytest.mark.parametrize("letters", TYPES)
def test_several_dimensions(device: Transforms, letters: str) -> None:
    number, kind, _ = TYPES[letters]
    for sizes in ((6, 5), (4, 7, 10)):
        before, after = shapes(letters, *sizes)
        for sign in signs(letters):
            given = drawn(kind, *before)
            plan = device.made(f"Plan{len(sizes)}d", *sizes, number)
            found = device.transformed(letters, plan, given, after, *sign)
            axes = range(len(sizes))
            assert is_near(found, expected(letters, given, axes, sizes[-1], *sign))


@pytest.mark.parametrize("letters", TYPES)
def test_layouts(device: Transforms, letters: str) -> None:
    """Transforms side by side, element by element, within arrays that are larger."""
    number, kind, result = TYPES[letters]
    (_, of_in), (_, of_out) = shapes(letters, 4, 6)
    for sign in signs(letters):
        given = drawn(kind, 4, of_in + 2, 3)
        to = drawn(result, 4, of_out + 1, 3)
        kept = to.copy()
        words = (2, (4, 6), (4, of_in + 2), 3, 1, (4, of_out + 1), 3, 1, number, 3)
        plan = device.made("PlanMany", *words)
        assert device.execute(letters, plan, given, to, *sign) == 0
        wanted = expected(letters, given[:, :of_in], (0, 1), 6, *sign)
        assert is_near(to[:, :of_out], wanted)
        assert np.array_equal(to[:, of_out:], kept[:, of_out:])


@pytest.mark.parametrize("letters", TYPES)
def test_in_place(device: Transforms, letters: str) -> None:
    """Rows of real numbers have room for the complex ones."""
    number, kind, result = TYPES[letters]
    for n, axes, sign in product((6, 7), ((1,), (0, 1)), signs(letters)):
        (_, of_in), (_, of_out) = shapes(letters, 3, n)
        rows = drawn(np.result_type(kind, result), 3, n if of_in == of_out else n // 2 + 1)
        given = rows.view(kind)[:, :of_in].copy()
        name, words = ("Plan1d", (n, number, 3)) if axes == (1,) else ("Plan2d", (3, n, number))
        plan = device.made(name, *words)
        assert device.execute(letters, plan, rows, rows, *sign) == 0
        found = rows.view(result)[:, :of_out]
        assert is_near(found, expected(letters, given, axes, n, *sign)), (n, axes)


def test_types_by_number(device: Transforms) -> None:
    """The interface that CuPy uses, also of halves."""
    library, single = device.library, ctypes.c_longlong
    for real, complex_type, bound in ((0, 4, 1e-5), (1, 5, 1e-12), (2, 6, 1e-2)):
        kind = {0: np.float32, 1: np.float64, 2: np.float16}[real]
        given = drawn(np.float64, 2, 16, 2).astype(kind)
        for input_type, is_inverse in product((real, complex_type), (0, 1)):
            if input_type == real and is_inverse:
                continue
            plan, size = ctypes.c_int(), ctypes.c_size_t()
            assert library.cufftCreate(ctypes.byref(plan)) == 0
            words = (1, (single * 1)(16), None, single(1), single(0), input_type)
            others = (None, single(1), single(0), complex_type, single(2), ctypes.byref(size))
            assert library.cufftXtMakePlanMany(plan, *words, *others, complex_type) == 0
            whole = given.astype(np.float64)
            numbers = whole[..., 0] + 1j * whole[..., 1]
            sent = given if input_type == complex_type else given[..., 0].copy()
            count = 16 if input_type == complex_type else 9
            to = np.zeros((2, count, 2), kind)
            with device.sent(sent) as source, device.sent(to) as target:
                sign = INVERSE if is_inverse else FORWARD
                assert library.cufftXtExec(plan, source, target, sign) == 0
            found = to[..., 0].astype(np.float64) + 1j * to[..., 1]
            if input_type == real:
                wanted = fft.rfft(numbers.real)
            else:
                wanted = fft.ifft(numbers, norm="forward") if is_inverse else fft.fft(numbers)
            assert np.abs(found - wanted).max() <= bound * np.abs(wanted).max()


def test_errors_of_cufft(device: Transforms) -> None:
    library, plan, size = device.library, ctypes.c_int(), ctypes.c_size_t(1)
    c2c = TYPES["C2C"][0]
    assert library.cufftPlan1d(ctypes.byref(plan), 0, c2c, 1) == 8
    assert library.cufftPlan1d(ctypes.byref(plan), 8, 5, 1) == 3
    assert library.cufftDestroy(12345) == library.cufftSetStream(12345, None) == 1
    assert library.cufftCreate(ctypes.byref(plan)) == 0
    given = drawn(np.complex64, 8)
    assert device.execute("C2C", plan, given, given, FORWARD) == 1  # it is not made
    assert library.cufftMakePlan1d(plan, 8, c2c, 1, ctypes.byref(size)) == size.value == 0
    assert library.cufftMakePlan1d(plan, 8, c2c, 1, ctypes.byref(size)) == 1
    assert device.execute("Z2Z", plan, given, given, FORWARD) == 1
    assert device.execute("C2C", plan, given, given, 0) == 4
    assert library.cufftExecC2C(plan, ctypes.c_void_p(8), ctypes.c_void_p(8), FORWARD) == 6
