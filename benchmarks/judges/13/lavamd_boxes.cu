// Potential and force between particles of n x n x n boxes of 100 particles, FP64: those of a box
// and of the up to 26 boxes around it, of which there is a list, act on each other. A block has a
// box and brings one box after the other into shared memory.
//
//     nvcc -O2 -o lavamd_boxes lavamd_boxes.cu && ./lavamd_boxes 8

#include "../host.h"

#define PARTICLES 100

struct Particle {
    double v, x, y, z;
};

struct Box {
    int offset, neighbours;
    int near[27];
};

__host__ __device__ inline void interact(Particle a, Particle b, double charge, double a2,
                                         Particle &force) {
    const double square = a.v + b.v - (a.x * b.x + a.y * b.y + a.z * b.z);
    const double potential = exp(-a2 * square), strength = 2.0 * potential;
    force.v += charge * potential;
    force.x += charge * strength * (a.x - b.x);
    force.y += charge * strength * (a.y - b.y);
    force.z += charge * strength * (a.z - b.z);
}

#pragma cutune kernel lavamd data(boxes) block(x: 32, 64, 128, 256) grid(keep)
__global__ void lavamd(const Box *__restrict__ box, const Particle *__restrict__ particles,
                       const double *__restrict__ charges, Particle *__restrict__ forces, int boxes,
                       double a2) {
    __shared__ Particle own[PARTICLES], other[PARTICLES];
    __shared__ double charge[PARTICLES];
    if (blockIdx.x >= boxes) return;
    const int first = box[blockIdx.x].offset;
    for (int i = threadIdx.x; i < PARTICLES; i += blockDim.x) own[i] = particles[first + i];
    for (int k = 0; k < box[blockIdx.x].neighbours; k++) {
        const int begin = box[box[blockIdx.x].near[k]].offset;
        __syncthreads();
        for (int j = threadIdx.x; j < PARTICLES; j += blockDim.x) {
            other[j] = particles[begin + j];
            charge[j] = charges[begin + j];
        }
        __syncthreads();
        for (int i = threadIdx.x; i < PARTICLES; i += blockDim.x) {
            Particle force = forces[first + i];
            for (int j = 0; j < PARTICLES; j++)
                interact(own[i], other[j], charge[j], a2, force);
            forces[first + i] = force;
        }
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2, 60), boxes = n * n * n;
    const double a2 = 0.5;
    std::vector<Box> box(boxes);
    for (int b = 0; b < boxes; b++) {
        const int x = b % n, y = b / n % n, z = b / n / n;
        box[b] = {b * PARTICLES, 0, {}};
        for (int k = 0; k < 27; k++) {
            const int nx = x + k % 3 - 1, ny = y + k / 3 % 3 - 1, nz = z + k / 9 - 1;
            if (nx >= 0 && nx < n && ny >= 0 && ny < n && nz >= 0 && nz < n)
                box[b].near[box[b].neighbours++] = (nz * n + ny) * n + nx;
        }
    }
    std::vector<Particle> particles((size_t)boxes * PARTICLES);
    std::vector<double> charges(particles.size());
    for (size_t i = 0; i < particles.size(); i++) {
        auto tenths = [&](uint32_t k) { return (mixed(4 * (uint32_t)i + k) % 10 + 1) * 0.1; };
        particles[i] = {tenths(0), tenths(1), tenths(2), tenths(3)};
        charges[i] = (mixed((uint32_t)i + 77) % 10 + 1) * 0.1;
    }
    const Box *d_box = to_device(box);
    const Particle *d_particles = to_device(particles);
    const double *d_charges = to_device(charges);
    Particle *d_forces = device_zeros<Particle>(particles.size());

    lavamd<<<boxes, 128>>>(d_box, d_particles, d_charges, d_forces, boxes, a2);
    finish_launches();

    const std::vector<Particle> forces = from_device(d_forces, particles.size());
    std::vector<double> potentials, pulls;
    for (const Particle &force : forces) {
        potentials.push_back(force.v);
        pulls.push_back(force.x + force.y + force.z);
    }
    auto expected = [&](size_t i) {
        Particle force = {0.0, 0.0, 0.0, 0.0};
        const Box &home = box[i / PARTICLES];
        for (int k = 0; k < home.neighbours; k++)
            for (int j = 0; j < PARTICLES; j++) {
                const size_t other = (size_t)box[home.near[k]].offset + j;
                interact(particles[i], particles[other], charges[other], a2, force);
            }
        return force;
    };
    const double error = sampled_error(potentials, [&](size_t i) { return expected(i).v; });
    return verdict(fmax(error, sampled_error(pulls, [&](size_t i) {
                            const Particle force = expected(i);
                            return force.x + force.y + force.z;
                        })));
}
