// a = b + s c, as long vectors: one thread per element, nothing is used twice.
//
//     nvcc -O2 -o triad triad.cu && ./triad 100000

#include "../judge.h"

__global__ void triad(int n, float s, float *a, const float *b, const float *c) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = b[i] + s * c[i];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 28);
    const std::vector<float> b = fixed_values(n, 1), c = fixed_values(n, 2);
    float *device_a = to_device(std::vector<float>(n));
    float *device_b = to_device(b), *device_c = to_device(c);

    const unsigned block = 256;
    triad<<<blocks_for(n, block), block>>>(n, 1.5f, device_a, device_b, device_c);
    finish_launches();

    return verdict(
        sampled_error(from_device(device_a, n), [&](size_t i) { return b[i] + 1.5f * c[i]; }));
}
