"""The replacement of cuSOLVER, and the factors of cuBLAS, do what numpy and LAPACK do."""

from __future__ import annotations

import ctypes
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.linalg import lu_factor

from tests.support.library_calls import TYPES, Array, Draw, LibraryCalls

pytestmark = pytest.mark.nvcc

N, COLUMNS = 6, 3
SHAPES = ((7, 4), (5, 5), (4, 1), (1, 1))
LOWER, UPPER = 0, 1
#: cudaDataType by the letter.
NUMBERS = {"s": 0, "d": 1, "c": 4, "z": 5}


@pytest.fixture(scope="module")
def device() -> LibraryCalls:
    return LibraryCalls("cusolverDn", "Create")


@pytest.fixture(scope="module")
def blas() -> LibraryCalls:
    return LibraryCalls("cublas", "Create_v2")


@pytest.fixture(params=TYPES)
def draw(request: pytest.FixtureRequest) -> Draw:
    return Draw(request.param)


def real(draw: Draw, *shape: int) -> Array:
    return np.zeros(shape, np.float32 if draw.letter in "sc" else np.float64)


def integers(count: int = 1) -> Array:
    return np.full(count, -1, np.int32)


def hermitian(draw: Draw, n: int) -> Array:
    """Positive definite."""
    a = draw(n, n)
    return np.asfortranarray(a @ a.conj().T + np.eye(n, dtype=a.dtype))


def is_near(found: Any, wanted: Any) -> bool:
    """By the size of what is wanted."""
    bound = 1e-4 if np.asarray(found).dtype in (np.float32, np.complex64) else 1e-11
    size = max(1.0, float(np.abs(wanted).max(initial=0)))
    return np.shape(found) == np.shape(wanted) and np.allclose(
        found, wanted, rtol=0, atol=bound * size
    )


def names(letter: str) -> tuple[str, str, str]:
    """How names begin: the letter, those of reflections, those of hermitian matrices."""
    a = letter.upper()
    return (a, f"{a}un", f"{a}he") if letter in "cz" else (a, f"{a}or", f"{a}sy")


def test_systems(device: LibraryCalls, draw: Draw) -> None:
    letter = names(draw.letter)[0]
    for operation in range(3):
        a, b = draw(N, N), draw(N, COLUMNS)
        wanted = np.linalg.solve((a, a.T, a.conj().T)[operation], b)
        factors, pivots = lu_factor(a)
        found, info = integers(N), integers()
        device.call(f"{letter}getrf", N, N, a, N, None, found, info)
        assert info == [0] and (found == pivots + 1).all() and is_near(a, factors)
        device.call(f"{letter}getrs", operation, N, COLUMNS, a, N, found, b, N, info)
        assert is_near(b, wanted)


def test_a_singular_matrix_is_told(device: LibraryCalls, draw: Draw) -> None:
    letter, info = names(draw.letter)[0], integers()
    a = np.asfortranarray(draw(4, 4) * [1, 1, 0, 1]).astype(draw.type, order="F")
    device.call(f"{letter}getrf", 4, 4, a, 4, None, integers(4), info)
    assert info == [3]
    a = np.asfortranarray(np.diag([1, 1, -1, 1]).astype(draw.type))
    device.call(f"{letter}potrf", LOWER, 4, a, 4, None, 0, info)
    assert info == [3]
    device.call(f"{letter}getrf", 4, 4, a, 3, None, None, info, status=3)


def test_positive_definite_matrices(device: LibraryCalls, draw: Draw) -> None:
    letter, info = names(draw.letter)[0], integers()
    for fill in (LOWER, UPPER):
        a, b = hermitian(draw, N), draw(N, COLUMNS)
        factor, inverse, wanted = np.linalg.cholesky(a), np.linalg.inv(a), np.linalg.solve(a, b)
        # What lies in the other triangle is neither read nor written.
        kept = np.tril if fill == LOWER else np.triu
        aside = 9 * (1 - kept(np.ones((N, N)))).astype(draw.type)
        given = np.asfortranarray(kept(a) + aside)
        device.call(f"{letter}potrf", fill, N, given, N, None, 0, info)
        assert info == [0]
        assert is_near(given, (factor if fill == LOWER else factor.conj().T) + aside)
        device.call(f"{letter}potrs", fill, N, COLUMNS, given, N, b, N, info)
        assert is_near(b, wanted)
        device.call(f"{letter}potri", fill, N, given, N, None, 0, info)
        assert is_near(given, kept(inverse) + aside)


