// Monte Carlo values of swaptions in the LIBOR market model: each of n paths has 40 forward rates
// in a local array and takes 20 steps with normal numbers from memory; then eight contracts.
//
//     nvcc -O2 -o libor_paths libor_paths.cu && ./libor_paths 10000

#include "../host.h"

#define RATES 40
#define STEPS 20
#define CONTRACTS 8
#define PERIOD 0.25f

__constant__ float volatilities[RATES];
__constant__ int maturities[CONTRACTS];
__constant__ float swap_rates[CONTRACTS];

__host__ __device__ inline float path_value(const float *normals, size_t path, size_t paths,
                                            const float *sigma, const int *maturity,
                                            const float *swap) {
    float rate[RATES];
    for (int i = 0; i < RATES; i++) rate[i] = 0.05f;
    for (int s = 0; s < STEPS; s++) {
        const float shock = sqrtf(PERIOD) * normals[s * paths + path];
        float drift = 0.0f;
        for (int i = s + 1; i < RATES; i++) {
            const float v = sigma[i - s - 1], c = PERIOD * v;
            drift += c * rate[i] / (1.0f + PERIOD * rate[i]);
            rate[i] *= expf(drift * v + v * (shock - 0.5f * c));
        }
    }
    float bond = 1.0f, annuity = 0.0f, value = 0.0f;
    int contract = 0;
    for (int i = STEPS; i < RATES; i++) {
        bond /= 1.0f + PERIOD * rate[i];
        annuity += PERIOD * bond;
        if (contract < CONTRACTS && i - STEPS + 1 == maturity[contract]) {
            value += 100.0f * fmaxf(bond + swap[contract] * annuity - 1.0f, 0.0f);
            contract++;
        }
    }
    for (int i = 0; i < STEPS; i++) value /= 1.0f + PERIOD * rate[i];
    return value;
}

__global__ void libor_paths(int paths, const float *__restrict__ normals,
                            float *__restrict__ values) {
    const int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path < paths)
        values[path] = path_value(normals, path, paths, volatilities, maturities, swap_rates);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 25);
    // Sums of three numbers are nearly normal.
    std::vector<float> normals = quick_values((size_t)n * STEPS, 1);
    const std::vector<float> second = quick_values((size_t)n * STEPS, 2);
    const std::vector<float> third = quick_values((size_t)n * STEPS, 3);
    for (size_t e = 0; e < normals.size(); e++)
        normals[e] = 2.0f * (normals[e] + second[e] + third[e] - 1.5f);
    float sigma[RATES], swap[CONTRACTS];
    int maturity[CONTRACTS];
    for (int i = 0; i < RATES; i++) sigma[i] = 0.2f + 0.0025f * (float)i;
    for (int i = 0; i < CONTRACTS; i++) {
        maturity[i] = 2 * i + 4;
        swap[i] = 0.045f + 0.002f * (float)i;
    }
    CHECK(cudaMemcpyToSymbol(volatilities, sigma, sizeof sigma));
    CHECK(cudaMemcpyToSymbol(maturities, maturity, sizeof maturity));
    CHECK(cudaMemcpyToSymbol(swap_rates, swap, sizeof swap));
    const float *d_normals = to_device(normals);
    float *d_values = device_zeros<float>(n);

    const int threads = 64;
    libor_paths<<<(n + threads - 1) / threads, threads>>>(n, d_normals, d_values);
    finish_launches();

    return verdict(sampled_error(from_device(d_values, n), [&](size_t path) {
        return path_value(normals.data(), path, n, sigma, maturity, swap);
    }));
}
