// n polynomials of degree 15 at 4096 points each, a block per polynomial with its coefficients in
// shared memory: no reduction, no thread needs another's result.
//
//     nvcc -O2 -o poly_rows poly_rows.cu && ./poly_rows 10000

#include "checksum.h"

#define TERMS 16
#define COLUMNS 4096

__global__ void evaluate(const float *__restrict__ coefficients, const float *__restrict__ points,
                         float *__restrict__ results, int columns) {
    __shared__ float own[TERMS];
    for (int k = threadIdx.x; k < TERMS; k += blockDim.x)
        own[k] = coefficients[(size_t)blockIdx.x * TERMS + k];
    __syncthreads();
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        const float x = points[c];
        float value = own[TERMS - 1];
#pragma unroll
        for (int k = TERMS - 2; k >= 0; k--) value = value * x + own[k];
        results[(size_t)blockIdx.x * columns + c] = value;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 3, 400000);
    std::vector<float> coefficients = quick_values((size_t)n * TERMS, 1843);
    const std::vector<float> points = quick_values(COLUMNS, 1844);
    for (float &coefficient : coefficients) coefficient -= 0.3f;
    const float *d_coefficients = to_device(coefficients), *d_points = to_device(points);
    float *d_results = device_zeros<float>((size_t)n * COLUMNS);

    evaluate<<<n, 128>>>(d_coefficients, d_points, d_results, COLUMNS);
    finish_launches();

    const std::vector<float> results = from_device(d_results, (size_t)n * COLUMNS);
    return report(checksum_of(results), sampled_error(results, [&](size_t e) {
        double value = 0.0;
        for (int k = TERMS - 1; k >= 0; k--)
            value = value * points[e % COLUMNS] + coefficients[e / COLUMNS * TERMS + k];
        return value;
    }));
}
