// A small parallel_for, as libraries have them, with two functors over n floats: a damped step of a
// velocity and a position, then a clamped copy with a stencil of three points.
//
//     nvcc -O2 -o parallel_for parallel_for.cu && ./parallel_for 40000000

#include "checksum.h"

template <class Body>
__global__ void for_each_index(int n, Body body) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) body(i);
}

template <int BlockSize = 256, class Body>
void parallel_for(int n, Body body) {
    for_each_index<<<(n + BlockSize - 1) / BlockSize, BlockSize>>>(n, body);
}

struct Advance {
    float *position;
    float *velocity;
    float step;

    __device__ void operator()(int i) const {
        const float v = velocity[i] * 0.99f - position[i] * step;
        velocity[i] = v;
        position[i] += v * step;
    }
};

struct SmoothClamped {
    const float *in;
    float *out;
    int n;

    __device__ void operator()(int i) const {
        const float left = in[i > 0 ? i - 1 : 0], right = in[i + 1 < n ? i + 1 : n - 1];
        out[i] = fminf(fmaxf(0.25f * left + 0.5f * in[i] + 0.25f * right, 0.2f), 0.9f);
    }
};

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1500000000);
    const float step = 0.05f;
    const std::vector<float> position = quick_values(n, 1831), velocity = quick_values(n, 1832);
    float *d_position = to_device(position), *d_velocity = to_device(velocity);
    float *d_out = device_zeros<float>(n);

    parallel_for(n, Advance{d_position, d_velocity, step});
    parallel_for<512>(n, SmoothClamped{d_position, d_out, n});
    finish_launches();

    const std::vector<float> out = from_device(d_out, n);
    const auto moved = [&](size_t i) {
        return position[i] + ((double)velocity[i] * 0.99 - (double)position[i] * step) * step;
    };
    return report(checksum_of(out), sampled_error(out, [&](size_t i) {
        const size_t last = (size_t)n - 1;
        const double smooth = 0.25 * moved(i > 0 ? i - 1 : 0) + 0.5 * moved(i) +
                              0.25 * moved(i < last ? i + 1 : last);
        return fmin(fmax(smooth, 0.2), 0.9);
    }));
}
