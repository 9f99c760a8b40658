// Velocities that n vortex particles give each other by the law of Biot and Savart, with a smooth
// core: all pairs, cross products and reciprocal square roots.
//
//     nvcc -O2 -o vortex_velocity vortex_velocity.cu && ./vortex_velocity 10000

#include "../host.h"

__global__ void vortex_velocity(int n, const float4 *__restrict__ position,
                                const float4 *__restrict__ strength, float4 *velocity, float core) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 p = position[i];
        float vx = 0.0f, vy = 0.0f, vz = 0.0f;
        for (int j = 0; j < n; j++) {
            float4 q = position[j], g = strength[j];
            float dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + core);
            float weight = inverse * inverse * inverse;
            vx += weight * (g.y * dz - g.z * dy);
            vy += weight * (g.z * dx - g.x * dz);
            vz += weight * (g.x * dy - g.y * dx);
        }
        velocity[i] = make_float4(vx, vy, vz, 0.0f);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200, 10000000);
    const float core = 0.01f;
    const std::vector<float> position = quick_values(4 * (size_t)n, 1);
    std::vector<float> strength = quick_values(4 * (size_t)n, 2);
    for (float &value : strength) value -= 0.25f;
    const float4 *d_position = (const float4 *)to_device(position);
    const float4 *d_strength = (const float4 *)to_device(strength);
    float4 *d_velocity = device_zeros<float4>(n);

    dim3 block(256);
    dim3 grid((n + block.x - 1) / block.x);
    vortex_velocity<<<grid, block>>>(n, d_position, d_strength, d_velocity, core);
    finish_launches();

    const std::vector<float> found = from_device((const float *)d_velocity, 4 * (size_t)n);
    return verdict(sampled_error(found, [&](size_t e) {
        const size_t c = e % 4, a = (c + 1) % 3, b = (c + 2) % 3;
        if (c == 3) return 0.0f;
        const float *p = &position[e - c];
        float sum = 0.0f;
        for (size_t j = 0; j < 4 * (size_t)n; j += 4) {
            const float *q = &position[j], *g = &strength[j];
            const float d[3] = {p[0] - q[0], p[1] - q[1], p[2] - q[2]};
            const float square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + core;
            sum += (g[a] * d[b] - g[b] * d[a]) / (square * sqrtf(square));
        }
        return sum;
    }));
}
