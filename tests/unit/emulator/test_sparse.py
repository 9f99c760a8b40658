"""The replacement of cuSPARSE does what scipy does, of each format, type, operation and base."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.support.library_calls import TYPES, Array, Draw, LibraryCalls

pytestmark = pytest.mark.nvcc

M, N, COLUMNS = 7, 5, 3
#: cudaDataType by the letter, cusparseIndexType_t by the bits, cusparseOrder_t by numpy's.
NUMBERS, INDICES, ORDERS = {"s": 0, "d": 1, "c": 4, "z": 5}, {4: 2, 8: 3}, {"F": 1, "C": 2}
FORMATS = ("csr", "csc", "coo")


class Sparse(LibraryCalls):
    """Descriptions of matrices, with the arrays that they describe."""

    def __init__(self) -> None:
        super().__init__("cusparse", "Create")

    @contextmanager
    def described(self, kind: str, *words: Any) -> Iterator[ctypes.c_void_p]:
        """By `cusparseCreate<kind>`; arrays are copied back at the end."""
        found = ctypes.c_void_p()
        with ExitStack() as sent:
            given = [
                sent.enter_context(self.sent(w)) if isinstance(w, np.ndarray) else w for w in words
            ]
            assert getattr(self.library, f"cusparseCreate{kind}")(ctypes.byref(found), *given) == 0
            yield found
            destroyed = "SpMat" if kind.lower() in FORMATS else kind
            assert getattr(self.library, f"cusparseDestroy{destroyed}")(found) == 0

    def matrix(self, a: Any, letter: str, base: int = 0) -> Any:
        """Of scipy's formats."""
        shape = [ctypes.c_int64(n) for n in (*a.shape, a.nnz)]
        kind = a.format.capitalize()
        if a.format == "coo":
            places = [a.row, a.col]
            types = [INDICES[a.row.itemsize]]
        else:
            places = [a.indptr, a.indices]
            types = [INDICES[a.indptr.itemsize], INDICES[a.indices.itemsize]]
        if base:
            places = [one + one.dtype.type(base) for one in places]
        return self.described(kind, *shape, *places, a.data, *types, base, NUMBERS[letter])

    def dense(self, a: Array, letter: str) -> Any:
        order = "F" if a.flags.f_contiguous else "C"
        leading = a.shape[0] if order == "F" else a.shape[1]
        shape = [ctypes.c_int64(n) for n in (*a.shape, leading)]
        return self.described("DnMat", *shape, a, NUMBERS[letter], ORDERS[order])


@pytest.fixture(scope="module")
def device() -> Sparse:
    return Sparse()


@pytest.fixture(params=TYPES)
def draw(request: pytest.FixtureRequest) -> Draw:
    return Draw(request.param)


def made(dense: Array, form: str) -> Any:
    whole: Any = sparse.csr_array(dense)
    return whole.asformat(form)


def ordered(a: Array, order: Any) -> Array:
    return np.array(a, order=order)


def drawn(draw: Draw, shape: tuple[int, int], form: str = "csr", index: Any = np.int32) -> Any:
    """With a row and a column without elements."""
    dense = draw(*shape) * (np.random.default_rng(7).uniform(size=shape) < 0.5)
    dense[2], dense[:, 1] = 0, 0
    found = made(dense.astype(draw.type), form)
    for name in ("indptr", "indices", "row", "col"):
        if hasattr(found, name):
            setattr(found, name, getattr(found, name).astype(index))
    return found


def under(operation: int, a: Array) -> Array:
    return (a, a.T, a.conj().T)[operation]


def test_products(device: Sparse, draw: Draw) -> None:
    for form, operation, base in product(FORMATS, range(3), (0, 1)):
        a = drawn(draw, (M, N), form, np.int64 if base else np.int32)
        full = under(operation, a.toarray())
        x, y, alpha, beta = draw(full.shape[1]), draw(full.shape[0]), draw.factor(), draw.type(2)
        wanted, number = alpha * full @ x + beta * y, NUMBERS[draw.letter]
        size = ctypes.c_size_t()
        with (
            device.matrix(a, draw.letter, base) as of_a,
            device.described("DnVec", ctypes.c_int64(x.size), x, number) as of_x,
            device.described("DnVec", ctypes.c_int64(y.size), y, number) as of_y,
        ):
            words = (operation, alpha, of_a, of_x, beta, of_y, number, 0)
            device.call("SpMV_bufferSize", *words, ctypes.byref(size))
            device.call("SpMV", *words, None)
            device.call("SpMV", *words[:3], of_y, beta, of_x, number, 0, None, status=3)
        assert size.value > 0 and draw.is_near(y, wanted)
    for of_a, of_b, order, other in product(range(3), range(3), "FC", "FC"):
        a = drawn(draw, (M, N))
        full = under(of_a, a.toarray())
        b = ordered(under(of_b, draw(full.shape[1], COLUMNS)), order)
        c = ordered(np.full((full.shape[0], COLUMNS), np.nan, draw.type), other)
        alpha, beta, number = draw.factor(), draw.type(0), NUMBERS[draw.letter]
        wanted = alpha * full @ under(of_b, b)
        with (
            device.matrix(a, draw.letter) as sparse_a,
            device.dense(b, draw.letter) as dense_b,
            device.dense(c, draw.letter) as dense_c,
        ):
            products = (of_a, of_b, alpha, sparse_a, dense_b, beta, dense_c, number, 0)
            device.call("SpMM", *products, None)
        assert draw.is_near(c, wanted)


