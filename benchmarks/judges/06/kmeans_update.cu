// New centres of sixteen clusters from n labelled points: blocks go through the points in strides
// of the grid, add coordinates up by atomics in shared memory, and then in memory.
//
//     nvcc -O2 -o kmeans_update kmeans_update.cu && ./kmeans_update 1000000

#include "../host.h"

#define CLUSTERS 16

#pragma cutune kernel kmeans_update data(n) block(x: 32..1024) grid(keep)
__global__ void kmeans_update(int n, const float *px, const float *py, const unsigned char *label,
                              float *sums, int *members) {
    __shared__ float own_sums[2 * CLUSTERS];
    __shared__ int own_members[CLUSTERS];
    for (int e = threadIdx.x; e < 2 * CLUSTERS; e += blockDim.x) {
        own_sums[e] = 0.0f;
        if (e < CLUSTERS) own_members[e] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const int cluster = label[i];
        atomicAdd(&own_sums[2 * cluster], px[i]);
        atomicAdd(&own_sums[2 * cluster + 1], py[i]);
        atomicAdd(&own_members[cluster], 1);
    }
    __syncthreads();
    for (int e = threadIdx.x; e < 2 * CLUSTERS; e += blockDim.x) {
        atomicAdd(&sums[e], own_sums[e]);
        if (e < CLUSTERS) atomicAdd(&members[e], own_members[e]);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 5000, 1 << 28);
    const std::vector<float> x = quick_values(n, 1), y = quick_values(n, 2);
    std::vector<unsigned char> label = quick_bits<unsigned char>(n, 3);
    // The first clusters are larger than the last.
    for (unsigned char &l : label) l = (unsigned char)(l % CLUSTERS * (1 + l / CLUSTERS % 2) / 2);
    const float *d_x = to_device(x), *d_y = to_device(y);
    const unsigned char *d_label = to_device(label);
    float *d_sums = device_zeros<float>(2 * CLUSTERS);
    int *d_members = device_zeros<int>(CLUSTERS);

    const int threads = 256;
    int blocks = (n + threads - 1) / threads;
    if (blocks > 528) blocks = 528;
    kmeans_update<<<blocks, threads>>>(n, d_x, d_y, d_label, d_sums, d_members);
    finish_launches();

    std::vector<double> sums(2 * CLUSTERS);
    std::vector<int> members(CLUSTERS);
    for (int i = 0; i < n; i++) {
        sums[2 * label[i]] += x[i];
        sums[2 * label[i] + 1] += y[i];
        members[label[i]]++;
    }
    const double error = from_device(d_members, CLUSTERS) == members ? 0.0 : 1.0;
    return verdict(error + sampled_error(from_device(d_sums, 2 * CLUSTERS),
                                         [&](size_t e) { return sums[e]; }));
}
