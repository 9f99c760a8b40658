// One time step of particles that are kept as an array of structures of seven floats.
//
//     nvcc -O2 -o particle_step particle_step.cu && ./particle_step 100000

#include "../judge.h"

#include <cstring>

struct particle {
    float position[3], velocity[3], charge;
};

__host__ __device__ inline void move(particle *moved, float dt) {
    for (int d = 0; d < 3; d++) {
        moved->velocity[d] -= dt * moved->charge * moved->position[d];
        moved->position[d] += dt * moved->velocity[d];
    }
}

__global__ void particle_step(int n, float dt, particle *particles) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) move(&particles[i], dt);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 26);
    const std::vector<float> numbers = fixed_values((size_t)7 * n, 1);
    std::vector<particle> particles(n);
    memcpy((void *)particles.data(), numbers.data(), numbers.size() * sizeof(float));
    particle *device_particles = to_device(particles);

    const unsigned block = 256;
    particle_step<<<blocks_for(n, block), block>>>(n, 0.01f, device_particles);
    finish_launches();

    const std::vector<particle> found = from_device(device_particles, n);
    std::vector<float> actual(n);
    for (int i = 0; i < n; i++) actual[i] = found[i].position[0] + found[i].velocity[2];
    return verdict(sampled_error(actual, [&](size_t i) {
        particle moved = particles[i];
        move(&moved, 0.01f);
        return moved.position[0] + moved.velocity[2];
    }));
}
