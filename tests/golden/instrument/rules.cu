// What the table says of each dimension: guarded, dividing, fixed, kept.
#include <cstddef>

__global__ void guarded(int rows, size_t columns, float *x) {
    size_t j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < rows && j < columns) x[i * columns + j] = 0.0f;
}

__global__ void inner(unsigned n, float *x) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1) x[i + 1] = 0.0f;
}

__global__ void unguarded(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 0.0f; }

__global__ void strided(int n, float *x) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        x[i] = 0.0f;
}

#pragma cutune kernel rows data(n) block(x: 64, 128, 256) grid(keep)
__global__ void rows(int n, float *x) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[blockIdx.x * n + i] = 0.0f;
}

void run(int rows, size_t columns, float *x) {
    dim3 block(32, 8);
    guarded<<<dim3(4, 3), block>>>(rows, columns, x);
    inner<<<64, 128>>>(7000u, x);
    unguarded<<<64, 128>>>(x);
    strided<<<64, 128>>>(rows, x);
    ::rows<<<64, 128>>>(rows, x);
}
