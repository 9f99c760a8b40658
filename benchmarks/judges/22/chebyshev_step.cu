// Solvers: a step of Chebyshev's iteration for Poisson's equation on n x n points in doubles: the
// residual, then the direction and the solution.
//
//     nvcc -O2 -o chebyshev_step chebyshev_step.cu && ./chebyshev_step 600

#include "summed.h"

#define IDX(i, j) ((i) * n + (j))

__global__ void residual(const double *x, const double *b, double *r, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) {
        double ax = 4.0 * x[IDX(i, j)];
        if (i > 0) ax -= x[IDX(i - 1, j)];
        if (i < n - 1) ax -= x[IDX(i + 1, j)];
        if (j > 0) ax -= x[IDX(i, j - 1)];
        if (j < n - 1) ax -= x[IDX(i, j + 1)];
        r[IDX(i, j)] = b[IDX(i, j)] - ax;
    }
}

__global__ void advance(double *x, double *p, const double *r, double alpha, double beta, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) {
        p[IDX(i, j)] = r[IDX(i, j)] + beta * p[IDX(i, j)];
        x[IDX(i, j)] += alpha * p[IDX(i, j)];
    }
}

static std::vector<double> doubles(size_t count, uint32_t seed) {
    const std::vector<float> values = quick_values(count, seed);
    return std::vector<double>(values.begin(), values.end());
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 50, 12000);
    const size_t count = (size_t)n * n;
    const std::vector<double> x = doubles(count, 2361), b = doubles(count, 2362),
                              p = doubles(count, 2363);
    double *d_x = to_device(x), *d_b = to_device(b), *d_p = to_device(p);
    double *d_r = device_zeros<double>(count);
    const double alpha = 0.21, beta = 0.4;

    dim3 dimBlock(32, 8);
    dim3 dimGrid((n + dimBlock.x - 1) / dimBlock.x, (n + dimBlock.y - 1) / dimBlock.y);
    residual<<<dimGrid, dimBlock>>>(d_x, d_b, d_r, n);
    advance<<<dimGrid, dimBlock>>>(d_x, d_p, d_r, alpha, beta, n);
    finish_launches();

    const std::vector<double> after = from_device(d_x, count);
    say_sum("x", after);
    return verdict(sampled_error(after, [&](size_t e) {
        const int i = (int)(e / n), j = (int)(e % n);
        double ax = 4.0 * x[e];
        if (i > 0) ax -= x[e - n];
        if (i < n - 1) ax -= x[e + n];
        if (j > 0) ax -= x[e - 1];
        if (j < n - 1) ax -= x[e + 1];
        return x[e] + alpha * (b[e] - ax + beta * p[e]);
    }));
}