def test_reflections(device: LibraryCalls, draw: Draw) -> None:
    letter, reflected, _ = names(draw.letter)
    for m, n in SHAPES:
        a, taus, info = draw(m, n), draw(n), integers()
        factors, wanted = np.linalg.qr(a, "raw")
        whole, r = np.linalg.qr(a, "complete")
        device.call(f"{letter}geqrf", m, n, a, m, taus, None, 0, info)
        assert info == [0] and is_near(a, factors.T) and is_near(taus, wanted)
        for side, conjugated in product((0, 1), (False, True)):
            c = draw(m, 2) if side == 0 else draw(2, m)
            q = whole.conj().T if conjugated else whole
            product_of_q = q @ c if side == 0 else c @ q
            operation = 0 if not conjugated else 2 if draw.letter in "cz" else 1
            words = (side, operation, *c.shape, n, a, m, taus, c, c.shape[0], None, 0, info)
            device.call(f"{reflected}mqr", *words)
            assert is_near(c, product_of_q)
        device.call(f"{reflected}gqr", m, n, n, a, m, taus, None, 0, info)
        assert is_near(a, whole[:, :n]) and is_near(a @ r[:n], whole @ r)


def test_eigenvalues(device: LibraryCalls, draw: Draw) -> None:
    _, _, symmetric = names(draw.letter)
    for fill, name in product((LOWER, UPPER), ("evd", "evj")):
        a = hermitian(draw, N) - 3 * np.eye(N, dtype=draw.type)
        given = np.asfortranarray((np.tril if fill == LOWER else np.triu)(a))
        values, info, told = real(draw, N), integers(), [None] * (name == "evj")
        device.call(f"{symmetric}{name}", 1, fill, N, given, N, values, None, 0, info, *told)
        assert info == [0] and is_near(values, np.linalg.eigvalsh(a))
        assert is_near(a @ given, given * values) and is_near(given.conj().T @ given, np.eye(N))
    many = np.stack([hermitian(draw, N) for _ in range(3)])
    given, values, info = np.ascontiguousarray(many.swapaxes(1, 2)), real(draw, 3, N), integers(3)
    words = (0, LOWER, N, given, N, values, None, 0, info, None, 3)
    device.call(f"{symmetric}evjBatched", *words)
    assert (info == 0).all() and is_near(values, np.linalg.eigvalsh(many))


def are_singular_vectors(a: Array, u: Array, values: Array, vt: Array) -> bool:
    k = len(values)
    return (
        is_near((u[:, :k] * values) @ vt[:k], a)
        and is_near(u.conj().T @ u, np.eye(u.shape[1]))
        and is_near(vt @ vt.conj().T, np.eye(vt.shape[0]))
        and is_near(values, np.linalg.svd(a, compute_uv=False))
    )


def test_singular_values(device: LibraryCalls, draw: Draw) -> None:
    letter = names(draw.letter)[0]
    for (m, n), is_deficient in product(SHAPES, (False, True)):
        a = draw(m, n)
        if is_deficient:
            a[:, -1] = a[:, 0] if n > 1 else 0
        for left, right in ("AA", "SA", "OA", "AO", "NN"):
            given, values, info = a.copy(order="F"), real(draw, n), integers()
            u, vt = np.asfortranarray(draw(m, m)), np.asfortranarray(draw(n, n))
            jobs = [ctypes.c_byte(ord(job)) for job in (left, right)]
            words = (*jobs, m, n, given, m, values, u, m, vt, n, None, 0, None, info)
            device.call(f"{letter}gesvd", *words)
            assert info == [0] and is_near(values, np.linalg.svd(a, compute_uv=False))
            if left + right != "NN":
                found_u = given if left == "O" else u[:, :n] if left == "S" else u
                found_vt = given[:n] if right == "O" else vt
                assert are_singular_vectors(a, found_u, values, found_vt), (m, n, left, right)


def test_singular_values_by_jacobi(device: LibraryCalls, draw: Draw) -> None:
    letter = names(draw.letter)[0]
    for (m, n), is_thin in product(((7, 4), (3, 6)), (False, True)):
        a, k = draw(m, n), min(m, n)
        values, info = real(draw, k), integers()
        u, v = draw(m, k if is_thin else m), draw(n, k if is_thin else n)
        given = a.copy(order="F")
        words = (1, int(is_thin), m, n, given, m, values, u, m, v, n, None, 0, info, None)
        device.call(f"{letter}gesvdj", *words)
        assert info == [0] and are_singular_vectors(a, u, values, v.conj().T)
    many = [draw(5, 4) for _ in range(2)]
    given, values, info = np.stack([a.T for a in many]), real(draw, 2, 4), integers(2)
    u, v = np.zeros((2, 5, 5), draw.type), np.zeros((2, 4, 4), draw.type)
    batch = (1, 5, 4, given, 5, values, u, 5, v, 4, None, 0, info, None, 2)
    device.call(f"{letter}gesvdjBatched", *batch)
    for k, a in enumerate(many):
        assert are_singular_vectors(a, u[k].T, values[k], v[k].conj())


