"""Random numbers of CuPy, by cuRAND, and products of matrices, by cuBLAS where there is one."""

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
print("all is well")
