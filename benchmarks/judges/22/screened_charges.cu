// Plasma physics: potential of n screened charges at each other, all pairs, a structure of five
// floats each.
//
//     nvcc -O2 -o screened_charges screened_charges.cu && ./screened_charges 500

#include "summed.h"

struct Ion {
    float x, y, z;
    float charge;
    float radius;
};

__host__ __device__ inline float pair_potential(const Ion &a, const Ion &b, float kappa) {
    float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
    float reach = a.radius + b.radius;
    float r = sqrtf(dx * dx + dy * dy + dz * dz + reach * reach);
    return b.charge * expf(-kappa * r) / r;
}

__global__ void potentials(const Ion *ions, float *phi, int n, float kappa) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Ion me = ions[i];
    float sum = 0.0f;
    for (int j = 0; j < n; ++j) {
        if (j != i) sum += pair_potential(me, ions[j], kappa);
    }
    phi[i] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200, 300000);
    const std::vector<float> values = quick_values(5 * (size_t)n, 2341);
    std::vector<Ion> ions(n);
    for (int i = 0; i < n; i++) {
        const float *v = &values[5 * (size_t)i];
        ions[i] = {4 * v[0], 4 * v[1], 4 * v[2], 1.0f + v[3], 0.05f + 0.1f * v[4]};
    }
    Ion *d_ions = to_device(ions);
    float *d_phi = device_zeros<float>(n);

    int nThreads = 64;
    int nBlocks = (n + nThreads - 1) / nThreads;
    potentials<<<nBlocks, nThreads>>>(d_ions, d_phi, n, 0.8f);
    finish_launches();

    const std::vector<float> phi = from_device(d_phi, n);
    say_sum("potentials", phi);
    return verdict(sampled_error(phi, [&](size_t i) {
        double sum = 0.0;
        for (int j = 0; j < n; j++)
            if (j != (int)i) sum += pair_potential(ions[i], ions[j], 0.8f);
        return sum;
    }));
}
