// Video: how much two frames of n groups of four bytes differ, in all, and how many bytes changed
// by more than 24. A grid of a limited size, sums of warps by shuffles, an atomic addition per
// warp.
//
//     nvcc -O2 -o frame_sad frame_sad.cu && ./frame_sad 2000000

#include "../host.h"

#define LIMIT 24

__global__ void differences(const uchar4 *__restrict__ before, const uchar4 *__restrict__ after,
                            unsigned long long *total, unsigned long long *changed, int n) {
    unsigned long long sum = 0;
    unsigned many = 0;
    const int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const uchar4 a = before[i], b = after[i];
        const int dx = abs(a.x - b.x), dy = abs(a.y - b.y);
        const int dz = abs(a.z - b.z), dw = abs(a.w - b.w);
        sum += dx + dy + dz + dw;
        many += (dx > LIMIT) + (dy > LIMIT) + (dz > LIMIT) + (dw > LIMIT);
    }
    for (int offset = 16; offset > 0; offset >>= 1) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
        many += __shfl_down_sync(0xffffffffu, many, offset);
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(total, sum);
        atomicAdd(changed, (unsigned long long)many);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 5000, 400000000);
    const std::vector<uint8_t> before = quick_bits<uint8_t>(4 * (size_t)n, 2151);
    std::vector<uint8_t> after = before;
    for (size_t i = 0; i < after.size(); i += 3) after[i] += (uint8_t)(before[i] >> 2);
    const uint8_t *d_before = to_device(before), *d_after = to_device(after);
    unsigned long long *d_sums = device_zeros<unsigned long long>(2);

    const int block = 512;
    int grid = (n + block - 1) / block;
    if (grid > 1056) grid = 1056;
    differences<<<grid, block>>>((const uchar4 *)d_before, (const uchar4 *)d_after, d_sums,
                                 d_sums + 1, n);
    finish_launches();

    const std::vector<unsigned long long> sums = from_device(d_sums, 2);
    unsigned long long total = 0, changed = 0;
    for (size_t i = 0; i < after.size(); i += 3) {
        const int difference = abs(before[i] - after[i]);
        total += (unsigned)difference;
        changed += difference > LIMIT;
    }
    return verdict(sums[0] != total || sums[1] != changed);
}
