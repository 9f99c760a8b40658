// The volumes of n tetrahedra of a mesh, whose corners are gathered by their numbers. Tetrahedra
// that are neighbours in memory share corners.
//
//     nvcc -O2 -o tet_volumes tet_volumes.cu && ./tet_volumes 1000000

#include "../judge.h"

#define WINDOW 600

__host__ __device__ inline float3 edge(const float3 *corners, int from, int to) {
    const float3 a = corners[from], b = corners[to];
    return make_float3(b.x - a.x, b.y - a.y, b.z - a.z);
}

__host__ __device__ inline float volume(const float3 *corners, int4 t) {
    const float3 a = edge(corners, t.x, t.y), b = edge(corners, t.x, t.z);
    const float3 c = edge(corners, t.x, t.w);
    return fabsf(a.x * (b.y * c.z - b.z * c.y) + a.y * (b.z * c.x - b.x * c.z) +
                 a.z * (b.x * c.y - b.y * c.x)) /
           6.0f;
}

__global__ void tet_volumes(int n, const int4 *tetrahedra, const float3 *corners, float *volumes) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) volumes[i] = volume(corners, tetrahedra[i]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 3000, 1 << 26);
    const int corner_count = n / 5 + WINDOW;
    const std::vector<float> numbers = fixed_values(3 * (size_t)corner_count, 1);
    std::vector<float3> corners(corner_count);
    for (size_t c = 0; c < corners.size(); c++)
        corners[c] = make_float3(numbers[3 * c], numbers[3 * c + 1], numbers[3 * c + 2]);
    const std::vector<int> offsets = fixed_integers(4 * (size_t)n, WINDOW, 2);
    std::vector<int4> tetrahedra(n);
    for (int i = 0; i < n; i++) {
        const int *own = &offsets[4 * (size_t)i], base = i / 5;
        tetrahedra[i] = make_int4(base + own[0], base + own[1], base + own[2], base + own[3]);
    }
    const int4 *device_tetrahedra = to_device(tetrahedra);
    const float3 *device_corners = to_device(corners);
    float *device_volumes = to_device(std::vector<float>(n));

    const unsigned block = 256;
    tet_volumes<<<blocks_for(n, block), block>>>(n, device_tetrahedra, device_corners,
                                                 device_volumes);
    finish_launches();

    return verdict(sampled_error(from_device(device_volumes, n), [&](size_t i) {
        return volume(corners.data(), tetrahedra[i]);
    }));
}
