// Densities of n particles in the unit cube by smoothed particle hydrodynamics. The particles are
// sorted by cells as wide as the smoothing length, some eight in each; a particle looks at its own
// cell and those around it.
//
//     nvcc -O2 -o sph_density sph_density.cu && ./sph_density 100000

#include "../host.h"

struct Cells {
    int side;          // cells along each axis
    const int *start;  // side^3 + 1 places in the array of particles
};

__host__ __device__ inline int cell_of(float coordinate, int side) {
    const int cell = (int)(coordinate * side);
    return cell < side ? cell : side - 1;
}

__host__ __device__ inline float density_at(int i, const float4 *particles, Cells cells, float h2) {
    const float4 self = particles[i];
    const int cx = cell_of(self.x, cells.side), cy = cell_of(self.y, cells.side);
    const int cz = cell_of(self.z, cells.side);
    float density = 0.0f;
    for (int z = cz - 1; z <= cz + 1; z++) {
        for (int y = cy - 1; y <= cy + 1; y++) {
            for (int x = cx - 1; x <= cx + 1; x++) {
                if (x < 0 || y < 0 || z < 0) continue;
                if (x >= cells.side || y >= cells.side || z >= cells.side) continue;
                const int cell = (z * cells.side + y) * cells.side + x;
                for (int j = cells.start[cell]; j < cells.start[cell + 1]; j++) {
                    const float4 other = particles[j];
                    const float dx = self.x - other.x, dy = self.y - other.y;
                    const float dz = self.z - other.z;
                    const float q = 1.0f - (dx * dx + dy * dy + dz * dz) / h2;
                    if (q > 0.0f) density += other.w * q * q * q;
                }
            }
        }
    }
    return density;
}

__global__ void sph_density(int n, const float4 *particles, Cells cells, float h2, float *density) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) density[i] = density_at(i, particles, cells, h2);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 20000000);
    const int side = (int)fmax(1.0, cbrt(n / 8.0));
    const size_t cell_count = (size_t)side * side * side;
    const std::vector<float> numbers = quick_values(4 * (size_t)n, 1);
    std::vector<int> cell(n), start(cell_count + 1);
    for (int i = 0; i < n; i++) {
        const float *at = &numbers[4 * (size_t)i];
        cell[i] = (cell_of(at[2], side) * side + cell_of(at[1], side)) * side +
                  cell_of(at[0], side);
        start[cell[i] + 1]++;
    }
    for (size_t c = 0; c < cell_count; c++) start[c + 1] += start[c];
    std::vector<float4> particles(n);
    std::vector<int> place(start.begin(), start.end() - 1);
    for (int i = 0; i < n; i++) {
        const float *at = &numbers[4 * (size_t)i];
        particles[place[cell[i]]++] = make_float4(at[0], at[1], at[2], 0.5f + at[3]);
    }
    const float h2 = 1.0f / ((float)side * side);
    const Cells cells = {side, start.data()}, device_cells = {side, to_device(start)};
    const float4 *device_particles = to_device(particles);
    float *device_density = device_zeros<float>(n);

    const int threads = 256;
    const int blocks = (n + threads - 1) / threads;
    sph_density<<<blocks, threads>>>(n, device_particles, device_cells, h2, device_density);
    finish_launches();

    return verdict(sampled_error(from_device(device_density, n), [&](size_t i) {
        return density_at((int)i, particles.data(), cells, h2);
    }));
}