def test_types_by_number(device: LibraryCalls, draw: Draw) -> None:
    """The interface that has one function for all types, with integers of 64 bits."""
    number, wide = NUMBERS[draw.letter], ctypes.c_int64
    real_number = number % 4
    no_space = (None, ctypes.c_size_t(), None, ctypes.c_size_t())
    n, columns, info = wide(N), wide(COLUMNS), integers()
    a, b = draw(N, N), draw(N, COLUMNS)
    wanted, pivots = np.linalg.solve(a, b), np.zeros(N, np.int64)
    device.call("Xgetrf", None, n, n, number, a, n, pivots, number, *no_space, info)
    device.call("Xgetrs", None, 0, n, columns, number, a, n, pivots, number, b, n, info)
    assert info == [0] and is_near(b, wanted)
    a = hermitian(draw, N)
    values, w = np.linalg.eigvalsh(a), real(draw, N)
    words = (1, LOWER, n, number, a, n, real_number, w, number, *no_space, info)
    device.call("Xsyevd", None, *words)
    assert info == [0] and is_near(w, values)
    device.call("Xgetrf", None, n, n, 2, a, n, None, 2, *no_space, info, status=9)


def test_factors_of_batches(blas: LibraryCalls, device: LibraryCalls, draw: Draw) -> None:
    letter, info = names(draw.letter)[0], integers(2)
    many, right = [draw.triangle(N) for _ in range(2)], [draw(N, COLUMNS) for _ in range(2)]
    a, b, c, pivots = (
        [m.copy("F") for m in many],
        right,
        [draw(N, N) for _ in many],
        integers(2 * N),
    )
    wanted = [np.linalg.solve(*one) for one in zip(many, right, strict=True)]
    with blas.sent_together(a) as of_a, blas.sent_together(b) as of_b:
        with blas.sent_together(c) as of_c:
            blas.call(f"{letter}getrfBatched", N, of_a, N, pivots, info, 2)
            assert (info == 0).all()
            blas.call(f"{letter}getriBatched", N, of_a, N, pivots, of_c, N, info, 2)
        words = (0, N, COLUMNS, of_a, N, pivots, of_b, N, np.int32(7), 2)
        assert blas.call(f"{letter}getrsBatched", *words) == 0
    assert all(map(is_near, b, wanted)) and all(map(is_near, c, map(np.linalg.inv, many)))
    many = [hermitian(draw, N) for _ in range(2)]
    a, b = [m.copy("F") for m in many], [draw(N, 1) for _ in many]
    wanted = [np.linalg.solve(*one) for one in zip(many, b, strict=True)]
    with device.sent_together(a) as of_a, device.sent_together(b) as of_b:
        device.call(f"{letter}potrfBatched", LOWER, N, of_a, N, info, 2)
        device.call(f"{letter}potrsBatched", LOWER, N, 1, of_a, N, of_b, N, info, 2)
    assert all(map(is_near, b, wanted))


def test_singular_matrices_of_batches(blas: LibraryCalls, draw: Draw) -> None:
    """The second factor has a zero in its diagonal: it is told which, and nothing is written."""
    letter, info, pivots = names(draw.letter)[0], integers(2), integers(2 * N)
    regular = draw.triangle(N)
    singular = regular.copy("F")
    singular[:, 1] = singular[1, :] = 0
    a, c = [regular.copy("F"), singular], [draw(N, N) for _ in range(2)]
    before = c[1].copy()
    with blas.sent_together(a) as of_a, blas.sent_together(c) as of_c:
        blas.call(f"{letter}getrfBatched", N, of_a, N, pivots, info, 2)
        factored = info.copy()
        info[:] = -1
        blas.call(f"{letter}getriBatched", N, of_a, N, pivots, of_c, N, info, 2)
    assert factored[0] == info[0] == 0 and factored[1] == info[1] > 0
    assert is_near(c[0], np.linalg.inv(regular)) and (c[1] == before).all()
    a, c = [regular.copy("F"), singular.copy("F")], [draw(N, N) for _ in range(2)]
    a[1][:, 1] = a[1][1, :] = 0
    with blas.sent_together(a) as of_a, blas.sent_together(c) as of_c:
        blas.call(f"{letter}matinvBatched", N, of_a, N, of_c, N, info, 2)
    assert info[0] == 0 and info[1] > 0 and is_near(c[0], np.linalg.inv(regular))


def test_triangles_and_reflections_of_batches(blas: LibraryCalls, draw: Draw) -> None:
    letter, alpha = names(draw.letter)[0], draw.factor()
    many, right = [draw.triangle(N) for _ in range(2)], [draw(N, COLUMNS) for _ in range(2)]
    wanted = [alpha * np.linalg.solve(np.tril(a), b) for a, b in zip(many, right, strict=True)]
    with blas.sent_together(many) as of_a, blas.sent_together(right) as of_b:
        words = (0, LOWER, 0, 0, N, COLUMNS, alpha, of_a, N, of_b, N, 2)
        blas.call(f"{letter}trsmBatched", *words)
    assert all(map(is_near, right, wanted))
    factors = [np.linalg.qr(a, "raw")[0].T for a in many]
    taus = [draw(N) for _ in many]
    with blas.sent_together(many) as of_a, blas.sent_together(taus) as of_taus:
        blas.call(f"{letter}geqrfBatched", N, N, of_a, N, of_taus, np.int32(7), 2)
    assert all(map(is_near, many, factors))
