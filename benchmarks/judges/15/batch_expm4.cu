// The exponentials of n matrices of 4 x 4, entry by entry in memory: scaling by 1/16, a polynomial
// of degree 8 in few products, and four squarings.
//
//     nvcc -O2 -o batch_expm4 batch_expm4.cu && ./batch_expm4 100000

#include "../host.h"

#define SQUARINGS 4

struct Matrix {
    double entry[16];
};

__device__ Matrix operator*(const Matrix &a, const Matrix &b) {
    Matrix product;
#pragma unroll
    for (int i = 0; i < 16; i++) {
        double sum = 0.0;
#pragma unroll
        for (int k = 0; k < 4; k++) sum += a.entry[i / 4 * 4 + k] * b.entry[k * 4 + i % 4];
        product.entry[i] = sum;
    }
    return product;
}

// c0 + c1 a + c2 b + c3 c
__device__ Matrix blend(double c0, double c1, const Matrix &a, double c2, const Matrix &b,
                        double c3, const Matrix &c) {
    Matrix sum;
#pragma unroll
    for (int i = 0; i < 16; i++)
        sum.entry[i] = (i % 5 == 0 ? c0 : 0.0) + c1 * a.entry[i] + c2 * b.entry[i] +
                       c3 * c.entry[i];
    return sum;
}

__global__ void batch_expm4(int n, const double *matrices, double *exponentials) {
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= n) return;
    Matrix a;
#pragma unroll
    for (int i = 0; i < 16; i++) a.entry[i] = matrices[i * n + m] / (1 << SQUARINGS);
    const Matrix a2 = a * a, a3 = a2 * a;
    Matrix sum = blend(1.0 / 720, 1.0 / 5040, a, 1.0 / 40320, a2, 0.0, a3);
    sum = sum * a3;
    sum = blend(1.0 / 6, 1.0 / 24, a, 1.0 / 120, a2, 1.0, sum);
    sum = sum * a3;
    sum = blend(1.0, 1.0, a, 0.5, a2, 1.0, sum);
#pragma unroll
    for (int s = 0; s < SQUARINGS; s++) sum = sum * sum;
#pragma unroll
    for (int i = 0; i < 16; i++) exponentials[i * n + m] = sum.entry[i];
}

// The series itself.
static double host_exponential(const std::vector<double> &matrices, size_t n, size_t element) {
    const size_t m = element % n, wanted = element / n;
    double power[16], sum[16];
    for (int i = 0; i < 16; i++) power[i] = sum[i] = i % 5 == 0;
    for (int degree = 1; degree < 40; degree++) {
        double next[16] = {};
        for (int i = 0; i < 16; i++)
            for (int k = 0; k < 4; k++)
                next[i] += power[i / 4 * 4 + k] * matrices[(k * 4 + i % 4) * n + m] / degree;
        for (int i = 0; i < 16; i++) sum[i] += power[i] = next[i];
    }
    return sum[wanted];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 30000000);
    const size_t count = 16 * (size_t)n;
    const std::vector<float> values = quick_values(count, 1);
    std::vector<double> matrices(count);
    for (size_t i = 0; i < count; i++) matrices[i] = 2.0 * values[i] - 1.0;
    double *device_matrices = to_device(matrices), *exponentials = device_zeros<double>(count);

    const int threads = 128;
    batch_expm4<<<blocks_for(n, threads), threads>>>(n, device_matrices, exponentials);
    finish_launches();

    return verdict(sampled_error(from_device(exponentials, count), [&](size_t e) {
        return host_exponential(matrices, n, e);
    }));
}
