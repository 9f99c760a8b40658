// Molecular dynamics: the forces of n dihedral angles on the atoms of long chains. Four atoms are
// gathered; the energy is a polynomial of the cosine, by the kind of the angle; the forces on the
// four are added atomically.
//
//     nvcc -O2 -o dihedral_forces dihedral_forces.cu && ./dihedral_forces 100000

#include "../host.h"

#define KINDS 8
#define CHAIN 40

// Slopes of the energy by the cosine, from the constant term on.
struct Slope {
    float c[4];
};

__constant__ Slope slopes[KINDS];

__host__ __device__ inline float3 minus(float4 a, float4 b) {
    return make_float3(a.x - b.x, a.y - b.y, a.z - b.z);
}

__host__ __device__ inline float3 cross(float3 a, float3 b) {
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

__host__ __device__ inline float dot(float3 a, float3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

__host__ __device__ inline float3 mix(float s, float3 a, float t, float3 b) {
    return make_float3(s * a.x + t * b.x, s * a.y + t * b.y, s * a.z + t * b.z);
}

// The forces on the first and the last atom, and on the second.
__host__ __device__ inline void dihedral(float4 a, float4 b, float4 c, float4 d, const Slope &slope,
                                         float3 &first, float3 &second, float3 &last) {
    const float3 ab = minus(b, a), bc = minus(c, b), cd = minus(d, c);
    const float3 m = cross(ab, bc), n = cross(bc, cd);
    const float mm = 1.0f / dot(m, m), nn = 1.0f / dot(n, n), bb = dot(bc, bc);
    const float length = sqrtf(bb), scale = sqrtf(mm * nn);
    const float cosine = dot(m, n) * scale, sine = dot(ab, n) * length * scale;
    const float by_cosine =
        slope.c[0] + cosine * (slope.c[1] + cosine * (slope.c[2] + cosine * slope.c[3]));
    const float by_angle = -sine * by_cosine;
    first = mix(-by_angle * length * mm, m, 0.0f, m);
    last = mix(by_angle * length * nn, n, 0.0f, n);
    const float3 shared = mix(dot(ab, bc) / bb, first, -dot(cd, bc) / bb, last);
    second = mix(-1.0f, first, -1.0f, shared);
}

__device__ inline void add(float4 *forces, int atom, float3 force) {
    atomicAdd(&forces[atom].x, force.x);
    atomicAdd(&forces[atom].y, force.y);
    atomicAdd(&forces[atom].z, force.z);
}

__global__ void dihedral_forces(const int4 *__restrict__ angles, const int *__restrict__ kinds,
                                const float4 *__restrict__ atoms, float4 *__restrict__ forces,
                                int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int4 angle = angles[i];
    float3 first, second, last;
    dihedral(atoms[angle.x], atoms[angle.y], atoms[angle.z], atoms[angle.w], slopes[kinds[i]],
             first, second, last);
    add(forces, angle.x, first);
    add(forces, angle.y, second);
    add(forces, angle.z, mix(-1.0f, mix(1.0f, first, 1.0f, second), -1.0f, last));
    add(forces, angle.w, last);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 300, 300000000);
    // A chain of 40 atoms has 37 angles; every chain has a shape of its own.
    const int chains = n / (CHAIN - 3) + 1, count = chains * CHAIN;
    const std::vector<float> noise = quick_values(3 * (size_t)count, 1611);
    std::vector<float4> atoms(count);
    for (int i = 0; i < count; i++) {
        const float *own = noise.data() + 3 * (size_t)i;
        const int at = i % CHAIN, side = (at & 1) ? 1 : -1;
        atoms[i] = make_float4(1.25f * at + 0.3f * own[0], 0.45f * side + 0.3f * own[1],
                               (at % 3) * 0.8f + 0.4f * own[2], 0.0f);
    }
    std::vector<int4> angles(n);
    std::vector<int> kinds(n);
    for (int i = 0; i < n; i++) {
        // Nearby chains in mixed order.
        const int group = i / 64 * 64, size = n - group < 64 ? n - group : 64;
        const int other = group + (i - group + 29 * (group / 64)) % size;
        const int start = other / (CHAIN - 3) * CHAIN + other % (CHAIN - 3);
        angles[i] = make_int4(start, start + 1, start + 2, start + 3);
        kinds[i] = (int)(mixed(i + 1611u) % KINDS);
    }
    std::vector<Slope> own(KINDS);
    for (int k = 0; k < KINDS; k++)
        for (int j = 0; j < 4; j++) own[k].c[j] = 3.0f * sinf(1.0f + 2.0f * k + 5.0f * j) + 1.0f;
    CHECK(cudaMemcpyToSymbol(slopes, own.data(), KINDS * sizeof(Slope)));
    const int4 *d_angles = to_device(angles);
    const int *d_kinds = to_device(kinds);
    const float4 *d_atoms = to_device(atoms);
    float *d_forces = device_zeros<float>(4 * (size_t)count);

    const int threads = 256;
    const int blocks = (n + threads - 1) / threads;
    dihedral_forces<<<blocks, threads>>>(d_angles, d_kinds, d_atoms, (float4 *)d_forces, n);
    finish_launches();

    std::vector<float> expected(4 * (size_t)count, 0.0f);
    const auto plus = [&](int atom, float3 force) {
        expected[4 * (size_t)atom] += force.x;
        expected[4 * (size_t)atom + 1] += force.y;
        expected[4 * (size_t)atom + 2] += force.z;
    };
    for (int i = 0; i < n; i++) {
        const int4 at = angles[i];
        float3 first, second, last;
        dihedral(atoms[at.x], atoms[at.y], atoms[at.z], atoms[at.w], own[kinds[i]], first, second,
                 last);
        plus(at.x, first);
        plus(at.y, second);
        plus(at.z, mix(-1.0f, mix(1.0f, first, 1.0f, second), -1.0f, last));
        plus(at.w, last);
    }
    const std::vector<float> forces = from_device(d_forces, 4 * (size_t)count);
    return verdict(sampled_error(forces, [&](size_t e) { return expected[e]; }));
}
