// The sum of squares of a vector: a tree in shared memory per block, one atomic addition per block.
//
//     nvcc -O2 -o block_sum block_sum.cu && ./block_sum 100000

#include "../judge.h"

#pragma cutune kernel block_sum data(n) block(x: 32..1024) grid(ceil(n / x))
__global__ void block_sum(int n, const float *values, double *total) {
    __shared__ float partial[1024];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[threadIdx.x] = i < n ? values[i] * values[i] : 0.0f;
    __syncthreads();
    for (int active = blockDim.x; active > 1;) {
        const int half = (active + 1) / 2;
        if ((int)threadIdx.x < active - half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
        active = half;
    }
    if (threadIdx.x == 0) atomicAdd(total, (double)partial[0]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 28);
    const std::vector<float> values = fixed_values(n, 1);
    float *device_values = to_device(values);
    double *device_total = to_device(std::vector<double>(1));

    const unsigned block = 256;
    block_sum<<<blocks_for(n, block), block>>>(n, device_values, device_total);
    finish_launches();

    double expected = 0.0;
    for (const float value : values) expected += (double)value * value;
    return verdict(sampled_error(from_device(device_total, 1), [&](size_t) { return expected; }));
}
