// The electrostatic potential on an n x n slice through a molecule of 800 atoms, which lie in
// constant memory: all pairs of points and atoms.
//
//     nvcc -O2 -o coulomb_slice coulomb_slice.cu && ./coulomb_slice 500

#include "../judge.h"

#define ATOMS 800

// Place and charge.
__constant__ float4 atoms[ATOMS];

// The number of atoms is no size: there is no room for more.
#pragma cutune kernel coulomb_slice data(n)
__global__ void coulomb_slice(int n, int count, float spacing, float z, float *potential) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= n) return;
    const float x = column * spacing, y = row * spacing;
    float sum = 0.0f;
    for (int a = 0; a < count; a++) {
        const float dx = x - atoms[a].x, dy = y - atoms[a].y, dz = z - atoms[a].z;
        sum += atoms[a].w * rsqrtf(dx * dx + dy * dy + dz * dz);
    }
    potential[row * n + column] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 48);
    const size_t count = (size_t)n * n;
    const std::vector<float> numbers = fixed_values(4 * ATOMS, 1);
    std::vector<float4> molecule(ATOMS);
    for (int a = 0; a < ATOMS; a++)
        molecule[a] = make_float4(numbers[4 * a], numbers[4 * a + 1], numbers[4 * a + 2],
                                  numbers[4 * a + 3]);
    CHECK(cudaMemcpyToSymbol(atoms, molecule.data(), ATOMS * sizeof(float4)));
    float *device_potential = to_device(std::vector<float>(count));
    const float spacing = 1.0f / n, z = 1.25f;

    const dim3 block(16, 8);
    const dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    coulomb_slice<<<grid, block>>>(n, ATOMS, spacing, z, device_potential);
    finish_launches();

    return verdict(sampled_error(from_device(device_potential, count), [&](size_t e) {
        double sum = 0.0;
        for (const float4 &atom : molecule) {
            const double dx = e % n * spacing - atom.x, dy = e / n * spacing - atom.y;
            const double dz = z - atom.z;
            sum += atom.w / sqrt(dx * dx + dy * dy + dz * dz);
        }
        return sum;
    }));
}
