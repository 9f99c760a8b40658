// The step of k-means that finds the nearest of 32 centres for each of n points with 8 coordinates.
// A block first copies the centres to shared memory; equal coordinates of points are neighbours.
//
//     nvcc -O2 -o kmeans_assign kmeans_assign.cu && ./kmeans_assign 100000

#include "../judge.h"

#include <algorithm>

#define CENTRES 32
#define DIMENSIONS 8

#pragma cutune kernel kmeans_assign data(n) block(x: 32..1024) grid(ceil(n / x))
__global__ void kmeans_assign(int n, const float *points, const float *centres, int *nearest) {
    __shared__ float centre[CENTRES * DIMENSIONS];
    for (int e = threadIdx.x; e < CENTRES * DIMENSIONS; e += blockDim.x) centre[e] = centres[e];
    __syncthreads();

    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float point[DIMENSIONS];
    for (int d = 0; d < DIMENSIONS; d++) point[d] = points[d * n + i];
    float least = INFINITY;
    int best = 0;
    for (int c = 0; c < CENTRES; c++) {
        float square = 0.0f;
        for (int d = 0; d < DIMENSIONS; d++) {
            const float difference = point[d] - centre[c * DIMENSIONS + d];
            square += difference * difference;
        }
        if (square < least) {
            least = square;
            best = c;
        }
    }
    nearest[i] = best;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 27);
    const std::vector<float> points = fixed_values((size_t)DIMENSIONS * n, 1);
    const std::vector<float> centres = fixed_values(CENTRES * DIMENSIONS, 2);
    const float *device_points = to_device(points), *device_centres = to_device(centres);
    int *device_nearest = to_device(std::vector<int>(n));

    const unsigned block = 256;
    const unsigned blocks = blocks_for(n, block);
    kmeans_assign<<<blocks, block>>>(n, device_points, device_centres, device_nearest);
    finish_launches();

    // Of two centres equally far away either may be found, so that distances are compared.
    const auto distance = [&](size_t i, int c) {
        double square = 0.0;
        for (int d = 0; d < DIMENSIONS; d++) {
            const double point = points[(size_t)d * n + i];
            const double difference = point - centres[c * DIMENSIONS + d];
            square += difference * difference;
        }
        return square;
    };
    const std::vector<int> nearest = from_device(device_nearest, n);
    std::vector<double> actual(n);
    for (int i = 0; i < n; i++)
        actual[i] = nearest[i] >= 0 && nearest[i] < CENTRES ? distance(i, nearest[i]) : INFINITY;
    return verdict(sampled_error(actual, [&](size_t i) {
        double least = INFINITY;
        for (int c = 0; c < CENTRES; c++) least = std::min(least, distance(i, c));
        return least;
    }));
}
