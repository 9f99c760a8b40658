// n blocks of one thread each, as in first lessons: an element of a vector, then a short polygon
// path of 8 points each.
//
//     nvcc -O2 -o lone_threads lone_threads.cu && ./lone_threads 200000

#include "checksum.h"

#define POINTS 8

__global__ void blend(const float *a, const float *b, float *c) {
    int i = blockIdx.x;
    c[i] = 0.75f * a[i] + 0.25f * b[i];
}

__global__ void path_lengths(const float2 *points, const float *weights, float *lengths) {
    int path = blockIdx.x;
    float length = 0.0f;
    for (int p = 1; p < POINTS; p++) {
        float2 from = points[(size_t)path * POINTS + p - 1], to = points[(size_t)path * POINTS + p];
        float dx = to.x - from.x, dy = to.y - from.y;
        length += sqrtf(dx * dx + dy * dy);
    }
    lengths[path] = weights[path] * length;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200, 40000000);
    const std::vector<float> a = quick_values(n, 1828), b = quick_values(n, 1829);
    const std::vector<float> points = quick_values((size_t)n * POINTS * 2, 1830);
    const float *d_a = to_device(a), *d_b = to_device(b), *d_points = to_device(points);
    float *d_c = device_zeros<float>(n), *d_lengths = device_zeros<float>(n);

    blend<<<n, 1>>>(d_a, d_b, d_c);
    path_lengths<<<n, 1>>>((const float2 *)d_points, d_c, d_lengths);
    finish_launches();

    const std::vector<float> lengths = from_device(d_lengths, n);
    return report(checksum_of(lengths), sampled_error(lengths, [&](size_t path) {
        const float *own = points.data() + path * POINTS * 2;
        double length = 0.0;
        for (int p = 1; p < POINTS; p++)
            length += hypot(own[2 * p] - own[2 * p - 2], own[2 * p + 1] - own[2 * p - 1]);
        return (0.75 * a[path] + 0.25 * b[path]) * length;
    }));
}
