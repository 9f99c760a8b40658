// Statistics: a table of 256 rows by n columns of floats, in place: each column loses its mean and
// is divided by its deviation. A thread per column, three times from top to bottom.
//
//     nvcc -O2 -o standardise_columns standardise_columns.cu && ./standardise_columns 10000

#include "checked.h"

constexpr int kRows = 256;

__global__ void standardise(float *table, int rows, int columns) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    float *top = table + column;

    float sum = 0.0f;
    for (int r = 0; r < rows; r++) sum += top[(size_t)r * columns];
    const float mean = sum / rows;

    float squares = 0.0f;
    for (int r = 0; r < rows; r++) {
        const float d = top[(size_t)r * columns] - mean;
        squares += d * d;
    }
    const float factor = 1.0f / sqrtf(squares / (rows - 1) + 1e-12f);

    for (int r = 0; r < rows; r++) {
        float *x = top + (size_t)r * columns;
        *x = (*x - mean) * factor;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 60, 1900000);
    const size_t count = (size_t)n * kRows;
    std::vector<float> table = quick_values(count, 3121);
    for (size_t i = 0; i < count; i++) table[i] = table[i] * (1.0f + i % n % 7) + i % n % 5;
    float *d_table = to_device(table);

    const int threads = 32;
    standardise<<<(n + threads - 1) / threads, threads>>>(d_table, kRows, n);
    finish_launches();

    const std::vector<float> scores = from_device(d_table, count);
    double squares = 0.0;
    for (const float z : scores) squares += (double)z * z;
    printf("checksum of squares: %.10g\n", squares);
    return verdict(sampled_error(scores, [&](size_t e) {
        const size_t column = e % n;
        double sum = 0.0, spread = 0.0;
        for (int r = 0; r < kRows; r++) sum += table[(size_t)r * n + column];
        const double mean = sum / kRows;
        for (int r = 0; r < kRows; r++) spread += pow(table[(size_t)r * n + column] - mean, 2);
        return (table[e] - mean) / sqrt(spread / (kRows - 1));
    }));
}
