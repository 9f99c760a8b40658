// Complex systems: a step of the sandpile on n x n cells. Each cell with four grains or more gives
// every neighbour as many as it can; what goes over the border is lost.
//
//     nvcc -O2 -o sandpile_topple sandpile_topple.cu && ./sandpile_topple 500

#include "checked.h"

__global__ void topple(const int *grains, int *next, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || col >= n) return;
    int i = row * n + col;
    int sum = grains[i] & 3;
    if (col > 0) sum += grains[i - 1] >> 2;
    if (col < n - 1) sum += grains[i + 1] >> 2;
    if (row > 0) sum += grains[i - n] >> 2;
    if (row < n - 1) sum += grains[i + n] >> 2;
    next[i] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 15800);
    const size_t count = (size_t)n * n;
    std::vector<int> grains(count);
    for (size_t i = 0; i < count; i++) grains[i] = (int)(mixed(3141u + (uint32_t)i) % 23);
    const int *d_grains = to_device(grains);
    int *d_next = device_zeros<int>(count);

    dim3 threads(32, 32);
    dim3 blocks((n + 31) / 32, (n + 31) / 32);
    topple<<<blocks, threads>>>(d_grains, d_next, n);
    finish_launches();

    const std::vector<int> next = from_device(d_next, count);
    say_sum("grains", next);
    return verdict(sampled_wrong(count, [&](size_t e) {
        const int64_t x = (int64_t)(e % n), y = (int64_t)(e / n);
        auto given = [&](int64_t i, int64_t j) {
            return i < 0 || j < 0 || i >= n || j >= n ? 0 : grains[j * n + i] / 4;
        };
        return next[e] == grains[e] % 4 + given(x - 1, y) + given(x + 1, y) + given(x, y - 1) +
                              given(x, y + 1);
    }));
}
