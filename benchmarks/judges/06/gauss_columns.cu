// Gauss elimination of the first four columns of an n x n system, two launches per column: the
// multipliers of the rows below, and the rows themselves.
//
//     nvcc -O2 -o gauss_columns gauss_columns.cu && ./gauss_columns 1000

#include "../host.h"

#define COLUMNS 4

__global__ void multipliers(const float *A, float *m, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n - 1 - k) return;
    m[k + 1 + i] = A[(k + 1 + i) * n + k] / A[k * n + k];
}

__global__ void eliminate(float *A, const float *m, int n, int k) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n - 1 - k || col >= n - k) return;
    A[(row + k + 1) * n + col + k] -= m[row + k + 1] * A[k * n + col + k];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100);
    const size_t count = (size_t)n * n;
    std::vector<float> A = quick_values(count, 1);
    for (int i = 0; i < n; i++) A[(size_t)i * n + i] += 8.0f;
    float *d_A = to_device(A);
    float *d_m = device_zeros<float>(n);

    dim3 block1d(256);
    dim3 block2d(16, 16);
    for (int k = 0; k < COLUMNS && k < n - 1; k++) {
        dim3 grid1d((n - 1 - k + block1d.x - 1) / block1d.x);
        multipliers<<<grid1d, block1d>>>(d_A, d_m, n, k);
        dim3 grid2d((n - k + block2d.x - 1) / block2d.x, (n - 1 - k + block2d.y - 1) / block2d.y);
        eliminate<<<grid2d, block2d>>>(d_A, d_m, n, k);
    }
    finish_launches();

    // Row i in the columns that are eliminated and in column j, after all pivots above it.
    const std::vector<float> original = A;
    const auto eliminated = [&](size_t i, size_t j) {
        float row[COLUMNS + 1];
        const size_t places = COLUMNS < n ? COLUMNS : n;
        for (size_t k = 0; k < places; k++) row[k] = original[i * n + k];
        row[COLUMNS] = original[i * n + j];
        for (size_t k = 0; k < places && k < i; k++) {
            const float factor = row[k] / A[k * n + k];
            for (size_t c = k; c < places; c++) row[c] -= factor * A[k * n + c];
            row[COLUMNS] -= factor * A[k * n + j];
        }
        return j < places ? row[j] : row[COLUMNS];
    };
    for (size_t i = 1; i < COLUMNS && i < (size_t)n; i++) {
        std::vector<float> row(n);
        for (int j = 0; j < n; j++) row[j] = eliminated(i, j);
        for (int j = 0; j < n; j++) A[i * n + j] = row[j];
    }
    return verdict(sampled_error(from_device(d_A, count),
                                 [&](size_t e) { return eliminated(e / n, e % n); }));
}
