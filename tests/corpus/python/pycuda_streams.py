"""Page-locked memory, copies in streams, events, callbacks by time, pitched memory, pools."""

from __future__ import annotations

import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda import tools
from pycuda.compiler import SourceModule

negate = SourceModule("""
__global__ void negate(int *a) { a[blockIdx.x * blockDim.x + threadIdx.x] *= -1; }
""").get_function("negate")

streams = [cuda.Stream() for _ in range(3)]
start, end = cuda.Event(), cuda.Event()
start.record()
parts = []
for number, stream in enumerate(streams):
    part = cuda.pagelocked_empty(256, np.int32)
    part[:] = number + 1
    memory = cuda.mem_alloc(part.nbytes)
    cuda.memcpy_htod_async(memory, part, stream)
    negate(memory, block=(128, 1, 1), grid=(2, 1), stream=stream)
    cuda.memcpy_dtoh_async(part, memory, stream)
    parts.append((part, memory))
for stream in streams:
    stream.synchronize()
end.record()
end.synchronize()
assert end.time_since(start) > 0 and end.query()
assert [int(part.sum()) for part, _ in parts] == [-256, -512, -768]

# A rectangle of a matrix, by way of pitched memory.
matrix = np.arange(35, dtype=np.int32).reshape(5, 7)
pitched, pitch = cuda.mem_alloc_pitch(7 * 4, 5, 4)
copy = cuda.Memcpy2D()
copy.set_src_host(matrix)
copy.set_dst_device(pitched)
copy.width_in_bytes = copy.src_pitch = 28
copy.dst_pitch, copy.height = pitch, 5
copy(aligned=True)
cuda.memset_d2d32(int(pitched) + pitch + 4, pitch, 9, 3, 2)
back = cuda.Memcpy2D()
back.set_src_device(pitched)
got = np.zeros_like(matrix)
back.set_dst_host(got)
back.width_in_bytes = back.dst_pitch = 28
back.src_pitch, back.height = pitch, 5
back(aligned=True)
matrix[1:3, 1:4] = 9
assert (got == matrix).all()

managed = cuda.managed_zeros(64, np.int32, mem_flags=cuda.mem_attach_flags.GLOBAL)
managed[:] = 5
negate(managed, block=(64, 1, 1))
pycuda.autoinit.context.synchronize()
assert (managed == -5).all()

pool = tools.DeviceMemoryPool()
held = pool.allocate(1000)
del held
assert pool.held_blocks == 1 and pool.allocate(900) is not None
print("all is well")
