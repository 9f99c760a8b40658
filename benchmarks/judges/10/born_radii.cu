// Generalized Born radii of n atoms by pairwise descreening (Hawkins, Cramer, Truhlar): each atom
// adds up what all others take from the solvent around it. The inverse radii are the result.
//
//     nvcc -O2 -o born_radii born_radii.cu && ./born_radii 1000

#include "../host.h"

#define SHRINK 0.8f

// What the sphere `other`, with its shrunken radius in w, adds to the sum of an atom.
__host__ __device__ inline float descreened(const float4 &atom, float radius,
                                            const float4 &other) {
    const float dx = other.x - atom.x, dy = other.y - atom.y, dz = other.z - atom.z;
    const float distance = sqrtf(dx * dx + dy * dy + dz * dz + 1e-12f);
    const float upper = distance + other.w;
    if (upper <= radius) return 0.0f;
    const float lower = 1.0f / fmaxf(radius, fabsf(distance - other.w)), inverse = 1.0f / upper;
    const float over = 1.0f / distance;
    return lower - inverse +
           0.25f * (distance - other.w * other.w * over) * (inverse * inverse - lower * lower) +
           0.5f * over * logf(inverse / lower);
}

__global__ void born_radii(const float4 *__restrict__ atoms, float *__restrict__ inverse_radii,
                           int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float4 atom = atoms[i];
    const float radius = atom.w / SHRINK;
    float sum = 0.0f;
    for (int j = 0; j < count; j++)
        if (j != i) sum += descreened(atom, radius, atoms[j]);
    inverse_radii[i] = 1.0f / radius - 0.5f * sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 1 << 20);
    std::vector<float> values = quick_values(4 * (size_t)n, 1);
    const float side = 2.8f * cbrtf((float)n);
    for (size_t e = 0; e < values.size(); e++)
        values[e] = e % 4 < 3 ? side * values[e] : SHRINK * (1.2f + 0.7f * values[e]);
    const float4 *d_atoms = (const float4 *)to_device(values);
    float *d_inverse = device_zeros<float>(n);

    const int threads = 128;
    born_radii<<<(n + threads - 1) / threads, threads>>>(d_atoms, d_inverse, n);
    finish_launches();

    const auto atom = [&](size_t i) {
        return make_float4(values[4 * i], values[4 * i + 1], values[4 * i + 2], values[4 * i + 3]);
    };
    return verdict(sampled_error(from_device(d_inverse, n), [&](size_t i) {
        const float4 own = atom(i);
        double sum = 0.0;
        for (size_t j = 0; j < (size_t)n; j++)
            if (j != i) sum += descreened(own, own.w / SHRINK, atom(j));
        return 1.0 / (own.w / SHRINK) - 0.5 * sum;
    }));
}
