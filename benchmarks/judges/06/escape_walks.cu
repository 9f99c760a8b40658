// n random walks over a map of 1024 x 1024 bytes with traps: how many steps a walker makes until a
// trap holds it, and where. Monte Carlo with whole numbers, loops of very unequal length.
//
//     nvcc -O2 -o escape_walks escape_walks.cu && ./escape_walks 100000

#include "../host.h"

#define SIDE 1024
#define MOST_STEPS 400

__host__ __device__ inline uint2 walk(unsigned walker, const unsigned char *traps) {
    unsigned state = mixed(walker + 1u) | 1u;
    unsigned x = state >> 8 & (SIDE - 1), y = state >> 18 & (SIDE - 1);
    unsigned steps = 0;
    while (steps < MOST_STEPS && !traps[y * SIDE + x]) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        const unsigned direction = state >> 30;
        if (direction == 0)
            x = (x + 1) & (SIDE - 1);
        else if (direction == 1)
            x = (x - 1) & (SIDE - 1);
        else if (direction == 2)
            y = (y + 1) & (SIDE - 1);
        else
            y = (y - 1) & (SIDE - 1);
        steps++;
    }
    return make_uint2(steps, y * SIDE + x);
}

__global__ void escape_walks(unsigned walkers, const unsigned char *traps, unsigned *steps,
                             unsigned *places) {
    unsigned walker = blockIdx.x * blockDim.x + threadIdx.x;
    if (walker < walkers) {
        uint2 end = walk(walker, traps);
        steps[walker] = end.x;
        places[walker] = end.y;
    }
}

int main(int argc, char **argv) {
    const unsigned n = size_argument(argc, argv, 500, 1 << 29);
    std::vector<unsigned char> traps(SIDE * SIDE);
    for (size_t e = 0; e < traps.size(); e++) traps[e] = mixed((uint32_t)e + 3u) % 40 == 0;
    const unsigned char *d_traps = to_device(traps);
    unsigned *d_steps = device_zeros<unsigned>(n), *d_places = device_zeros<unsigned>(n);

    dim3 block(128);
    dim3 grid((n + block.x - 1) / block.x);
    escape_walks<<<grid, block>>>(n, d_traps, d_steps, d_places);
    finish_launches();

    const double error = sampled_error(from_device(d_steps, n), [&](size_t i) {
        return walk((unsigned)i, traps.data()).x;
    });
    return verdict(error + sampled_error(from_device(d_places, n), [&](size_t i) {
        return walk((unsigned)i, traps.data()).y;
    }));
}
