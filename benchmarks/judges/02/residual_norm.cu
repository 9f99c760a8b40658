// The square of the distance of two vectors: a sum by shuffles per warp, one atomic addition per
// warp.
//
//     nvcc -O2 -o residual_norm residual_norm.cu && ./residual_norm 1000000

#include "../judge.h"

__global__ void residual_norm(int n, const float *a, const float *b, double *total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float residual = i < n ? a[i] - b[i] : 0.0f;
    float sum = residual * residual;
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(total, (double)sum);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 28);
    const std::vector<float> a = fixed_values(n, 1), b = fixed_values(n, 2);
    float *device_a = to_device(a), *device_b = to_device(b);
    double *device_total = to_device(std::vector<double>(1));

    const unsigned block = 256;
    residual_norm<<<blocks_for(n, block), block>>>(n, device_a, device_b, device_total);
    finish_launches();

    double expected = 0.0;
    for (int i = 0; i < n; i++) expected += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    return verdict(sampled_error(from_device(device_total, 1), [&](size_t) { return expected; }));
}
