"""Arrays of CuPy: arithmetic, slices, sums, streams, events and memory."""

from __future__ import annotations

import cupy as cp
import numpy as np

host = np.arange(12, dtype=np.float64).reshape(3, 4)
a = cp.asarray(host)
assert (cp.asnumpy(2 * a + a**2) == 2 * host + host**2).all()
assert (a.T[1:, ::2].get() == host.T[1:, ::2]).all()
assert (a.sum(axis=0).get() == host.sum(axis=0)).all() and a.max() == 11
assert (cp.where(a > 5, a, -1).get() == np.where(host > 5, host, -1)).all()
assert (cp.cumsum(a).get() == np.cumsum(host)).all()
assert np.allclose(cp.sqrt(a).get() + cp.exp(-a).get(), np.sqrt(host) + np.exp(-host))
assert cp.concatenate([a, a]).shape == (6, 4) and a.mean() == 5.5
a[1] = 0
assert (a.get()[1] == 0).all() and cp.count_nonzero(a) == 7

stream, begin, end = cp.cuda.Stream(non_blocking=True), cp.cuda.Event(), cp.cuda.Event()
with stream:
    begin.record()
    b = cp.ones(1000) + cp.arange(1000)
    end.record()
end.synchronize()
assert b.sum() == 500500 and cp.cuda.get_elapsed_time(begin, end) > 0

pool = cp.get_default_memory_pool()
used = pool.used_bytes()
c = cp.zeros(1 << 20, dtype=np.uint8)
assert pool.used_bytes() - used == 1 << 20
del c
pool.free_all_blocks()
try:
    cp.zeros(1 << 50, dtype=np.uint8)
except cp.cuda.memory.OutOfMemoryError:
    pass
else:
    raise AssertionError("there is no end of memory")
print("all is well")
