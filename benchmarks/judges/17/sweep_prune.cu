// Game physics, broad phase: n boxes in the order of their left sides. A thread goes along them
// from its own until one begins right of its own box, and counts those that overlap in the other
// two directions; most boxes are short, one in 64 is eight times as long.
//
//     nvcc -O2 -o sweep_prune sweep_prune.cu && ./sweep_prune 2000000

#include "../host.h"

struct Boxes {
    const float *left, *right;
    const float *lower, *upper;
    const float *front, *back;
};

__host__ __device__ inline int overlaps(const Boxes &boxes, int own, int count) {
    const float right = boxes.right[own];
    const float lower = boxes.lower[own], upper = boxes.upper[own];
    const float front = boxes.front[own], back = boxes.back[own];
    int found = 0;
    for (int other = own + 1; other < count && boxes.left[other] <= right; other++) {
        if (boxes.lower[other] > upper || boxes.upper[other] < lower) continue;
        if (boxes.front[other] > back || boxes.back[other] < front) continue;
        found++;
    }
    return found;
}

__global__ void count_overlaps(Boxes boxes, int *counts, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) counts[i] = overlaps(boxes, i, n);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 100000000);
    std::vector<float> low[3], high[3];
    for (int axis = 0; axis < 3; axis++) {
        low[axis] = quick_values(n, 141 + axis);
        high[axis].resize(n);
    }
    for (int i = 0; i < n; i++) {
        const uint32_t bits = mixed(i + 145u);
        const float length = (4.0f + (bits & 31)) * (bits >> 26 == 0 ? 8.0f : 1.0f);
        low[0][i] = (float)i + low[0][i];
        high[0][i] = low[0][i] + length;
        high[1][i] = low[1][i] + 0.1f + (bits >> 5 & 255) * (1.0f / 1024);
        high[2][i] = low[2][i] + 0.1f + (bits >> 13 & 255) * (1.0f / 1024);
    }
    const Boxes boxes = {to_device(low[0]),  to_device(high[0]), to_device(low[1]),
                         to_device(high[1]), to_device(low[2]),  to_device(high[2])};
    int *d_counts = device_zeros<int>(n);

    const int threads = 64;
    count_overlaps<<<(n + threads - 1) / threads, threads>>>(boxes, d_counts, n);
    finish_launches();

    const Boxes here = {low[0].data(),  high[0].data(), low[1].data(),
                        high[1].data(), low[2].data(),  high[2].data()};
    return verdict(sampled_error(from_device(d_counts, n),
                                 [&](size_t i) { return overlaps(here, (int)i, n); }));
}
