// Statistical physics: a Metropolis sweep over an Ising model of n x n spins (n even), first those
// of one colour of the chequerboard, then the others. Spins are bytes, the lattice is a torus.
//
//     nvcc -O2 -o ising_sweep ising_sweep.cu && ./ising_sweep 1500

#include "summed.h"

__host__ __device__ inline float uniform(unsigned site, unsigned seed) {
    return (mixed(mixed(site) + seed) >> 8) * (1.0f / 16777216.0f);
}

__host__ __device__ inline signed char flipped(int spin, int around, float beta, float random) {
    const float delta = 2.0f * spin * around;
    return (signed char)(delta <= 0.0f || random < expf(-beta * delta) ? -spin : spin);
}

__global__ void update_colour(signed char *spins, int n, int colour, float beta, unsigned seed) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;  // A pair of sites.
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (j >= n / 2 || row >= n) return;
    const int col = 2 * j + ((row + colour) & 1);
    const int up = row == 0 ? n - 1 : row - 1, down = row == n - 1 ? 0 : row + 1;
    const int left = col == 0 ? n - 1 : col - 1, right = col == n - 1 ? 0 : col + 1;
    const int around = spins[up * n + col] + spins[down * n + col] + spins[row * n + left] +
                       spins[row * n + right];
    const int site = row * n + col;
    spins[site] = flipped(spins[site], around, beta, uniform(site, seed));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 50, 40000) / 2 * 2;
    const size_t count = (size_t)n * n;
    std::vector<signed char> spins(count);
    for (size_t i = 0; i < count; i++) spins[i] = mixed((uint32_t)i + 9u) & 64 ? 1 : -1;
    signed char *d_spins = to_device(spins);

    const float beta = 0.44f;
    dim3 threads(32, 8);
    dim3 blocks((n / 2 + threads.x - 1) / threads.x, (n + threads.y - 1) / threads.y);
    update_colour<<<blocks, threads>>>(d_spins, n, 0, beta, 17u);
    update_colour<<<blocks, threads>>>(d_spins, n, 1, beta, 18u);
    finish_launches();

    const std::vector<signed char> after = from_device(d_spins, count);
    double weighted = 0.0;
    for (size_t i = 0; i < count; i++) weighted += after[i] * (double)(i % 1009);
    printf("checksum of spins: %.10g\n", weighted);
    // Neighbours of the second colour are as they were left by the first one.
    size_t wrong = 0;
    for (size_t e = 1; e < count; e += count / 1000 + 1) {
        const int row = (int)(e / n), col = (int)(e % n), colour = (row + col) & 1;
        const std::vector<signed char> &seen = colour ? after : spins;
        auto at = [&](int r, int c) { return seen[(size_t)((r + n) % n) * n + (c + n) % n]; };
        const int around =
            at(row - 1, col) + at(row + 1, col) + at(row, col - 1) + at(row, col + 1);
        wrong += after[e] != flipped(spins[e], around, beta, uniform((unsigned)e, 17u + colour));
    }
    return verdict(wrong > 2);
}
