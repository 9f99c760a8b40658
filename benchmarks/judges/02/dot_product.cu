// The dot product of two vectors by a fixed grid: each thread adds in strides of the grid, each
// block in shared memory, and one thread of the block atomically.
//
//     nvcc -O2 -o dot_product dot_product.cu && ./dot_product 1000000

#include "../judge.h"

#pragma cutune kernel dot_product data(n) block(x: 32, 64, 128, 256, 512, 1024)
__global__ void dot_product(int n, const double *a, const double *b, double *result) {
    extern __shared__ double partial[];
    double sum = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += a[i] * b[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(result, partial[0]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 28);
    const std::vector<float> numbers_a = fixed_values(n, 1), numbers_b = fixed_values(n, 2);
    const std::vector<double> a(numbers_a.begin(), numbers_a.end());
    const std::vector<double> b(numbers_b.begin(), numbers_b.end());
    double *device_a = to_device(a), *device_b = to_device(b);
    double *device_result = to_device(std::vector<double>(1));

    const int blocks = 1024, threads = 256;
    dot_product<<<blocks, threads, threads * sizeof(double)>>>(n, device_a, device_b,
                                                               device_result);
    finish_launches();

    double expected = 0.0;
    for (int i = 0; i < n; i++) expected += a[i] * b[i];
    return verdict(sampled_error(from_device(device_result, 1), [&](size_t) { return expected; }));
}
