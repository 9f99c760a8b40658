"""Each kind of kernel that CuPy compiles: raw, of a module, and made of expressions."""

from __future__ import annotations

import cupy as cp
import numpy as np

host = np.linspace(-1, 1, 1000, dtype=np.float32)
x = cp.asarray(host)

saxpy = cp.RawKernel(
    r"""extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}""",
    "saxpy",
)
y = cp.ones_like(x)
saxpy((8,), (128,), (np.int32(x.size), np.float32(3), x, y))
assert np.allclose(y.get(), 1 + 3 * host, atol=1e-6)
assert saxpy.attributes["max_threads_per_block"] == 1024

module = cp.RawModule(
    code=r"""__device__ int offset;
template <typename T> __global__ void shifted(T *a, int n)
{
    extern __shared__ char bytes[];
    T *shared = reinterpret_cast<T *>(bytes);
    int i = threadIdx.x;
    shared[i] = i < n ? a[i] : T(0);
    __syncthreads();
    if (i < n) a[i] = shared[n - 1 - i] + T(offset);
}""",
    options=("-std=c++17",),
    name_expressions=["shifted<float>", "shifted<long long>"],
)
offset = cp.ndarray((1,), np.int32, module.get_global("offset"))
offset[0] = 7
for kernel, kind in (("shifted<float>", np.float32), ("shifted<long long>", np.int64)):
    values = cp.arange(50, dtype=kind)
    module.get_function(kernel)((1,), (64,), (values, np.int32(50)), shared_mem=64 * 8)
    assert (values.get() == np.arange(50)[::-1] + 7).all()

squares = cp.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squares")
assert np.allclose(squares(x, cp.float32(2)).get(), (host - 2) ** 2)
assert np.allclose(squares(x[::2], x[1::2]).get(), (host[::2] - host[1::2]) ** 2)

length = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "length")
rows = host.reshape(10, 100)
assert np.isclose(length(x).item(), np.linalg.norm(host))
assert np.allclose(length(cp.asarray(rows), axis=1).get(), np.linalg.norm(rows, axis=1))

wrong = cp.RawKernel('extern "C" __global__ void wrong() { nowhere(); }', "wrong")
try:
    wrong((1,), (1,), ())
except cp.cuda.compiler.CompileException as error:
    assert "nowhere" in str(error)
else:
    raise AssertionError("it compiles")
print("all is well")
