// Dot product of two vectors of n floats: grid stride, a tree in shared memory, an atomic addition
// per block.
//
//     nvcc -O2 -o dot_atomic dot_atomic.cu && ./dot_atomic 30000000

#include <algorithm>

#include "checksum.h"

const int threadsPerBlock = 256;

__global__ void dot(const float *a, const float *b, float *result, int n) {
    __shared__ float cache[threadsPerBlock];
    float temp = 0.0f;
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
        temp += a[i] * b[i];
    cache[threadIdx.x] = temp;
    __syncthreads();

    int i = blockDim.x / 2;
    while (i != 0) {
        if (threadIdx.x < i) cache[threadIdx.x] += cache[threadIdx.x + i];
        __syncthreads();
        i /= 2;
    }
    if (threadIdx.x == 0) atomicAdd(result, cache[0]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1000000000);
    const std::vector<float> a = quick_values(n, 1808), b = quick_values(n, 1809);
    const float *d_a = to_device(a), *d_b = to_device(b);
    float *d_result = device_zeros<float>(1);

    const int blocksPerGrid = std::min(1024, (n + threadsPerBlock - 1) / threadsPerBlock);
    dot<<<blocksPerGrid, threadsPerBlock>>>(d_a, d_b, d_result, n);
    finish_launches();

    const float result = from_device(d_result, 1)[0];
    double wanted = 0.0;
    for (int i = 0; i < n; i++) wanted += (double)a[i] * b[i];
    return report(result, relative_difference(result, wanted));
}
