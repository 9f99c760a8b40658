// The Khatri-Rao product of two n x 32 matrices, as tensor decompositions need it: each pair of
// rows multiplied element by element.
//
//     nvcc -O2 -o khatri_rao khatri_rao.cu && ./khatri_rao 1000

#include "../host.h"

#define RANK 32

__global__ void khatri_rao(int rows_a, int rows_b, const float *a, const float *b,
                           float *product) {
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int i = blockIdx.z * blockDim.z + threadIdx.z;
    if (r >= RANK || j >= rows_b || i >= rows_a) return;
    product[(i * rows_b + j) * RANK + r] = a[i * RANK + r] * b[j * RANK + r];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 8000);
    const std::vector<float> a = quick_values((size_t)n * RANK, 1);
    const std::vector<float> b = quick_values((size_t)n * RANK, 2);
    const size_t count = (size_t)n * n * RANK;
    float *device_a = to_device(a), *device_b = to_device(b);
    float *product = device_zeros<float>(count);

    const dim3 block(32, 8, 1);
    const dim3 grid(blocks_for(RANK, block.x), blocks_for(n, block.y), blocks_for(n, block.z));
    khatri_rao<<<grid, block>>>(n, n, device_a, device_b, product);
    finish_launches();

    return verdict(sampled_error(from_device(product, count), [&](size_t e) {
        const size_t r = e % RANK, j = e / RANK % n, i = e / RANK / n;
        return a[i * RANK + r] * b[j * RANK + r];
    }));
}
