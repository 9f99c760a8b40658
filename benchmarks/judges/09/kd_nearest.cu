// The squared distance from each of n points to the nearest of 16383 others, which stand in a k-d
// tree: node i has children 2 i + 1 and 2 i + 2. A thread walks the tree with a stack of its own.
//
//     nvcc -O2 -o kd_nearest kd_nearest.cu && ./kd_nearest 100000

#include <algorithm>

#include "../host.h"

#define NODES 16383
#define DEPTH 14

__host__ __device__ inline float squared(float x, float y, float z) {
    return x * x + y * y + z * z;
}

// The last component of a node says along which axis it divides: 0, 1 or 2.
__global__ void kd_nearest(const float4 *__restrict__ tree, const float *__restrict__ queries,
                           float *__restrict__ distance, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = queries[3 * i], y = queries[3 * i + 1], z = queries[3 * i + 2];
    int waiting[DEPTH];
    float gaps[DEPTH];
    int top = 0, node = 0;
    float best = 1e30f;
    while (true) {
        while (node < NODES) {
            const float4 at = tree[node];
            const float dx = x - at.x, dy = y - at.y, dz = z - at.z;
            best = fminf(best, squared(dx, dy, dz));
            const float gap = at.w == 0.0f ? dx : at.w == 1.0f ? dy : dz;
            const int side = gap > 0.0f ? 2 : 1;
            if (gap * gap < best && 2 * node + 1 < NODES) {
                waiting[top] = 2 * node + 3 - side;
                gaps[top++] = gap * gap;
            }
            node = 2 * node + side;
        }
        while (top > 0 && gaps[top - 1] >= best) top--;
        if (top == 0) break;
        node = waiting[--top];
    }
    distance[i] = best;
}

// Puts points into the subtree at `node`; their number is a power of two less one.
void build(float4 *points, int count, int node, int axis, std::vector<float4> &tree) {
    const auto along = [axis](const float4 &p) { return axis == 0 ? p.x : axis == 1 ? p.y : p.z; };
    const int half = count / 2;
    std::nth_element(points, points + half, points + count,
                     [&](const float4 &a, const float4 &b) { return along(a) < along(b); });
    tree[node] = points[half];
    tree[node].w = (float)axis;
    if (half == 0) return;
    build(points, half, 2 * node + 1, (axis + 1) % 3, tree);
    build(points + half + 1, half, 2 * node + 2, (axis + 1) % 3, tree);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 26);
    const std::vector<float> queries = quick_values(3 * (size_t)n, 1);
    const std::vector<float> values = quick_values(4 * NODES, 2);
    std::vector<float4> points(NODES), tree(NODES);
    memcpy(points.data(), values.data(), NODES * sizeof(float4));
    build(points.data(), NODES, 0, 0, tree);
    const float4 *d_tree = to_device(tree);
    const float *d_queries = to_device(queries);
    float *d_distance = device_zeros<float>(n);

    const int threads = 128;
    kd_nearest<<<(n + threads - 1) / threads, threads>>>(d_tree, d_queries, d_distance, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_distance, n), [&](size_t i) {
        const float *q = &queries[3 * i];
        float best = 1e30f;
        for (const float4 &at : tree)
            best = fminf(best, squared(q[0] - at.x, q[1] - at.y, q[2] - at.z));
        return best;
    }));
}