def test_dense_matrices_and_back(device: Sparse, draw: Draw) -> None:
    for form, order, index in product(FORMATS, "FC", (np.int32, np.int64)):
        a = drawn(draw, (M, N), form, index)
        dense = ordered(draw(M, N), order)
        with device.matrix(a, draw.letter) as of_a, device.dense(dense, draw.letter) as of_dense:
            device.call("SparseToDense", of_a, of_dense, 0, None)
        assert (dense == a.toarray()).all()
        found = a.copy()
        for name in ("data", "indptr", "indices", "row", "col"):
            if hasattr(found, name):
                getattr(found, name)[:] = 9
        count = [ctypes.c_int64() for _ in range(3)]
        with (
            device.matrix(found, draw.letter) as of_a,
            device.dense(dense, draw.letter) as of_dense,
        ):
            device.call("DenseToSparse_analysis", of_dense, of_a, 0, None)
            device.library.cusparseSpMatGetSize(of_a, *map(ctypes.byref, count))
            device.call("DenseToSparse_convert", of_dense, of_a, 0, None)
        assert [one.value for one in count] == [M, N, a.nnz]
        wanted = made(dense, form)
        for name in ("data", "indptr", "indices", "row", "col"):
            assert not hasattr(found, name) or (getattr(found, name) == getattr(wanted, name)).all()


def test_orders_of_elements(device: Sparse) -> None:
    draw = Draw("d")
    a = drawn(draw, (M, N), "coo")
    mixed = np.random.default_rng(3).permutation(a.nnz)
    for name, key in (("ByRow", (a.col, a.row)), ("ByColumn", (a.row, a.col))):
        rows, columns, places = a.row[mixed], a.col[mixed], np.zeros(a.nnz, np.int32)
        device.call("CreateIdentityPermutation", a.nnz, places)
        device.call(f"Xcoosort{name}", M, N, a.nnz, rows, columns, places, None)
        wanted = np.lexsort(key)
        assert (rows == a.row[wanted]).all() and (columns == a.col[wanted]).all()
        assert (mixed[places] == wanted).all()
    rows, offsets, by_row = np.sort(a.row), np.zeros(M + 1, np.int32), a.tocsr()
    for base in (0, 1):
        device.call("Xcoo2csr", rows + np.int32(base), a.nnz, M, offsets, base)
        assert (offsets == by_row.indptr + base).all()
        found = np.zeros(a.nnz, np.int32)
        device.call("Xcsr2coo", offsets, a.nnz, M, found, base)
        assert (found == rows + base).all()
    turned = by_row.indices[::-1].copy()
    offsets = np.concatenate([[0], np.cumsum(np.diff(by_row.indptr)[::-1])]).astype(np.int32)
    about, places = ctypes.c_void_p(), np.arange(a.nnz, dtype=np.int32)
    assert device.library.cusparseCreateMatDescr(ctypes.byref(about)) == 0
    given = turned.copy()
    device.call("Xcsrsort", M, N, a.nnz, about, offsets, turned, places, None)
    assert (turned == given[places]).all()
    for first, end in pairwise(offsets):
        assert (np.diff(turned[first:end]) > 0).all()


def test_columns_of_rows(device: Sparse, draw: Draw) -> None:
    a = drawn(draw, (M, N))
    wanted = a.tocsc()
    values, offsets = np.zeros_like(wanted.data), np.zeros(N + 1, np.int32)
    indices = np.zeros(a.nnz, np.int32)
    given, found = (a.data, a.indptr, a.indices), (values, offsets, indices)
    device.call("Csr2cscEx2", M, N, a.nnz, *given, *found, NUMBERS[draw.letter], 1, 0, 1, None)
    assert (values == wanted.data).all() and (offsets == wanted.indptr).all()
    assert (indices == wanted.indices).all()


def test_elements_of_vectors(device: Sparse, draw: Draw) -> None:
    places, number = np.array([4, 0, 6], np.int32), NUMBERS[draw.letter]
    values, dense, other = draw(3), draw(M), draw(M)
    scattered = other.copy()
    scattered[places] = dense[places]
    size, count, types = ctypes.c_int64(M), ctypes.c_int64(3), (INDICES[4], 0, number)
    with (
        device.described("SpVec", size, count, places, values, *types) as of_values,
        device.described("DnVec", size, dense, number) as of_dense,
        device.described("DnVec", size, other, number) as of_other,
    ):
        device.call("Gather", of_dense, of_values)
        device.call("Scatter", of_values, of_other)
    assert (values == dense[places]).all() and (other == scattered).all()


def test_indices_beyond_the_matrix_end_a_product(device: Sparse) -> None:
    draw = Draw("d")
    a, x, y = drawn(draw, (M, N)), draw(N), draw(M)
    a.indices[0] = N
    with (
        device.matrix(a, "d") as of_a,
        device.described("DnVec", ctypes.c_int64(N), x, 1) as of_x,
        device.described("DnVec", ctypes.c_int64(M), y, 1) as of_y,
    ):
        words = (0, draw.factor(), of_a, of_x, draw.type(0), of_y, 1, 0, None)
        device.call("SpMV", *words, status=6)
