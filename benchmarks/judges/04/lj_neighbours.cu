// Lennard-Jones forces on n atoms from lists of up to 48 neighbours each, which are near in memory,
// too; those beyond the cut-off radius are passed over.
//
//     nvcc -O2 -o lj_neighbours lj_neighbours.cu && ./lj_neighbours 100000

#include "../judge.h"

#define NEIGHBOURS 48
#define WINDOW 2000
#define CUT_OFF 0.36f

__host__ __device__ inline float pull(float square) {
    const float inverse = 0.01f / square, sixth = inverse * inverse * inverse;
    return sixth * (2.0f * sixth - 1.0f) * inverse;
}

__global__ void lj_neighbours(int n, const float4 *atoms, const int *counts, const int *neighbours,
                              float4 *forces) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 own = atoms[i];
    float4 force = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const int count = counts[i];
    for (int k = 0; k < count; k++) {
        const float4 other = atoms[neighbours[k * n + i]];
        const float dx = own.x - other.x, dy = own.y - other.y, dz = own.z - other.z;
        const float square = dx * dx + dy * dy + dz * dz + 0.01f;
        if (square < CUT_OFF) {
            const float factor = other.w * pull(square);
            force.x += factor * dx;
            force.y += factor * dy;
            force.z += factor * dz;
        }
    }
    forces[i] = force;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 24);
    const std::vector<float> numbers = fixed_values(4 * (size_t)n, 1);
    std::vector<float4> atoms(n);
    for (size_t i = 0; i < atoms.size(); i++)
        atoms[i] = make_float4(numbers[4 * i], numbers[4 * i + 1], numbers[4 * i + 2],
                               numbers[4 * i + 3]);
    std::vector<int> counts = fixed_integers(n, NEIGHBOURS / 3 + 1, 2);
    for (int &count : counts) count = NEIGHBOURS - count;
    std::vector<int> neighbours = fixed_integers((size_t)NEIGHBOURS * n, WINDOW, 3);
    for (size_t e = 0; e < neighbours.size(); e++)
        neighbours[e] = (int)((e % n + neighbours[e] + 1) % n);
    const float4 *device_atoms = to_device(atoms);
    const int *device_counts = to_device(counts), *device_neighbours = to_device(neighbours);
    float4 *device_forces = to_device(std::vector<float4>(n));

    const int threads = 128;
    const int blocks = (n + threads - 1) / threads;
    lj_neighbours<<<blocks, threads>>>(n, device_atoms, device_counts, device_neighbours,
                                       device_forces);
    finish_launches();

    const std::vector<float4> forces = from_device(device_forces, n);
    std::vector<float> along_y(n);
    for (int i = 0; i < n; i++) along_y[i] = forces[i].y;
    return verdict(sampled_error(along_y, [&](size_t i) {
        float force = 0.0f;
        for (int k = 0; k < counts[i]; k++) {
            const float4 other = atoms[neighbours[(size_t)k * n + i]];
            const float dx = atoms[i].x - other.x, dy = atoms[i].y - other.y;
            const float dz = atoms[i].z - other.z;
            const float square = dx * dx + dy * dy + dz * dz + 0.01f;
            if (square < CUT_OFF) force += other.w * pull(square) * dy;
        }
        return force;
    }));
}
