// Temperature of a chip of 16 layers of n x n cells over two time steps, from the power of each
// cell and seven neighbouring temperatures. A thread goes up through the layers and keeps the cells
// below and above in registers.
//
//     nvcc -O2 -o hotspot3d hotspot3d.cu && ./hotspot3d 512

#include "../host.h"

#define LAYERS 16

struct Weights {
    float here, north, east, top, power, ambient;
};

__global__ void hotspot_step(const float *__restrict__ power, const float *__restrict__ before,
                             float *__restrict__ after, int nx, int ny, int nz, Weights w) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    const int layer = nx * ny;
    int here = y * nx + x;
    const int west = x > 0 ? -1 : 0, east = x < nx - 1 ? 1 : 0;
    const int north = y > 0 ? -nx : 0, south = y < ny - 1 ? nx : 0;
    float below = before[here], middle = below;
    for (int z = 0; z < nz; z++) {
        const float above = z < nz - 1 ? before[here + layer] : middle;
        after[here] = w.here * middle + w.east * (before[here + west] + before[here + east]) +
                      w.north * (before[here + north] + before[here + south]) +
                      w.top * (below + above) + w.power * power[here] + w.ambient;
        below = middle;
        middle = above;
        here += layer;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 8000);
    const size_t count = (size_t)n * n * LAYERS;
    const std::vector<float> power = quick_values(count, 1), before = quick_values(count, 2);
    const float *d_power = to_device(power);
    float *d_before = to_device(before), *d_after = device_zeros<float>(count);
    const Weights w = {0.42f, 0.11f, 0.09f, 0.08f, 0.3f, 0.016f};

    dim3 block(64, 4);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    hotspot_step<<<grid, block>>>(d_power, d_before, d_after, n, n, LAYERS, w);
    hotspot_step<<<grid, block>>>(d_power, d_after, d_before, n, n, LAYERS, w);
    finish_launches();

    auto inside = [](int i, int size) { return i < 0 ? 0 : i < size ? i : size - 1; };
    auto place = [&](int x, int y, int z) {
        return ((size_t)inside(z, LAYERS) * n + inside(y, n)) * n + inside(x, n);
    };
    auto step = [&](auto &&old, int x, int y, int z) {
        return w.here * old(x, y, z) + w.east * (old(x - 1, y, z) + old(x + 1, y, z)) +
               w.north * (old(x, y - 1, z) + old(x, y + 1, z)) +
               w.top * (old(x, y, z - 1) + old(x, y, z + 1)) + w.power * power[place(x, y, z)] +
               w.ambient;
    };
    auto first = [&](int x, int y, int z) { return (double)before[place(x, y, z)]; };
    auto second = [&](int x, int y, int z) {
        return step(first, inside(x, n), inside(y, n), inside(z, LAYERS));
    };
    return verdict(sampled_error(from_device(d_before, count), [&](size_t e) {
        return step(second, (int)(e % n), (int)(e / n % n), (int)(e / n / n));
    }));
}
