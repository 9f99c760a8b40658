// Puts the state of n particles in a new order: positions, velocities and numbers, gathered by an
// array of places. The order is that of a sort in which particles move at most 16384 places.
//
//     nvcc -O2 -o permute_particles permute_particles.cu && ./permute_particles 100000

#include <utility>

#include "../host.h"

struct State {
    float4 *position;
    float4 *velocity;
    int *id;
};

__global__ void permute(const int *order, const State from, State to, int count) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= count) return;
    int source = order[index];
    to.position[index] = from.position[source];
    to.velocity[index] = from.velocity[source];
    to.id[index] = from.id[source];
}

static std::vector<float4> vectors(size_t count, unsigned seed) {
    const std::vector<float> numbers = quick_values(4 * count, seed);
    std::vector<float4> values(count);
    memcpy(values.data(), numbers.data(), count * sizeof(float4));
    return values;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 100000000);
    const int window = 16384;
    const std::vector<float4> position = vectors(n, 1), velocity = vectors(n, 2);
    std::vector<int> id(n), order(n);
    for (int i = 0; i < n; i++) id[i] = n - i, order[i] = i;
    for (int first = 0; first < n; first += window) {
        const int size = n - first < window ? n - first : window;
        for (int i = size - 1; i > 0; i--)
            std::swap(order[first + i], order[first + mixed(first + i) % (i + 1)]);
    }
    const State from = {to_device(position), to_device(velocity), to_device(id)};
    const State to = {device_zeros<float4>(n), device_zeros<float4>(n), device_zeros<int>(n)};
    const int *d_order = to_device(order);

    int block_size = 256;
    int num_blocks = (n + block_size - 1) / block_size;
    permute<<<num_blocks, block_size>>>(d_order, from, to, n);
    finish_launches();

    const std::vector<float4> p = from_device(to.position, n), v = from_device(to.velocity, n);
    std::vector<float> sums(n);
    for (int i = 0; i < n; i++) sums[i] = p[i].x + p[i].y + p[i].z + p[i].w + v[i].x + v[i].w;
    const double ids = sampled_error(from_device(to.id, n), [&](size_t i) { return id[order[i]]; });
    return verdict(ids + sampled_error(sums, [&](size_t i) {
        const float4 a = position[order[i]], b = velocity[order[i]];
        return a.x + a.y + a.z + a.w + b.x + b.w;
    }));
}
