// A time step of a cloth of n x n particles, structures of position and velocity: springs to twelve
// neighbours, weight and drag. The top row is held.
//
//     nvcc -O2 -o cloth_step cloth_step.cu && ./cloth_step 1000

#include "../host.h"

struct Particle {
    float3 position, velocity;
};

__host__ __device__ inline void pull(const Particle *cloth, int n, int column, int row, int dx,
                                     int dy, float rest, float stiffness, float3 at,
                                     float3 &force) {
    const int x = column + dx, y = row + dy;
    if (x < 0 || y < 0 || x >= n || y >= n) return;
    const float3 other = cloth[y * n + x].position;
    const float3 d = make_float3(other.x - at.x, other.y - at.y, other.z - at.z);
    const float length = sqrtf(d.x * d.x + d.y * d.y + d.z * d.z);
    const float factor = stiffness * (length - rest) / length;
    force.x += factor * d.x;
    force.y += factor * d.y;
    force.z += factor * d.z;
}

__host__ __device__ inline Particle moved(const Particle *cloth, int n, int column, int row,
                                          float spacing, float dt) {
    Particle p = cloth[row * n + column];
    if (row == 0) return p;
    float3 force = make_float3(-0.02f * p.velocity.x, -0.02f * p.velocity.y - 9.81f,
                               -0.02f * p.velocity.z);
    for (int side = -1; side <= 1; side += 2) {
        const float diagonal = 1.41421356f * spacing;
        pull(cloth, n, column, row, side, 0, spacing, 80.0f, p.position, force);
        pull(cloth, n, column, row, 0, side, spacing, 80.0f, p.position, force);
        pull(cloth, n, column, row, side, side, diagonal, 40.0f, p.position, force);
        pull(cloth, n, column, row, side, -side, diagonal, 40.0f, p.position, force);
        pull(cloth, n, column, row, 2 * side, 0, 2.0f * spacing, 10.0f, p.position, force);
        pull(cloth, n, column, row, 0, 2 * side, 2.0f * spacing, 10.0f, p.position, force);
    }
    p.velocity.x += dt * force.x;
    p.velocity.y += dt * force.y;
    p.velocity.z += dt * force.z;
    p.position.x += dt * p.velocity.x;
    p.position.y += dt * p.velocity.y;
    p.position.z += dt * p.velocity.z;
    return p;
}

__global__ void cloth_step(const Particle *before, Particle *after, int n, float spacing,
                           float dt) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < n && row < n)
        after[row * n + column] = moved(before, n, column, row, spacing, dt);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64);
    const size_t count = (size_t)n * n;
    const float spacing = 1.0f, dt = 0.01f;
    std::vector<Particle> cloth(count);
    for (size_t e = 0; e < count; e++) {
        const uint32_t bits = mixed((uint32_t)e);
        const float shift = (bits & 1023) * 0.0005f, speed = (bits >> 22) * 0.001f;
        cloth[e] = {make_float3(e % n * spacing + shift, e / n * -spacing - shift, 0.3f * shift),
                    make_float3(speed, 0.5f - speed, 0.25f)};
    }
    const Particle *d_before = to_device(cloth);
    Particle *d_after = device_zeros<Particle>(count);

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    cloth_step<<<grid, block>>>(d_before, d_after, n, spacing, dt);
    finish_launches();

    const std::vector<Particle> after = from_device(d_after, count);
    std::vector<float> error(1000);
    for (size_t s = 0; s < error.size(); s++) {
        const size_t e = count * s / error.size();
        const Particle p = moved(cloth.data(), n, (int)(e % n), (int)(e / n), spacing, dt);
        const float3 a = after[e].velocity, b = p.velocity;
        error[s] = fmaxf(fmaxf(fabsf(a.x - b.x), fabsf(a.y - b.y)), fabsf(a.z - b.z)) +
                   fabsf(after[e].position.x - p.position.x) / n;
    }
    return verdict(sampled_error(error, [](size_t) { return 0.0f; }));
}
