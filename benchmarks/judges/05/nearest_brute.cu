// For each of n points the nearest of n others, as an iterative closest point step needs it: all
// pairs, one after the other.
//
//     nvcc -O2 -o nearest_brute nearest_brute.cu && ./nearest_brute 10000

#include <cfloat>

#include "../host.h"

#define THREADS_PER_BLOCK 256

struct Cloud {
    const float *x, *y, *z;
};

__global__ void nearest(Cloud queries, Cloud model, int n, int m, int *index, float *distance) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    float qx = queries.x[i], qy = queries.y[i], qz = queries.z[i];
    float best = FLT_MAX;
    int best_index = -1;
    for (int j = 0; j < m; j++) {
        float dx = model.x[j] - qx;
        float dy = model.y[j] - qy;
        float dz = model.z[j] - qz;
        float d = dx * dx + dy * dy + dz * dz;
        if (d < best) {
            best = d;
            best_index = j;
        }
    }
    index[i] = best_index;
    distance[i] = sqrtf(best);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200, 10000000);
    std::vector<float> axes[6];
    const float *d_axes[6];
    for (int a = 0; a < 6; a++) {
        axes[a] = fixed_values(n, a + 1);
        d_axes[a] = to_device(axes[a]);
    }
    int *d_index = device_zeros<int>(n);
    float *d_distance = device_zeros<float>(n);

    const Cloud queries = {d_axes[0], d_axes[1], d_axes[2]};
    const Cloud model = {d_axes[3], d_axes[4], d_axes[5]};
    int num_blocks = (n + THREADS_PER_BLOCK - 1) / THREADS_PER_BLOCK;
    nearest<<<num_blocks, THREADS_PER_BLOCK>>>(queries, model, n, n, d_index, d_distance);
    finish_launches();

    const auto between = [&](size_t i, size_t j) {
        const float dx = axes[3][j] - axes[0][i], dy = axes[4][j] - axes[1][i];
        const float dz = axes[5][j] - axes[2][i];
        return dx * dx + dy * dy + dz * dz;
    };
    const auto closest = [&](size_t i) {
        float best = FLT_MAX;
        for (int j = 0; j < n; j++) best = fminf(best, between(i, j));
        return sqrtf(best);
    };
    // Of two points at nearly the same distance either may be found.
    const std::vector<int> index = from_device(d_index, n);
    std::vector<float> found(n);
    for (int i = 0; i < n; i++) {
        if (index[i] < 0 || index[i] >= n) return verdict(INFINITY);
        found[i] = sqrtf(between(i, index[i]));
    }
    const double places = sampled_error(found, closest);
    return verdict(places + sampled_error(from_device(d_distance, n), closest));
}
