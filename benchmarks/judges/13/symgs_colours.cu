// A Gauss-Seidel sweep for a matrix with 27 entries per row, FP64, as it smooths a grid of about n
// x n x n points: points of one of eight colours do not touch each other, and a launch updates
// those of one colour. Rows are sorted by colour, entries stand column by column.
//
//     nvcc -O2 -o symgs_colours symgs_colours.cu && ./symgs_colours 64

#include "../host.h"

#define WIDTH 27

__global__ void smooth_colour(const double *__restrict__ values, const int *__restrict__ columns,
                              const double *__restrict__ diagonal, const double *__restrict__ b,
                              double *x, int rows, int first, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int row = first + i;
    double sum = b[row];
    for (int k = 0; k < WIDTH; k++) {
        const int column = columns[(size_t)k * rows + row];
        if (column >= 0) sum -= values[(size_t)k * rows + row] * x[column];
    }
    sum += diagonal[row] * x[row];
    x[row] = sum / diagonal[row];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 16, 400);
    const int half = (n + 1) / 2, side = 2 * half, count = half * half * half, rows = 8 * count;
    auto number = [&](int x, int y, int z) {
        const int colour = (x & 1) + 2 * (y & 1) + 4 * (z & 1);
        return colour * count + ((z / 2) * half + y / 2) * half + x / 2;
    };
    std::vector<double> values((size_t)rows * WIDTH), diagonal(rows, 26.0), b(rows), x(rows);
    std::vector<int> columns((size_t)rows * WIDTH);
    for (int k = 0; k < WIDTH; k++)
        for (int row = 0; row < rows; row++) {
            const int colour = row / count, place = row % count;
            const int px = 2 * (place % half) + (colour & 1) + k % 3 - 1;
            const int py = 2 * (place / half % half) + (colour >> 1 & 1) + k / 3 % 3 - 1;
            const int pz = 2 * (place / half / half) + (colour >> 2) + k / 9 - 1;
            const bool inside =
                px >= 0 && px < side && py >= 0 && py < side && pz >= 0 && pz < side;
            const size_t e = (size_t)k * rows + row;
            columns[e] = inside ? number(px, py, pz) : -1;
            values[e] = k == 13 ? 26.0 : inside ? -1.0 - (double)(e & 7) / 64.0 : 0.0;
        }
    for (int row = 0; row < rows; row++) {
        b[row] = mixed(row) * (1.0 / 4294967296.0);
        x[row] = mixed(row + 0x10000000u) * (1.0 / 4294967296.0);
    }
    const double *d_values = to_device(values), *d_diagonal = to_device(diagonal);
    const double *d_b = to_device(b);
    const int *d_columns = to_device(columns);
    double *d_x = to_device(x);

    const int threads = 256, blocks = (count + threads - 1) / threads;
    for (int colour = 0; colour < 8; colour++)
        smooth_colour<<<blocks, threads>>>(d_values, d_columns, d_diagonal, d_b, d_x, rows,
                                           colour * count, count);
    finish_launches();

    for (int row = 0; row < rows; row++) {
        double sum = b[row];
        for (int k = 0; k < WIDTH; k++) {
            const int column = columns[(size_t)k * rows + row];
            if (column >= 0 && k != 13) sum -= values[(size_t)k * rows + row] * x[column];
        }
        x[row] = sum / diagonal[row];
    }
    return verdict(sampled_error(from_device(d_x, rows), [&](size_t row) { return x[row]; }));
}
