"""A script whose kernel PyCUDA compiles: a step of the heat equation, width by height.

cutune tune relax.py --run 'python3 {script} {w} {h}' --vary w=100,200,400 --vary h=64,200
python3 -m cutune.tuned relax.py 4096 4096
"""

import sys

import numpy as np
import pycuda.autoinit  # noqa: F401
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

MODULE = SourceModule("""
__global__ void relax(int w, int h, const float *from, float *to)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    int x = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < w - 1 && y < h - 1)
        to[y * w + x] = 0.25f * (from[y * w + x - 1] + from[y * w + x + 1] +
                                 from[(y - 1) * w + x] + from[(y + 1) * w + x]);
}
""")


def main(width: int, height: int) -> int:
    """One step; 0 where it is that of NumPy."""
    before = np.arange(width * height, dtype=np.float32).reshape(height, width) % 7
    after = before.copy()
    grid = (-(-height // 8), -(-width // 8))
    sizes = np.int32(width), np.int32(height)
    MODULE.get_function("relax")(
        *sizes, cuda.In(before), cuda.InOut(after), block=(8, 8, 1), grid=grid
    )
    around = before[1:-1, :-2] + before[1:-1, 2:] + before[:-2, 1:-1] + before[2:, 1:-1]
    is_right = np.allclose(after[1:-1, 1:-1], 0.25 * around)
    print("PASS" if is_right else "FAIL")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
