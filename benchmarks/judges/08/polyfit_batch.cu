// Cubic polynomials through 12 weighted samples of each of n series, in double precision: normal
// equations of four unknowns and their factorization in registers. Samples lie series by series.
//
//     nvcc -O2 -o polyfit_batch polyfit_batch.cu && ./polyfit_batch 100000

#include "../host.h"

#define SAMPLES 12
#define TERMS 4

__host__ __device__ inline void fit(const double *values, const double *weights, size_t stride,
                                    double *terms) {
    double A[TERMS][TERMS] = {}, b[TERMS] = {};
    for (int s = 0; s < SAMPLES; s++) {
        const double t = (2 * s - (SAMPLES - 1)) / (double)(SAMPLES - 1);
        const double y = values[s * stride], w = weights[s * stride];
        const double power[TERMS] = {1.0, t, t * t, t * t * t};
        for (int i = 0; i < TERMS; i++) {
            for (int j = 0; j <= i; j++) A[i][j] += w * power[i] * power[j];
            b[i] += w * power[i] * y;
        }
    }
    // A = L D L^T in place.
    for (int j = 0; j < TERMS; j++)
        for (int i = j; i < TERMS; i++) {
            for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[k][k] * A[j][k];
            if (i > j) A[i][j] /= A[j][j];
        }
    for (int i = 0; i < TERMS; i++)
        for (int k = 0; k < i; k++) b[i] -= A[i][k] * b[k];
    for (int i = TERMS - 1; i >= 0; i--) {
        b[i] /= A[i][i];
        for (int k = i + 1; k < TERMS; k++) b[i] -= A[k][i] * b[k];
        terms[i] = b[i];
    }
}

__global__ void polyfit(int series, const double *values, const double *weights,
                        double *coefficients) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= series) return;
    double terms[TERMS];
    fit(values + i, weights + i, series, terms);
    for (int k = 0; k < TERMS; k++) coefficients[(size_t)k * series + i] = terms[k];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 24);
    const size_t count = (size_t)n * SAMPLES;
    std::vector<double> values(count), weights(count);
    for (size_t e = 0; e < count; e++) {
        const uint32_t bits = mixed((uint32_t)e);
        values[e] = (bits & 0xffff) * 0x1p-16 + 0.1 * (double)(e / n);
        weights[e] = 0.5 + (bits >> 16) * 0x1p-16;
    }
    const double *d_values = to_device(values), *d_weights = to_device(weights);
    double *d_coefficients = device_zeros<double>((size_t)TERMS * n);

    const int threads = 128;
    polyfit<<<(n + threads - 1) / threads, threads>>>(n, d_values, d_weights, d_coefficients);
    finish_launches();

    return verdict(sampled_error(from_device(d_coefficients, (size_t)TERMS * n), [&](size_t e) {
        double terms[TERMS];
        fit(&values[e % n], &weights[e % n], n, terms);
        return terms[e / n];
    }));
}
