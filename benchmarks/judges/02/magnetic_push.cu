// Charged particles in a magnetic field for one time step, in a periodic box: each coordinate has
// an array of its own.
//
//     nvcc -O2 -o magnetic_push magnetic_push.cu && ./magnetic_push 100000

#include "../judge.h"

struct particles {
    float *x, *y, *z, *vx, *vy, *vz;
};

__host__ __device__ inline void push(float3 *position, float3 *velocity, float dt) {
    const float turn = 0.5f * dt * (1.0f + position->z);
    const float scale = 2.0f / (1.0f + turn * turn);
    const float ux = velocity->x + turn * velocity->y, uy = velocity->y - turn * velocity->x;
    velocity->x += scale * turn * uy;
    velocity->y -= scale * turn * ux;
    position->x += dt * velocity->x;
    position->y += dt * velocity->y;
    position->z += dt * velocity->z;
    position->x -= floorf(position->x);
    position->y -= floorf(position->y);
    position->z -= floorf(position->z);
}

__global__ void magnetic_push(particles p, float dt, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float3 position = make_float3(p.x[i], p.y[i], p.z[i]);
    float3 velocity = make_float3(p.vx[i], p.vy[i], p.vz[i]);
    push(&position, &velocity, dt);
    p.x[i] = position.x;
    p.y[i] = position.y;
    p.z[i] = position.z;
    p.vx[i] = velocity.x;
    p.vy[i] = velocity.y;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 26);
    std::vector<float> host[6];
    float *device[6];
    for (int a = 0; a < 6; a++) {
        host[a] = fixed_values(n, a + 1);
        device[a] = to_device(host[a]);
    }

    const float dt = 0.05f;
    const particles all = {device[0], device[1], device[2], device[3], device[4], device[5]};
    magnetic_push<<<(n + 511) / 512, 512>>>(all, dt, n);
    finish_launches();

    std::vector<float> actual = from_device(device[0], n);
    const std::vector<float> found_y = from_device(device[1], n);
    const std::vector<float> found_vx = from_device(device[3], n);
    for (int i = 0; i < n; i++) actual[i] += found_y[i] + found_vx[i];
    return verdict(sampled_error(actual, [&](size_t i) {
        float3 position = make_float3(host[0][i], host[1][i], host[2][i]);
        float3 velocity = make_float3(host[3][i], host[4][i], host[5][i]);
        push(&position, &velocity, dt);
        return position.x + position.y + velocity.x;
    }));
}
