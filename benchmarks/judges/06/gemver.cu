// GEMVER in double precision: A gets two products of vectors added, x = beta A^T y + z, and
// w = alpha A x. A kernel over the matrix, one with a thread per column and one with one per row.
//
//     nvcc -O2 -o gemver gemver.cu && ./gemver 1000

#include "../host.h"

__global__ void rank_two(int n, double *A, const double *u1, const double *v1, const double *u2,
                         const double *v2) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) A[i * n + j] += u1[i] * v1[j] + u2[i] * v2[j];
}

__global__ void transposed_product(int n, double beta, const double *A, const double *y,
                                   const double *z, double *x) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < n) {
        double sum = 0.0;
        for (int i = 0; i < n; i++) sum += A[i * n + j] * y[i];
        x[j] = beta * sum + z[j];
    }
}

__global__ void product(int n, double alpha, const double *A, const double *x, double *w) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double sum = 0.0;
        for (int j = 0; j < n; j++) sum += A[i * n + j] * x[j];
        w[i] = alpha * sum;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100);
    const double alpha = 1.5, beta = 0.75;
    const std::vector<float> numbers = quick_values((size_t)n * n, 1);
    std::vector<double> A(numbers.begin(), numbers.end()), vectors[6];
    for (int v = 0; v < 6; v++) {
        const std::vector<float> entries = quick_values(n, v + 2);
        vectors[v].assign(entries.begin(), entries.end());
    }
    const std::vector<double> &u1 = vectors[0], &v1 = vectors[1], &u2 = vectors[2];
    const std::vector<double> &v2 = vectors[3], &y = vectors[4], &z = vectors[5];
    double *d_A = to_device(A), *d_x = device_zeros<double>(n), *d_w = device_zeros<double>(n);
    const double *d_u1 = to_device(u1), *d_v1 = to_device(v1), *d_u2 = to_device(u2);
    const double *d_v2 = to_device(v2), *d_y = to_device(y), *d_z = to_device(z);

    dim3 block(32, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    rank_two<<<grid, block>>>(n, d_A, d_u1, d_v1, d_u2, d_v2);
    const int threads = 256, blocks = (n + threads - 1) / threads;
    transposed_product<<<blocks, threads>>>(n, beta, d_A, d_y, d_z, d_x);
    product<<<blocks, threads>>>(n, alpha, d_A, d_x, d_w);
    finish_launches();

    std::vector<double> x = z;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double &a = A[(size_t)i * n + j];
            a += u1[i] * v1[j] + u2[i] * v2[j];
            x[j] += beta * a * y[i];
        }
    const auto matrix = [&](size_t e) { return A[e]; };
    double error = sampled_error(from_device(d_A, A.size()), matrix);
    error += sampled_error(from_device(d_x, n), [&](size_t j) { return x[j]; });
    return verdict(error + sampled_error(from_device(d_w, n), [&](size_t i) {
        double sum = 0.0;
        for (int j = 0; j < n; j++) sum += A[i * n + j] * x[j];
        return alpha * sum;
    }));
}
