"""Random numbers of CuPy; by cuBLAS, cuFFT, cuSOLVER, cuSPARSE what they do, where they are.

CuPy wants nvJitLink for the last two: an ImportError, unless it is installed.
"""

from __future__ import annotations

import cupy as cp
import numpy as np

cp.random.seed(5)
a = cp.random.rand(40, 30)
b = cp.random.standard_normal((30, 20))
assert 0.4 < a.get().mean() < 0.6 and abs(b.get().mean()) < 0.2 and 0.8 < b.get().std() < 1.2
cp.random.seed(5)
assert (cp.random.rand(40, 30).get() == a.get()).all()
try:
    product = a @ b
except ImportError:
    pass
else:
    assert np.allclose(product.get(), a.get() @ b.get())
    assert np.allclose(cp.dot(a[0], a[1]).get(), a.get()[0] @ a.get()[1])
try:
    spectrum = cp.fft.rfft2(a)
except ImportError:
    pass
else:
    assert np.allclose(spectrum.get(), np.fft.rfft2(a.get()))
    assert np.allclose(cp.fft.irfft2(spectrum, s=a.shape).get(), a.get())
    assert np.allclose(cp.fft.fft(a.astype("F"), axis=0).get(), np.fft.fft(a.get(), axis=0))
    moved = cp.fft.ifftn(cp.fft.fftn(a) * cp.exp(2j * cp.pi * cp.fft.fftfreq(30)))
    assert np.allclose(moved.get().real, np.roll(a.get(), -1, 1))
try:
    squares = cp.array(a.T @ a)
    solution = cp.linalg.solve(squares, b)
except ImportError:
    pass
else:
    assert np.allclose(squares.get() @ solution.get(), b.get())
    values, vectors = (each.get() for each in cp.linalg.eigh(squares))
    assert np.allclose(squares.get() @ vectors, vectors * values)
    assert np.allclose(cp.linalg.svd(a, compute_uv=False).get() ** 2, values[::-1])
    assert np.allclose(cp.linalg.cholesky(squares).get(), np.linalg.cholesky(squares.get()))
try:
    from cupyx.scipy.sparse import csr_matrix

    product = csr_matrix(a) @ b
except ImportError:
    pass
else:
    assert np.allclose(product.get(), a.get() @ b.get())
print("all is well")
