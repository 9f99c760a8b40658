// Monte Carlo transport of n photons through a turbid slab: free paths, absorption by weight,
// scattering after Henyey and Greenstein, and roulette for photons of little weight. For each
// photon: the depth where it ended and the weight that it had left.
//
//     nvcc -O2 -o photon_slab photon_slab.cu && ./photon_slab 100000

#include "../host.h"

constexpr float THICKNESS = 4.0f, ALBEDO = 0.9f, G = 0.75f;

__host__ __device__ inline float uniform(uint32_t &state) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return ((state >> 8) + 0.5f) * (1.0f / 16777216.0f);
}

__host__ __device__ inline float2 trace(uint32_t photon) {
    uint32_t state = mixed(photon + 1u) | 1u;
    float depth = 0.0f, direction = 1.0f, weight = 1.0f;
    for (;;) {
        depth -= direction * logf(uniform(state));
        if (depth < 0.0f || depth > THICKNESS) break;
        weight *= ALBEDO;
        if (weight < 0.1f) {
            if (uniform(state) > 0.2f) {
                weight = 0.0f;
                break;
            }
            weight *= 5.0f;
        }
        const float part = (1.0f - G * G) / (1.0f - G + 2.0f * G * uniform(state));
        float cosine = (1.0f + G * G - part * part) / (2.0f * G);
        cosine = fminf(fmaxf(cosine, -1.0f), 1.0f);
        const float sines = sqrtf((1.0f - cosine * cosine) * (1.0f - direction * direction));
        direction = direction * cosine + sines * cosf(6.2831853f * uniform(state));
        direction = fminf(fmaxf(direction, -1.0f), 1.0f);
    }
    return make_float2(fminf(fmaxf(depth, 0.0f), THICKNESS), weight);
}

__global__ void photon_slab(unsigned photons, float2 *ends) {
    const unsigned photon = blockIdx.x * blockDim.x + threadIdx.x;
    if (photon < photons) ends[photon] = trace(photon);
}

int main(int argc, char **argv) {
    const unsigned n = size_argument(argc, argv, 1000, 1 << 28);
    float2 *d_ends = device_zeros<float2>(n);

    const unsigned threads = 128;
    photon_slab<<<blocks_for(n, threads), threads>>>(n, d_ends);
    finish_launches();

    // Where a number rounds another way, a photon may take another path: few may do so.
    const std::vector<float2> ends = from_device(d_ends, n);
    const unsigned step = n / 1000 + 1;
    int photons = 0, others = 0;
    for (unsigned photon = 0; photon < n; photon += step, photons++) {
        const float2 expected = trace(photon), found = ends[photon];
        const bool same = fabsf(found.x - expected.x) < 1e-2f &&
                          fabsf(found.y - expected.y) < 1e-2f;
        if (!same) others++;
    }
    printf("%d of %d photons went elsewhere\n", others, photons);
    return verdict(others <= photons / 100 ? 0.0 : 1.0);
}
