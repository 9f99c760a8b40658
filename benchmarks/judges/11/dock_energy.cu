// Energies of n poses of a molecule in a protein. A block has a pose: it turns 48 atoms, keeps them
// in dynamic shared memory, adds up what interpolation in the protein's fields gives for each atom
// and the forces between 600 pairs of atoms, and reduces the sums.
//
//     nvcc -O2 -o dock_energy dock_energy.cu && ./dock_energy 1000

#include "../host.h"

#define ATOMS 48
#define PAIRS 600
#define SIDE 64
#define KINDS 4

struct Pose {
    float x, y, z, angle_x, angle_y, angle_z;
};

__host__ __device__ inline float3 turned(const Pose &pose, float4 atom) {
    const float cx = cosf(pose.angle_x), sx = sinf(pose.angle_x);
    const float cy = cosf(pose.angle_y), sy = sinf(pose.angle_y);
    const float cz = cosf(pose.angle_z), sz = sinf(pose.angle_z);
    const float y1 = cx * atom.y - sx * atom.z, z1 = sx * atom.y + cx * atom.z;
    const float x2 = cy * atom.x + sy * z1, z2 = cy * z1 - sy * atom.x;
    return make_float3(pose.x + cz * x2 - sz * y1, pose.y + sz * x2 + cz * y1, pose.z + z2);
}

// The field of a kind of atom, between the eight points around a place.
__host__ __device__ inline float field_at(const float *fields, int kind, float3 p) {
    const float x = fminf(fmaxf(p.x, 0.0f), SIDE - 1.001f);
    const float y = fminf(fmaxf(p.y, 0.0f), SIDE - 1.001f);
    const float z = fminf(fmaxf(p.z, 0.0f), SIDE - 1.001f);
    const int i = (int)x, j = (int)y, k = (int)z;
    const float u = x - i, v = y - j, w = z - k;
    const float *f = fields + ((kind * SIDE + k) * SIDE + j) * SIDE + i;
    const float *g = f + SIDE * SIDE;
    const float low = (1.0f - v) * ((1.0f - u) * f[0] + u * f[1]) +
                      v * ((1.0f - u) * f[SIDE] + u * f[SIDE + 1]);
    const float high = (1.0f - v) * ((1.0f - u) * g[0] + u * g[1]) +
                       v * ((1.0f - u) * g[SIDE] + u * g[SIDE + 1]);
    return (1.0f - w) * low + w * high;
}

__host__ __device__ inline float pair_energy(float dx, float dy, float dz, float charge) {
    const float square = dx * dx + dy * dy + dz * dz + 0.25f;
    const float s2 = 4.0f / square, s6 = s2 * s2 * s2;
    return 0.2f * (s6 * s6 - 2.0f * s6) + charge / sqrtf(square);
}

#pragma cutune kernel dock_energy data(poses) block(x: 32, 64, 128, 256, 512, 1024) grid(keep) \
    shared(4 * x + 576)
__global__ void dock_energy(int poses, const Pose *__restrict__ pose,
                            const float4 *__restrict__ atoms, const int2 *__restrict__ pairs,
                            const float *__restrict__ fields, float *__restrict__ energy) {
    extern __shared__ float places[];
    float *xs = places, *ys = xs + ATOMS, *zs = ys + ATOMS, *sums = zs + ATOMS;
    const int t = threadIdx.x, number = blockIdx.x;
    if (number >= poses) return;
    const Pose own = pose[number];
    float sum = 0.0f;
    for (int a = t; a < ATOMS; a += blockDim.x) {
        const float3 place = turned(own, atoms[a]);
        xs[a] = place.x;
        ys[a] = place.y;
        zs[a] = place.z;
        sum += field_at(fields, a % KINDS, place);
    }
    __syncthreads();
    for (int p = t; p < PAIRS; p += blockDim.x) {
        const int a = pairs[p].x, b = pairs[p].y;
        sum += pair_energy(xs[a] - xs[b], ys[a] - ys[b], zs[a] - zs[b], atoms[a].w * atoms[b].w);
    }
    sums[t] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t == 0) energy[number] = sums[0];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 16, 1 << 22);
    const std::vector<float> random = quick_values((size_t)n * 6, 1);
    const std::vector<float> fields = quick_values(KINDS * SIDE * SIDE * SIDE, 2);
    std::vector<float> atoms = quick_values(4 * ATOMS, 3);
    std::vector<Pose> poses(n);
    for (int i = 0; i < n; i++) {
        const float *r = random.data() + (size_t)i * 6;
        poses[i] = {12 + 40 * r[0], 12 + 40 * r[1], 12 + 40 * r[2], 6 * r[3], 6 * r[4], 6 * r[5]};
    }
    for (size_t e = 0; e < atoms.size(); e++)
        atoms[e] = (atoms[e] - 0.5f) * (e % 4 < 3 ? 16.0f : 1.0f);
    std::vector<int> pairs;
    for (int a = 0; a < ATOMS; a++)
        for (int b = a + 1; b < ATOMS; b++)
            if ((a + b) % 2 == 0 || b % 5 == 0) {
                pairs.push_back(a);
                pairs.push_back(b);
            }
    pairs.resize(2 * PAIRS);
    const Pose *d_poses = to_device(poses);
    const float *d_fields = to_device(fields), *d_atoms = to_device(atoms);
    const int *d_pairs = to_device(pairs);
    float *d_energy = device_zeros<float>(n);

    const int threads = 64;
    dock_energy<<<n, threads, (threads + 3 * ATOMS) * sizeof(float)>>>(
        n, d_poses, (const float4 *)d_atoms, (const int2 *)d_pairs, d_fields, d_energy);
    finish_launches();

    return verdict(sampled_error(from_device(d_energy, n), [&](size_t i) {
        float3 places[ATOMS];
        double sum = 0.0;
        for (int a = 0; a < ATOMS; a++) {
            places[a] = turned(poses[i], ((const float4 *)atoms.data())[a]);
            sum += field_at(fields.data(), a % KINDS, places[a]);
        }
        for (int p = 0; p < PAIRS; p++) {
            const int a = pairs[2 * p], b = pairs[2 * p + 1];
            sum += pair_energy(places[a].x - places[b].x, places[a].y - places[b].y,
                               places[a].z - places[b].z, atoms[4 * a + 3] * atoms[4 * b + 3]);
        }
        return sum;
    }));
}
