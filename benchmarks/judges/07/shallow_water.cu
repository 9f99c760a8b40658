// Two steps of the shallow water equations on n x n cells by the scheme of Lax and Friedrichs:
// height and two momenta in, the same out. At the borders the nearest cell is taken again.
//
//     nvcc -O2 -o shallow_water shallow_water.cu && ./shallow_water 1000

#include "../host.h"

#define GRAVITY 9.81f

// A cell's new state from those of its four neighbours.
__host__ __device__ inline float3 advance(float3 west, float3 east, float3 south, float3 north,
                                          float ratio) {
    const float uw = west.y / west.x, ue = east.y / east.x;
    const float vs = south.z / south.x, vn = north.z / north.x;
    const float h = 0.25f * (west.x + east.x + south.x + north.x) -
                    ratio * (east.y - west.y + north.z - south.z);
    const float hu = 0.25f * (west.y + east.y + south.y + north.y) -
                     ratio * (east.y * ue - west.y * uw + north.y * vn - south.y * vs +
                              0.5f * GRAVITY * (east.x * east.x - west.x * west.x));
    const float hv = 0.25f * (west.z + east.z + south.z + north.z) -
                     ratio * (east.z * ue - west.z * uw + north.z * vn - south.z * vs +
                              0.5f * GRAVITY * (north.x * north.x - south.x * south.x));
    return make_float3(h, hu, hv);
}

__global__ void shallow_water(int n, float ratio, const float *__restrict__ h,
                              const float *__restrict__ hu, const float *__restrict__ hv,
                              float *__restrict__ h_new, float *__restrict__ hu_new,
                              float *__restrict__ hv_new) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    const int at = y * n + x;
    const int w = x > 0 ? at - 1 : at, e = x < n - 1 ? at + 1 : at;
    const int s = y > 0 ? at - n : at, t = y < n - 1 ? at + n : at;
    const float3 state = advance(
        make_float3(h[w], hu[w], hv[w]), make_float3(h[e], hu[e], hv[e]),
        make_float3(h[s], hu[s], hv[s]), make_float3(h[t], hu[t], hv[t]), ratio);
    h_new[at] = state.x;
    hu_new[at] = state.y;
    hv_new[at] = state.z;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64);
    const size_t count = (size_t)n * n;
    const float ratio = 0.03f;
    std::vector<float> host[3];
    float *now[3], *next[3];
    for (int a = 0; a < 3; a++) {
        host[a] = quick_values(count, a + 1);
        for (float &value : host[a]) value += a == 0 ? 1.0f : -0.5f;
        now[a] = to_device(host[a]);
        next[a] = device_zeros<float>(count);
    }

    dim3 block(32, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    for (int step = 0; step < 2; step++) {
        shallow_water<<<grid, block>>>(n, ratio, now[0], now[1], now[2], next[0], next[1],
                                       next[2]);
        for (int a = 0; a < 3; a++) std::swap(now[a], next[a]);
    }
    finish_launches();

    const auto start = [&](int x, int y) {
        const int column = x < 0 ? 0 : x >= n ? n - 1 : x, row = y < 0 ? 0 : y >= n ? n - 1 : y;
        const size_t at = (size_t)row * n + column;
        return make_float3(host[0][at], host[1][at], host[2][at]);
    };
    const auto stepped = [&](int x, int y, const auto &before) {
        const int column = x < 0 ? 0 : x >= n ? n - 1 : x, row = y < 0 ? 0 : y >= n ? n - 1 : y;
        return advance(before(column - 1, row), before(column + 1, row), before(column, row - 1),
                       before(column, row + 1), ratio);
    };
    const auto once = [&](int x, int y) { return stepped(x, y, start); };
    double error = 0.0;
    for (int a = 0; a < 3; a++)
        error += sampled_error(from_device(now[a], count), [&](size_t e) {
            const float3 state = stepped((int)(e % n), (int)(e / n), once);
            return a == 0 ? state.x : a == 1 ? state.y : state.z;
        });
    return verdict(error);
}
