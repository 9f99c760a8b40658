// The product of a symmetric n x n matrix with a vector, in double precision. Only the lower
// triangle is stored, row after row: a thread goes along its row, and then down its column.
//
//     nvcc -O2 -o symv_packed symv_packed.cu && ./symv_packed 1000

#include "../host.h"

__global__ void symv_packed(int n, double alpha, const double *A, const double *x, double beta,
                            double *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double *row = A + (size_t)i * (i + 1) / 2;
    double sum = 0.0;
    for (int j = 0; j <= i; j++) sum += row[j] * x[j];
    size_t at = (size_t)(i + 1) * (i + 2) / 2 + i;
    for (int j = i + 1; j < n; j++) {
        sum += A[at] * x[j];
        at += j + 1;
    }
    y[i] = alpha * sum + beta * y[i];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100);
    const double alpha = 1.25, beta = 0.5;
    std::vector<double> A((size_t)n * (n + 1) / 2), x(n), y(n);
    for (size_t e = 0; e < A.size(); e++) A[e] = mixed((uint32_t)e) * 0x1p-32;
    for (int i = 0; i < n; i++) {
        x[i] = mixed((uint32_t)i + 5u) * 0x1p-32 - 0.25;
        y[i] = mixed((uint32_t)i + 9u) * 0x1p-32;
    }
    const double *d_A = to_device(A), *d_x = to_device(x);
    double *d_y = to_device(y);

    const int threads = 64;
    symv_packed<<<(n + threads - 1) / threads, threads>>>(n, alpha, d_A, d_x, beta, d_y);
    finish_launches();

    return verdict(sampled_error(from_device(d_y, n), [&](size_t i) {
        double sum = 0.0;
        for (size_t j = 0; j < (size_t)n; j++) {
            const size_t high = i > j ? i : j, low = i > j ? j : i;
            sum += A[high * (high + 1) / 2 + low] * x[j];
        }
        return alpha * sum + beta * y[i];
    }));
}
