// A sweep of successive over-relaxation for Poisson's equation on 2 n x 2 n points, in place: first
// the red points of a chessboard, then the black ones. A thread has every second point of a row.
//
//     nvcc -O2 -o sor_redblack sor_redblack.cu && ./sor_redblack 500

#include "../judge.h"

// The colour is no size.
#pragma cutune kernel sor_redblack data(half)
__global__ void sor_redblack(int half, int colour, float omega, const float *source, float *u) {
    const int pair = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int n = 2 * half;
    if (pair >= half || row >= n - 1 || row == 0) return;
    const int column = 2 * pair + (row + colour) % 2;
    if (column == 0 || column >= n - 1) return;
    const int at = row * n + column;
    const float mean = 0.25f * (u[at - 1] + u[at + 1] + u[at - n] + u[at + n] - source[at]);
    u[at] += omega * (mean - u[at]);
}

int main(int argc, char **argv) {
    const int half = size_argument(argc, argv, 75, 16384), n = 2 * half;
    const size_t count = (size_t)n * n;
    const float omega = 1.6f;
    const std::vector<float> source = fixed_values(count, 1), start = fixed_values(count, 2);
    const float *device_source = to_device(source);
    float *device_u = to_device(start);

    const dim3 block(32, 8);
    const dim3 grid(blocks_for(half, block.x), blocks_for(n, block.y));
    for (int colour = 0; colour < 2; colour++)
        sor_redblack<<<grid, block>>>(half, colour, omega, device_source, device_u);
    finish_launches();

    std::vector<float> u = start;
    for (size_t colour = 0; colour < 2; colour++)
        for (size_t row = 1; row + 1 < (size_t)n; row++)
            for (size_t column = 1; column + 1 < (size_t)n; column++) {
                if ((row + column) % 2 != colour) continue;
                const size_t at = row * n + column;
                const float sum = u[at - 1] + u[at + 1] + u[at - n] + u[at + n] - source[at];
                u[at] += omega * (0.25f * sum - u[at]);
            }
    return verdict(sampled_error(from_device(device_u, count), [&](size_t e) { return u[e]; }));
}
