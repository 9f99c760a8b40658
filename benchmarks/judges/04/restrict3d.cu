// Restriction of multigrid in double precision: each of n x n x n coarse points is the weighted
// mean of 27 points of a grid twice as fine.
//
//     nvcc -O2 -o restrict3d restrict3d.cu && ./restrict3d 100

#include "../judge.h"

__global__ void restrict3d(int n, const double *fine, double *coarse) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= n || y >= n || z >= n) return;
    const int m = 2 * n + 1;
    const double *corner = fine + (2 * z * m + 2 * y) * m + 2 * x;
    double sum = 0.0;
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++) {
            const double *row = corner + (k * m + j) * m;
            const double weight = (k == 1 ? 0.5 : 0.25) * (j == 1 ? 0.5 : 0.25);
            sum += weight * (0.25 * row[0] + 0.5 * row[1] + 0.25 * row[2]);
        }
    coarse[(z * n + y) * n + x] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20, 600);
    const size_t m = 2 * (size_t)n + 1, count = (size_t)n * n * n;
    const std::vector<float> numbers = fixed_values(m * m * m, 1);
    const std::vector<double> fine(numbers.begin(), numbers.end());
    const double *device_fine = to_device(fine);
    double *device_coarse = to_device(std::vector<double>(count));

    const dim3 block(16, 4, 4);
    const dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y), blocks_for(n, block.z));
    restrict3d<<<grid, block>>>(n, device_fine, device_coarse);
    finish_launches();

    return verdict(sampled_error(from_device(device_coarse, count), [&](size_t e) {
        const size_t x = e % n, y = e / n % n, z = e / n / n;
        double sum = 0.0;
        for (size_t neighbour = 0; neighbour < 27; neighbour++) {
            const size_t i = neighbour % 3, j = neighbour / 3 % 3, k = neighbour / 9;
            const double weight = (i == 1 ? 0.5 : 0.25) * (j == 1 ? 0.5 : 0.25);
            sum += weight * (k == 1 ? 0.5 : 0.25) *
                   fine[((2 * z + k) * m + 2 * y + j) * m + 2 * x + i];
        }
        return sum;
    }));
}
