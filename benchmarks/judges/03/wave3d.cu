// Two steps of the acoustic wave equation on n x n x n points, of eighth order in space: 25 points
// in a star. The field two steps ago is overwritten by the new one.
//
//     nvcc -O2 -o wave3d wave3d.cu && ./wave3d 200

#include "../judge.h"

#include <utility>

#define REACH 4

__constant__ float coefficients[REACH + 1];

__global__ void wave3d(int n, float factor, const float *now, float *field) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < REACH || y < REACH || z < REACH) return;
    if (x >= n - REACH || y >= n - REACH || z >= n - REACH) return;
    const int plane = n * n, at = z * plane + y * n + x;
    float sum = 3.0f * coefficients[0] * now[at];
    for (int d = 1; d <= REACH; d++)
        sum += coefficients[d] * (now[at - d] + now[at + d] + now[at - d * n] + now[at + d * n] +
                                  now[at - d * plane] + now[at + d * plane]);
    field[at] = 2.0f * now[at] - field[at] + factor * sum;
}

static void host_step(size_t n, float factor, const float *weights, const float *now, float *field,
                      size_t at) {
    const size_t x = at % n, y = at / n % n, z = at / n / n, end = n - REACH;
    if (n < 2 * REACH || x < REACH || y < REACH || z < REACH) return;
    if (x >= end || y >= end || z >= end) return;
    float sum = 3.0f * weights[0] * now[at];
    for (size_t d = 1; d <= REACH; d++)
        for (const size_t stride : {(size_t)1, n, n * n})
            sum += weights[d] * (now[at - d * stride] + now[at + d * stride]);
    field[at] = 2.0f * now[at] - field[at] + factor * sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 1200);
    const size_t count = (size_t)n * n * n;
    std::vector<float> now = fixed_values(count, 1), field = fixed_values(count, 2);
    const float factor = 0.1f;
    const float weights[REACH + 1] = {-205.0f / 72, 8.0f / 5, -1.0f / 5, 8.0f / 315, -1.0f / 560};
    CHECK(cudaMemcpyToSymbol(coefficients, weights, sizeof(weights)));
    float *device_now = to_device(now), *device_field = to_device(field);

    const dim3 block(32, 4, 4);
    const dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y), blocks_for(n, block.z));
    for (int step = 0; step < 2; step++) {
        wave3d<<<grid, block>>>(n, factor, device_now, device_field);
        std::swap(device_now, device_field);
    }
    finish_launches();

    for (int step = 0; step < 2; step++) {
        for (size_t at = 0; at < count; at++)
            host_step(n, factor, weights, now.data(), field.data(), at);
        std::swap(now, field);
    }
    return verdict(sampled_error(from_device(device_now, count), [&](size_t e) { return now[e]; }));
}
