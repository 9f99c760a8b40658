"""The replacement of cuBLAS does what BLAS does, with every operation, side, triangle and step."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from scipy.linalg import blas

from tests.support.library_calls import TYPES, Array, Draw, LibraryCalls

pytestmark = pytest.mark.nvcc

M, N, K = 5, 4, 3
OPERATIONS = range(3)


@pytest.fixture(scope="module")
def device() -> LibraryCalls:
    return LibraryCalls("cublas", "Create_v2")


@pytest.fixture(params=TYPES)
def draw(request: pytest.FixtureRequest) -> Draw:
    return Draw(request.param)


def reference(draw: Draw, name: str) -> Callable[..., Array]:
    found: Callable[..., Array] = getattr(blas, f"{draw.letter}{name}")
    return found


def under(operation: int, a: Array) -> Array:
    return (a, a.T, a.conj().T)[operation]


def test_products(device: LibraryCalls, draw: Draw) -> None:
    for of_a, of_b in product(OPERATIONS, repeat=2):
        a = draw(*((M, K) if of_a == 0 else (K, M)))
        b = draw(*((K, N) if of_b == 0 else (N, K)))
        c, alpha, beta = draw(M, N), draw.factor(), draw.type(2)
        wanted = alpha * under(of_a, a) @ under(of_b, b) + beta * c
        name = f"{draw.letter.upper()}gemm_v2"
        sizes = (M, N, K, alpha, a, a.shape[0], b, b.shape[0], beta, c, M)
        device.call(name, of_a, of_b, *sizes)
        assert draw.is_near(c, wanted), (of_a, of_b)


def test_matrices_and_vectors(device: LibraryCalls, draw: Draw) -> None:
    for operation, step, other in product(OPERATIONS, (1, 2, -2), (1, -1, 3)):
        a, alpha, beta = draw(M, N), draw.factor(), draw.type(2)
        rows, columns = (M, N) if operation == 0 else (N, M)
        x, y = draw(1 + (columns - 1) * abs(step)), draw(1 + (rows - 1) * abs(other))
        wanted = y.copy()
        place = slice(None, None, other)
        wanted[place] = alpha * under(operation, a) @ x[::step] + beta * y[place]
        name = f"{draw.letter.upper()}gemv_v2"
        device.call(name, operation, M, N, alpha, a, M, x, step, beta, y, other)
        assert draw.is_near(y, wanted), (operation, step, other)


def test_symmetric_matrices(device: LibraryCalls, draw: Draw) -> None:
    names = ("sy", "he") if draw.letter in "cz" else ("sy",)
    for name, is_upper, is_right in product(names, (0, 1), (0, 1)):
        size = N if is_right else M
        a, b, c, alpha, beta = draw(size, size), draw(M, N), draw(M, N), draw.factor(), draw.type(2)
        wanted = reference(draw, f"{name}mm")(
            alpha, a, b, beta=beta, c=c, side=is_right, lower=1 - is_upper
        )
        called = f"{draw.letter.upper()}{name}m"
        device.call(f"{called}m_v2", is_right, is_upper, M, N, alpha, a, size, b, M, beta, c, M)
        assert draw.is_near(c, wanted)
        x, y = draw(size), draw(size)
        square = reference(draw, f"{name}mm")(1, a, np.eye(size), lower=1 - is_upper)
        wanted = alpha * square @ x + beta * y
        device.call(f"{called}v_v2", is_upper, size, alpha, a, size, x, 1, beta, y, 1)
        assert draw.is_near(y, wanted)


def test_triangles(device: LibraryCalls, draw: Draw) -> None:
    for is_right, is_upper, operation, has_ones in product((0, 1), (0, 1), OPERATIONS, (0, 1)):
        size = N if is_right else M
        a, b, alpha = draw.triangle(size), draw(M, N), draw.factor()
        named = {"side": is_right, "lower": 1 - is_upper, "trans_a": operation, "diag": has_ones}
        words = (is_right, is_upper, operation, has_ones, M, N, alpha, a, size)
        wanted, c = reference(draw, "trmm")(alpha, a, b, **named), draw(M, N)
        device.call(f"{draw.letter.upper()}trmm_v2", *words, b, M, c, M)
        assert draw.is_near(c, wanted), words[:4]
        wanted = reference(draw, "trsm")(alpha, a, b, **named)
        device.call(f"{draw.letter.upper()}trsm_v2", *words, b, M)
        assert draw.is_near(b, wanted), words[:4]
        x = draw(size)
        of_vector = {"lower": 1 - is_upper, "trans": operation, "diag": has_ones}
        wanted = reference(draw, "trsv")(a, x, **of_vector)
        device.call(f"{draw.letter.upper()}trsv_v2", *words[1:4], size, a, size, x, 1)
        assert draw.is_near(x, wanted), words[:4]


def test_products_with_the_transpose(device: LibraryCalls, draw: Draw) -> None:
    for is_upper, operation in product((0, 1), (0, 1)):
        a, b = (draw(*((N, K) if operation == 0 else (K, N))) for _ in range(2))
        c, d, alpha, beta = draw(N, N), draw(N, N), draw.factor(), draw.type(2)
        named = {"beta": beta, "trans": operation, "lower": 1 - is_upper}
        words = (is_upper, operation, N, K, alpha, a, a.shape[0])
        kept = np.triu(np.ones((N, N)), 0) if is_upper else np.tril(np.ones((N, N)), 0)
        wanted = np.where(kept, reference(draw, "syrk")(alpha, a, c=c, **named), c)
        device.call(f"{draw.letter.upper()}syrk_v2", *words, beta, c, N)
        assert draw.is_near(c, wanted)
        wanted = np.where(kept, reference(draw, "syr2k")(alpha, a, b, c=d, **named), d)
        device.call(f"{draw.letter.upper()}syr2k_v2", *words, b, b.shape[0], beta, d, N)
        assert draw.is_near(d, wanted)


def test_outer_products_sums_and_diagonals(device: LibraryCalls, draw: Draw) -> None:
    letter, alpha, beta = draw.letter.upper(), draw.factor(), draw.type(2)
    x, y = draw(M), draw(N)
    kinds = {"geru": y, "gerc": y.conj()} if draw.letter in "cz" else {"ger": y}
    for name, other in kinds.items():
        a = draw(M, N)
        wanted = a + alpha * np.outer(x, other)
        device.call(f"{letter}{name}_v2", M, N, alpha, x, 1, y, 1, a, M)
        assert draw.is_near(a, wanted)
    for of_a, of_b in product(OPERATIONS, repeat=2):
        a, b = (draw(*((M, N) if one == 0 else (N, M))) for one in (of_a, of_b))
        c = draw(M, N)
        wanted = alpha * under(of_a, a) + beta * under(of_b, b)
        words = (alpha, a, a.shape[0], beta, b, b.shape[0], c, M)
        device.call(f"{letter}geam", of_a, of_b, M, N, *words)
        assert draw.is_near(c, wanted)
    for is_right, diagonal in ((0, x), (1, y)):
        a, c = draw(M, N), draw(M, N)
        wanted = a * diagonal if is_right else diagonal[:, None] * a
        device.call(f"{letter}dgmm", is_right, M, N, a, M, diagonal, 1, c, M)
        assert draw.is_near(c, wanted)


def test_vectors(device: LibraryCalls, draw: Draw) -> None:
    letter, alpha = draw.letter.upper(), draw.factor()
    real = {"C": "Sc", "Z": "Dz"}.get(letter, letter)
    for step, other in product((1, 2, -3), (1, -1, 2)):
        x, y = draw(1 + (N - 1) * abs(step)), draw(1 + (N - 1) * abs(other))
        first, second = x[::step].copy(), y[::other].copy()
        for name in ("dotu", "dotc") if draw.letter in "cz" else ("dot",):
            found = device.call(f"{letter}{name}_v2", N, x, step, y, other, draw.type(0))
            assert draw.is_near(found, (first.conj() if name == "dotc" else first) @ second)
        device.call(f"{letter}axpy_v2", N, alpha, x, step, y, other)
        assert draw.is_near(y[::other], second + alpha * first)
        device.call(f"{letter}swap_v2", N, x, step, y, other)
        assert draw.is_near(x[::step], second + alpha * first)
        assert draw.is_near(y[::other], first)
        device.call(f"{letter}copy_v2", N, x, step, y, other)
        assert draw.is_near(y[::other], x[::step])
    x = draw(7)
    sizes, kind = np.abs(x.real) + np.abs(x.imag), draw.type(0).real.dtype.type
    assert draw.is_near(device.call(f"{real}nrm2_v2", 7, x, 1, kind(0)), np.linalg.norm(x))
    assert draw.is_near(device.call(f"{real}asum_v2", 7, x, 1, kind(0)), sizes.sum())
    assert device.call(f"I{draw.letter}amax_v2", 7, x, 1, np.int32(0)) == 1 + sizes.argmax()
    assert device.call(f"I{draw.letter}amin_v2", 7, x, 1, np.int32(0)) == 1 + sizes.argmin()


def test_batches(device: LibraryCalls, draw: Draw) -> None:
    letter, alpha, beta = draw.letter.upper(), draw.factor(), draw.type(2)
    left, right, sums = ([draw(*shape) for _ in range(2)] for shape in ((M, K), (K, N), (M, N)))
    wanted = [alpha * a @ b + beta * c for a, b, c in zip(left, right, sums, strict=True)]
    with (
        device.sent_together(left) as a,
        device.sent_together(right) as b,
        device.sent_together(sums) as c,
    ):
        device.call(f"{letter}gemmBatched", 0, 0, M, N, K, alpha, a, M, b, K, beta, c, M, 2)
    assert all(map(draw.is_near, sums, wanted))
