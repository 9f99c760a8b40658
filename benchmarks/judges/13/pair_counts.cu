// Pair counts for the correlation function of galaxies: how many of all pairs of points have a
// distance in each of 64 bins, in a cube that repeats itself. A block counts in shared memory, then
// adds its counts up. The points are those of a cubic lattice of at most n points, shuffled.
//
//     nvcc -O2 -o pair_counts pair_counts.cu && ./pair_counts 8000

#include "../host.h"

#define BINS 64

__host__ __device__ inline float nearest(float difference, float side) {
    return difference - side * rintf(difference / side);
}

#pragma cutune kernel pair_counts data(points) block(x: 32, 64, 128, 256, 512, 1024) \
    grid(ceil(points / x))
__global__ void pair_counts(const float *__restrict__ x, const float *__restrict__ y,
                            const float *__restrict__ z, unsigned long long *counts, int points,
                            float side, float scale) {
    __shared__ unsigned bins[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) bins[b] = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < points) {
        const float xi = x[i], yi = y[i], zi = z[i];
        for (int j = 0; j < points; j++) {
            const float dx = nearest(x[j] - xi, side), dy = nearest(y[j] - yi, side);
            const float dz = nearest(z[j] - zi, side);
            const int bin = (int)(sqrtf(dx * dx + dy * dy + dz * dz) * scale);
            if (bin < BINS) atomicAdd(&bins[bin], 1u);
        }
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        if (bins[b] > 0) atomicAdd(&counts[b], (unsigned long long)bins[b]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 512, 2000000);
    int side = 1;
    while ((side + 1) * (side + 1) * (side + 1) <= n) side++;
    const int points = side * side * side;
    std::vector<int> places(points);
    for (int i = 0; i < points; i++) {
        const int other = (int)(mixed(i) % (uint32_t)(i + 1));
        places[i] = places[other];
        places[other] = i;
    }
    std::vector<float> x(points), y(points), z(points);
    for (int i = 0; i < points; i++) {
        x[i] = (float)(places[i] % side);
        y[i] = (float)(places[i] / side % side);
        z[i] = (float)(places[i] / side / side);
    }
    const float *d_x = to_device(x), *d_y = to_device(y), *d_z = to_device(z);
    unsigned long long *d_counts = device_zeros<unsigned long long>(BINS);
    // Bins up to a quarter of the side.
    const float length = (float)side, scale = 4.0f * (float)BINS / (length + 0.5f);

    const int threads = 256, blocks = (points + threads - 1) / threads;
    pair_counts<<<blocks, threads>>>(d_x, d_y, d_z, d_counts, points, length, scale);
    finish_launches();

    // Every point of a lattice sees the same.
    std::vector<double> counts(BINS);
    for (int i = 0; i < points; i++) {
        const float dx = nearest(x[i], length), dy = nearest(y[i], length);
        const float dz = nearest(z[i], length);
        const int bin = (int)(sqrtf(dx * dx + dy * dy + dz * dz) * scale);
        if (bin < BINS) counts[bin] += points;
    }
    return verdict(
        sampled_error(from_device(d_counts, BINS), [&](size_t b) { return counts[b]; }));
}
