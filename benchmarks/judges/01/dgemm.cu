// C = A B in double precision, one thread per element, its sum in a register.
//
//     nvcc -O2 -o dgemm dgemm.cu && ./dgemm 512

#include "../judge.h"

__global__ void dgemm(int n, const double *a, const double *b, double *c) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n) {
        double sum = 0.0;
        for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
        c[row * n + column] = sum;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 128);
    const size_t count = (size_t)n * n;
    const std::vector<float> numbers = fixed_values(2 * count, 1);
    const std::vector<double> a(numbers.begin(), numbers.begin() + count);
    const std::vector<double> b(numbers.begin() + count, numbers.end());
    double *device_a = to_device(a), *device_b = to_device(b);
    double *device_c = to_device(std::vector<double>(count));

    dim3 block(16, 16);
    dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    dgemm<<<grid, block>>>(n, device_a, device_b, device_c);
    finish_launches();

    return verdict(sampled_error(from_device(device_c, count), [&](size_t e) {
        double sum = 0.0;
        for (int k = 0; k < n; k++) sum += a[e / n * n + k] * b[(size_t)k * n + e % n];
        return sum;
    }));
}
