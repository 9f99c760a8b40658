// Graphics: n x n rays from a camera against a soup of 64 triangles, the nearest hit of each: its
// distance, and which triangle that is.
//
//     nvcc -O2 -o ray_triangles ray_triangles.cu && ./ray_triangles 256

#include "../host.h"

#define TRIANGLES 64

struct Triangle {
    float3 corner, first, second;  // A corner, and the edges from there.
};

struct Hit {
    float distance;
    int triangle;
};

__host__ __device__ inline float3 cross(float3 a, float3 b) {
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

__host__ __device__ inline float dot(float3 a, float3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

__host__ __device__ inline Hit nearest(int px, int py, int n, const Triangle *triangles) {
    const float3 from = make_float3(0.0f, 0.0f, -3.0f);
    const float3 ray =
        make_float3((2.0f * px + 1.0f) / n - 1.0f, (2.0f * py + 1.0f) / n - 1.0f, 1.5f);
    Hit hit = {100.0f, -1};
    for (int t = 0; t < TRIANGLES; t++) {
        const Triangle &one = triangles[t];
        const float3 across = cross(ray, one.second);
        const float volume = dot(one.first, across);
        if (fabsf(volume) < 1e-7f) continue;
        const float inverse = 1.0f / volume;
        const float3 off =
            make_float3(from.x - one.corner.x, from.y - one.corner.y, from.z - one.corner.z);
        const float u = dot(off, across) * inverse;
        if (u < 0.0f || u > 1.0f) continue;
        const float3 around = cross(off, one.first);
        const float v = dot(ray, around) * inverse;
        if (v < 0.0f || u + v > 1.0f) continue;
        const float distance = dot(one.second, around) * inverse;
        if (distance > 1e-4f && distance < hit.distance) {
            hit.distance = distance;
            hit.triangle = t;
        }
    }
    return hit;
}

__global__ void trace(const Triangle *__restrict__ triangles, float *__restrict__ distances,
                      int *__restrict__ ids, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    const Hit hit = nearest(x, y, n, triangles);
    distances[(size_t)y * n + x] = hit.distance;
    ids[(size_t)y * n + x] = hit.triangle;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 24, 16000);
    const size_t count = (size_t)n * n;
    const std::vector<float> noise = quick_values(9 * TRIANGLES, 2091);
    std::vector<Triangle> triangles(TRIANGLES);
    for (int t = 0; t < TRIANGLES; t++) {
        const float *own = noise.data() + 9 * t;
        triangles[t].corner =
            make_float3(4.0f * own[0] - 2.5f, 4.0f * own[1] - 2.5f, 2.0f * own[2]);
        triangles[t].first = make_float3(1.5f * own[3], own[4] - 0.3f, own[5] - 0.5f);
        triangles[t].second = make_float3(own[6] - 0.3f, 1.5f * own[7], own[8] - 0.5f);
    }
    const Triangle *d_triangles = to_device(triangles);
    float *d_distances = device_zeros<float>(count);
    int *d_ids = device_zeros<int>(count);

    dim3 block(8, 8);
    dim3 grid((n + 7) / 8, (n + 7) / 8);
    trace<<<grid, block>>>(d_triangles, d_distances, d_ids, n);
    finish_launches();

    const std::vector<float> distances = from_device(d_distances, count);
    const std::vector<int> ids = from_device(d_ids, count);
    const double far = sampled_error(distances, [&](size_t e) {
        return nearest((int)(e % n), (int)(e / n), n, triangles.data()).distance;
    });
    const double wrong = sampled_error(ids, [&](size_t e) {
        return nearest((int)(e % n), (int)(e / n), n, triangles.data()).triangle;
    });
    return verdict(fmax(far, wrong));
}
