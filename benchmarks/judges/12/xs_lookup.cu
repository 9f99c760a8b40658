// Cross sections for n neutrons of a Monte Carlo simulation of a reactor, FP64: for each a material
// with 4 to 32 nuclides, in each nuclide's table of 1500 energies a bisection, and five numbers
// between two lines of it, times the nuclide's density.
//
//     nvcc -O2 -o xs_lookup xs_lookup.cu && ./xs_lookup 100000

#include "../host.h"

#define NUCLIDES 60
#define ENERGIES 1500
#define MATERIALS 8
#define LONGEST 32

struct Line {
    double energy, total, elastic, absorbed, fission, neutrons;
};

struct Material {
    int count;
    int nuclides[LONGEST];
    double densities[LONGEST];
};

__host__ __device__ inline double lookup(const Line *tables, const Material *materials,
                                         uint32_t neutron) {
    const double energy = (mixed(neutron) >> 8) / 16777216.0;
    const Material *material = materials + mixed(neutron + 0x10000000u) % MATERIALS;
    double sums[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
    for (int k = 0; k < material->count; k++) {
        const Line *table = tables + material->nuclides[k] * ENERGIES;
        int low = 0, high = ENERGIES - 1;
        while (high - low > 1) {
            const int middle = (low + high) / 2;
            if (table[middle].energy > energy)
                high = middle;
            else
                low = middle;
        }
        const Line a = table[low], b = table[low + 1];
        const double share = (b.energy - energy) / (b.energy - a.energy);
        const double density = material->densities[k];
        sums[0] += density * (b.total - share * (b.total - a.total));
        sums[1] += density * (b.elastic - share * (b.elastic - a.elastic));
        sums[2] += density * (b.absorbed - share * (b.absorbed - a.absorbed));
        sums[3] += density * (b.fission - share * (b.fission - a.fission));
        sums[4] += density * (b.neutrons - share * (b.neutrons - a.neutrons));
    }
    return sums[0] + 2.0 * sums[1] + 3.0 * sums[2] + 4.0 * sums[3] + 5.0 * sums[4];
}

__global__ void xs_lookup(int neutrons, const Line *__restrict__ tables,
                          const Material *__restrict__ materials, double *__restrict__ out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < neutrons) out[i] = lookup(tables, materials, (uint32_t)i);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 26);
    const std::vector<float> random = quick_values(NUCLIDES * ENERGIES * 6, 1);
    std::vector<Line> tables(NUCLIDES * ENERGIES);
    for (size_t e = 0; e < tables.size(); e++) {
        const float *r = random.data() + 6 * e;
        const double energy = (e % ENERGIES + 0.9 * r[0]) / ENERGIES;
        tables[e] = {e % ENERGIES == 0 ? -1.0 : energy, r[1], r[2], r[3], r[4], r[5]};
        if (e % ENERGIES == ENERGIES - 1) tables[e].energy = 1.0;
    }
    const int counts[MATERIALS] = {32, 5, 4, 21, 27, 9, 12, 21};
    std::vector<Material> materials(MATERIALS);
    for (int m = 0; m < MATERIALS; m++) {
        materials[m] = {};
        materials[m].count = counts[m];
        for (int k = 0; k < counts[m]; k++) {
            materials[m].nuclides[k] = (int)(mixed(100 * m + k) % NUCLIDES);
            materials[m].densities[k] = 0.1 + (mixed(100 * m + k + 7777) & 1023) / 1024.0;
        }
    }
    const Line *d_tables = to_device(tables);
    const Material *d_materials = to_device(materials);
    double *d_out = device_zeros<double>(n);

    const int threads = 256, blocks = (n + threads - 1) / threads;
    xs_lookup<<<blocks, threads>>>(n, d_tables, d_materials, d_out);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, n), [&](size_t i) {
        return lookup(tables.data(), materials.data(), (uint32_t)i);
    }));
}
