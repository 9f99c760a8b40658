"""GPUArray: arithmetic, slices, kernels made of expressions, reductions and scans."""

from __future__ import annotations

import numpy as np
import pycuda.autoinit  # noqa: F401
from pycuda import cumath, gpuarray
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.scan import InclusiveScanKernel

host = np.linspace(0, 1, 777).astype(np.float32)
x = gpuarray.to_gpu(host)
assert np.allclose((2 * x + x * x).get(), 2 * host + host * host)
assert np.allclose(cumath.exp(x).get(), np.exp(host), rtol=1e-5)
assert (x[10:20].get() == host[10:20]).all()
assert np.isclose(gpuarray.dot(x, x).get(), host @ host, rtol=1e-4)
assert gpuarray.max(x).get() == 1

axpy = ElementwiseKernel("float a, float *x, float *y", "y[i] = a * x[i] + y[i]", "axpy")
y = gpuarray.zeros_like(x)
axpy(np.float32(3), x, y)
assert np.allclose(y.get(), 3 * host)

norm = ReductionKernel(
    np.float32, neutral="0", reduce_expr="a + b", map_expr="x[i] * x[i]", arguments="float *x"
)
assert np.isclose(norm(x).get(), (host**2).sum(), rtol=1e-4)

counts = gpuarray.to_gpu(np.arange(500, dtype=np.int32))
InclusiveScanKernel(np.int32, "a + b")(counts)
assert (counts.get() == np.arange(500).cumsum()).all()
print("all is well")
