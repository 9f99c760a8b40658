// The residual of Poisson's equation with linear triangles on a mesh of n x n nodes. Each thread
// computes the three contributions of a triangle and adds them to its nodes.
//
//     nvcc -O2 -o fem_assemble fem_assemble.cu && ./fem_assemble 500

#include "../host.h"

struct Mesh {
    int triangles;
    const int3 *corners;
    const float2 *nodes;
};

__host__ __device__ inline float3 contributions(float2 a, float2 b, float2 c, float ua, float ub,
                                                float uc) {
    // Gradients of the three shape functions, times twice the area.
    const float2 ga = make_float2(b.y - c.y, c.x - b.x);
    const float2 gb = make_float2(c.y - a.y, a.x - c.x);
    const float2 gc = make_float2(a.y - b.y, b.x - a.x);
    const float twice_area = ga.x * gb.y - ga.y * gb.x;
    const float scale = 0.5f / fabsf(twice_area);
    const float gx = scale * (ua * ga.x + ub * gb.x + uc * gc.x);
    const float gy = scale * (ua * ga.y + ub * gb.y + uc * gc.y);
    return make_float3(gx * ga.x + gy * ga.y, gx * gb.x + gy * gb.y, gx * gc.x + gy * gc.y);
}

__global__ void assemble(Mesh mesh, const float *u, float *residual) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < mesh.triangles) {
        const int3 c = mesh.corners[t];
        const float3 part = contributions(mesh.nodes[c.x], mesh.nodes[c.y], mesh.nodes[c.z], u[c.x],
                                          u[c.y], u[c.z]);
        atomicAdd(&residual[c.x], part.x);
        atomicAdd(&residual[c.y], part.y);
        atomicAdd(&residual[c.z], part.z);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 50, 20000);
    const size_t count = (size_t)n * n;
    const std::vector<float> u = quick_values(count, 1), shift = quick_values(2 * count, 2);
    std::vector<float2> nodes(count);
    for (size_t i = 0; i < count; i++)
        nodes[i] = make_float2(0.4f * shift[2 * i] + (float)(i % n),
                               0.4f * shift[2 * i + 1] + (float)(i / n));
    std::vector<int3> corners;
    corners.reserve(2 * count);
    for (int y = 0; y + 1 < n; y++)
        for (int x = 0; x + 1 < n; x++) {
            const int a = y * n + x;
            corners.push_back(make_int3(a, a + 1, a + n));
            corners.push_back(make_int3(a + 1, a + n + 1, a + n));
        }
    const int triangles = (int)corners.size();
    if (triangles == 0) return verdict(0.0);
    const Mesh mesh = {triangles, to_device(corners), to_device(nodes)};
    const float *d_u = to_device(u);
    float *d_residual = device_zeros<float>(count);

    const int threads = 128;
    assemble<<<(triangles + threads - 1) / threads, threads>>>(mesh, d_u, d_residual);
    finish_launches();

    std::vector<float> expected(count);
    for (const int3 c : corners) {
        const float3 part = contributions(nodes[c.x], nodes[c.y], nodes[c.z], u[c.x], u[c.y],
                                          u[c.z]);
        expected[c.x] += part.x;
        expected[c.y] += part.y;
        expected[c.z] += part.z;
    }
    return verdict(sampled_error(from_device(d_residual, count),
                                 [&](size_t i) { return expected[i]; }));
}
