// Mechanics: n systems of three equations by Cramer's rule, coefficients as arrays of n doubles.
//
//     nvcc -O2 -o cramer3 cramer3.cu && ./cramer3 100000

#include "summed.h"

__host__ __device__ inline double det3(const double a[3], const double b[3], const double c[3]) {
    return a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) +
           c[0] * (a[1] * b[2] - a[2] * b[1]);
}

__global__ void solve3(const double *m, const double *rhs, double *solution, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double column[3][3], b[3];
        for (int k = 0; k < 3; k++) {
            for (int r = 0; r < 3; r++) column[k][r] = m[(size_t)(3 * r + k) * n + i];
            b[k] = rhs[(size_t)k * n + i];
        }
        const double scale = 1.0 / det3(column[0], column[1], column[2]);
        solution[i] = scale * det3(b, column[1], column[2]);
        solution[(size_t)n + i] = scale * det3(column[0], b, column[2]);
        solution[2 * (size_t)n + i] = scale * det3(column[0], column[1], b);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 16000000);
    std::vector<double> m(9 * (size_t)n), rhs(3 * (size_t)n);
    for (size_t e = 0; e < m.size(); e++) {
        m[e] = mixed((uint32_t)e) * (1.0 / 4294967296.0) - 0.5;
        if (e / n % 4 == 0) m[e] += 3.0;  // Its diagonal.
    }
    for (size_t e = 0; e < rhs.size(); e++) rhs[e] = mixed((uint32_t)e + 77u) * 1e-9;
    double *d_m = to_device(m), *d_rhs = to_device(rhs), *d_x = device_zeros<double>(3 * (size_t)n);

    solve3<<<(n + 127) / 128, 128>>>(d_m, d_rhs, d_x, n);
    finish_launches();

    const std::vector<double> x = from_device(d_x, 3 * (size_t)n);
    say_sum("solutions", x);
    // What is left over when a solution is put in.
    std::vector<double> left(n);
    for (int i = 0; i < n; i++)
        for (int r = 0; r < 3; r++) {
            double sum = -rhs[(size_t)r * n + i];
            for (int k = 0; k < 3; k++)
                sum += m[(size_t)(3 * r + k) * n + i] * x[(size_t)k * n + i];
            left[i] += fabs(sum);
        }
    return verdict(sampled_error(left, [](size_t) { return 0.0; }));
}
