// Solves L X = B for n right-hand sides in place, L a lower triangle of 48 rows: a thread has a
// column of B and goes down it by forward substitution.
//
//     nvcc -O2 -o trsm_columns trsm_columns.cu && ./trsm_columns 100000

#include "../host.h"

#define ROWS 48

__global__ void trsm_lower(int columns, const float *L, float *B) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    float *b = B + column;
    for (int i = 0; i < ROWS; i++) {
        float rest = b[(size_t)i * columns];
        for (int k = 0; k < i; k++) rest -= L[i * ROWS + k] * b[(size_t)k * columns];
        b[(size_t)i * columns] = rest / L[i * ROWS + i];
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 24);
    std::vector<float> L = quick_values(ROWS * ROWS, 1);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < ROWS; k++)
            L[i * ROWS + k] = i == k ? 1.0f + L[i * ROWS + k] : 0.1f * L[i * ROWS + k];
    const std::vector<float> B = quick_values((size_t)ROWS * n, 2);
    const float *d_L = to_device(L);
    float *d_B = to_device(B);

    const int threads = 128;
    trsm_lower<<<(n + threads - 1) / threads, threads>>>(n, d_L, d_B);
    finish_launches();

    return verdict(sampled_error(from_device(d_B, (size_t)ROWS * n), [&](size_t e) {
        const int row = (int)(e / n);
        const size_t column = e % n;
        double x[ROWS];
        for (int i = 0; i <= row; i++) {
            x[i] = B[(size_t)i * n + column];
            for (int k = 0; k < i; k++) x[i] -= (double)L[i * ROWS + k] * x[k];
            x[i] /= L[i * ROWS + i];
        }
        return x[row];
    }));
}
