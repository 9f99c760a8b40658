// Weather: long-wave radiation in n x n columns of air of 60 layers, FP64. A thread follows its
// column down, keeps what comes down at each layer, and follows it up again for the warming of
// each layer.
//
//     nvcc -O2 -o two_stream two_stream.cu && ./two_stream 64

#include "../host.h"

#define LAYERS 60

__host__ __device__ inline double emitted(double kelvin) {
    const double squared = kelvin * kelvin;
    return 5.670374e-8 * squared * squared;
}

__host__ __device__ inline void radiate(const double *depth, const double *kelvin, double *down,
                                        double *warming, size_t stride) {
    double coming = 0.0;
    for (int k = 0; k < LAYERS; k++) {
        const double passed = exp(-1.66 * depth[k * stride]);
        coming = coming * passed + emitted(kelvin[k * stride]) * (1.0 - passed);
        down[k * stride] = coming;
    }
    // The ground emits as the lowest layer does, and throws back two per cent.
    double going = 0.98 * emitted(kelvin[(LAYERS - 1) * stride]) + 0.02 * coming;
    for (int k = LAYERS - 1; k >= 0; k--) {
        const double passed = exp(-1.66 * depth[k * stride]);
        const double above = going * passed + emitted(kelvin[k * stride]) * (1.0 - passed);
        const double from_above = k > 0 ? down[(k - 1) * stride] : 0.0;
        warming[k * stride] = (going - above) + (from_above - down[k * stride]);
        going = above;
    }
}

__global__ void long_wave(const double *__restrict__ depth, const double *__restrict__ kelvin,
                          double *__restrict__ down, double *__restrict__ warming, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    const size_t column = (size_t)y * n + x;
    radiate(depth + column, kelvin + column, down + column, warming + column, (size_t)n * n);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20, 4000);
    const size_t columns = (size_t)n * n, count = LAYERS * columns;
    const std::vector<float> noise = quick_values(count, 1607);
    std::vector<double> depth(count), kelvin(count);
    for (size_t i = 0; i < count; i++) {
        const int layer = (int)(i / columns);
        depth[i] = 0.002 * (layer + 1) * (0.5 + noise[i]);
        kelvin[i] = 210.0 + 1.4 * layer + 5.0 * noise[count - 1 - i];
    }
    const double *d_depth = to_device(depth), *d_kelvin = to_device(kelvin);
    double *d_down = device_zeros<double>(count), *d_warming = device_zeros<double>(count);

    dim3 block(32, 4);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    long_wave<<<grid, block>>>(d_depth, d_kelvin, d_down, d_warming, n);
    finish_launches();

    const std::vector<double> warming = from_device(d_warming, count);
    return verdict(sampled_error(warming, [&](size_t e) {
        double own_depth[LAYERS], own_kelvin[LAYERS], own_down[LAYERS], own_warming[LAYERS];
        for (int k = 0; k < LAYERS; k++) {
            own_depth[k] = depth[k * columns + e % columns];
            own_kelvin[k] = kelvin[k * columns + e % columns];
        }
        radiate(own_depth, own_kelvin, own_down, own_warming, 1);
        return own_warming[e / columns];
    }));
}
