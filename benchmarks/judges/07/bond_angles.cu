// Forces of n angles between chemical bonds, as molecular dynamics has them: an angle's thread
// gathers its three atoms and the constants of its kind, and adds forces to all three by atomics.
//
//     nvcc -O2 -o bond_angles bond_angles.cu && ./bond_angles 100000

#include "../host.h"

#define KINDS 40

struct Pull {
    float3 first, last;  // on the outer atoms; the one between gets the opposite of their sum
};

__host__ __device__ inline Pull pull(float4 a, float4 b, float4 c, float2 constants) {
    const float px = a.x - b.x, py = a.y - b.y, pz = a.z - b.z;
    const float qx = c.x - b.x, qy = c.y - b.y, qz = c.z - b.z;
    const float p2 = px * px + py * py + pz * pz, q2 = qx * qx + qy * qy + qz * qz;
    const float scale = 1.0f / sqrtf(p2 * q2);
    float cosine = (px * qx + py * qy + pz * qz) * scale;
    cosine = fminf(fmaxf(cosine, -0.99f), 0.99f);  // keeps straight angles finite
    const float bend = acosf(cosine) - constants.y;
    const float force = 2.0f * constants.x * bend / sqrtf(1.0f - cosine * cosine);
    const float mixed_part = force * scale, p_part = force * cosine / p2;
    const float q_part = force * cosine / q2;
    return {make_float3(mixed_part * qx - p_part * px, mixed_part * qy - p_part * py,
                        mixed_part * qz - p_part * pz),
            make_float3(mixed_part * px - q_part * qx, mixed_part * py - q_part * qy,
                        mixed_part * pz - q_part * qz)};
}

__global__ void bond_angles(int angles, const int4 *__restrict__ atoms,
                            const float4 *__restrict__ place, const float2 *__restrict__ kinds,
                            float *force) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < angles) {
        int4 who = atoms[i];
        Pull f = pull(place[who.x], place[who.y], place[who.z], kinds[who.w]);
        atomicAdd(&force[3 * who.x], f.first.x);
        atomicAdd(&force[3 * who.x + 1], f.first.y);
        atomicAdd(&force[3 * who.x + 2], f.first.z);
        atomicAdd(&force[3 * who.y], -(f.first.x + f.last.x));
        atomicAdd(&force[3 * who.y + 1], -(f.first.y + f.last.y));
        atomicAdd(&force[3 * who.y + 2], -(f.first.z + f.last.z));
        atomicAdd(&force[3 * who.z], f.last.x);
        atomicAdd(&force[3 * who.z + 1], f.last.y);
        atomicAdd(&force[3 * who.z + 2], f.last.z);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 50000000);
    // About as many atoms as angles. The outer ones have other numbers than the one between.
    const int count = n + 60;
    std::vector<float4> place(count);
    for (int i = 0; i < count; i++) {
        const uint32_t bits = mixed(i + 5u);
        place[i] = make_float4(0.6f * (i % 61) + (bits & 255) / 640.0f, (bits >> 8 & 255) / 64.0f,
                               (bits >> 16 & 255) / 64.0f, 0.0f);
    }
    std::vector<int4> atoms(n);
    for (int i = 0; i < n; i++) {
        const uint32_t bits = mixed(i + 11u);
        const int middle = i + 30;
        atoms[i] = make_int4(middle - 1 - (int)(bits % 30), middle,
                             middle + 1 + (int)(bits >> 8) % 29, (int)(bits >> 20) % KINDS);
    }
    std::vector<float2> kinds(KINDS);
    for (int k = 0; k < KINDS; k++) kinds[k] = make_float2(0.5f + 0.05f * k, 1.5f + 0.02f * k);
    const int4 *d_atoms = to_device(atoms);
    const float4 *d_place = to_device(place);
    const float2 *d_kinds = to_device(kinds);
    float *d_force = device_zeros<float>(3 * (size_t)count);

    int block = 256;
    int grid = (n + block - 1) / block;
    bond_angles<<<grid, block>>>(n, d_atoms, d_place, d_kinds, d_force);
    finish_launches();

    std::vector<float3> force(count);
    for (const int4 &who : atoms) {
        const Pull f = pull(place[who.x], place[who.y], place[who.z], kinds[who.w]);
        float3 &first = force[who.x], &middle = force[who.y], &last = force[who.z];
        first = make_float3(first.x + f.first.x, first.y + f.first.y, first.z + f.first.z);
        middle = make_float3(middle.x - f.first.x - f.last.x, middle.y - f.first.y - f.last.y,
                             middle.z - f.first.z - f.last.z);
        last = make_float3(last.x + f.last.x, last.y + f.last.y, last.z + f.last.z);
    }
    return verdict(sampled_error(from_device(d_force, 3 * (size_t)count), [&](size_t e) {
        const float3 f = force[e / 3];
        return e % 3 == 0 ? f.x : e % 3 == 1 ? f.y : f.z;
    }));
}
