// A character of n vertices follows its skeleton: position and normal of each, a structure of 24
// bytes, are moved by the weighted matrices of four of 64 bones.
//
//     nvcc -O2 -o skin_vertices skin_vertices.cu && ./skin_vertices 100000

#include "../host.h"

#define BONES 64

struct Vertex {
    float3 position, normal;
};

__host__ __device__ inline void add_row(float4 &sum, float weight, float4 row) {
    sum.x += weight * row.x;
    sum.y += weight * row.y;
    sum.z += weight * row.z;
    sum.w += weight * row.w;
}

__host__ __device__ inline float turned(float4 row, float3 v) {
    return row.x * v.x + row.y * v.y + row.z * v.z;
}

// A bone has the three rows of an affine map.
__host__ __device__ inline Vertex skinned(Vertex v, uchar4 bone, float4 weight,
                                          const float4 *bones) {
    const int index[4] = {bone.x, bone.y, bone.z, bone.w};
    const float share[4] = {weight.x, weight.y, weight.z, weight.w};
    float4 rows[3] = {};
    for (int b = 0; b < 4; b++)
        for (int r = 0; r < 3; r++) add_row(rows[r], share[b], bones[3 * index[b] + r]);
    Vertex result;
    result.position = make_float3(turned(rows[0], v.position) + rows[0].w,
                                  turned(rows[1], v.position) + rows[1].w,
                                  turned(rows[2], v.position) + rows[2].w);
    const float3 normal = make_float3(turned(rows[0], v.normal), turned(rows[1], v.normal),
                                      turned(rows[2], v.normal));
    const float square = normal.x * normal.x + normal.y * normal.y + normal.z * normal.z;
    const float scale = 1.0f / sqrtf(square + 1e-12f);
    result.normal = make_float3(scale * normal.x, scale * normal.y, scale * normal.z);
    return result;
}

__global__ void skin(const Vertex *rest, const uchar4 *bone_indices, const float4 *bone_weights,
                     const float4 *bones, Vertex *posed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) posed[i] = skinned(rest[i], bone_indices[i], bone_weights[i], bones);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 25);
    std::vector<Vertex> rest(n);
    std::vector<uchar4> bone_indices(n);
    std::vector<float4> bone_weights(n);
    for (int i = 0; i < n; i++) {
        const uint32_t bits = mixed((uint32_t)i + 7u);
        const float a = (bits & 0x3ff) * 0x1p-10f, b = (bits >> 10 & 0x3ff) * 0x1p-10f;
        rest[i] = {make_float3(a, b, a - b), make_float3(0.3f + b, 0.2f, a)};
        // Neighbours hang on the same bones, more or less.
        const unsigned base = (unsigned)((uint64_t)i * BONES / n);
        bone_indices[i] = make_uchar4(base, (base + 1) % BONES, (base + 1 + bits % 3) % BONES,
                                      bits >> 26);
        bone_weights[i] = make_float4(0.5f, 0.3f * a, 0.3f - 0.3f * a, 0.2f);
    }
    const std::vector<float> numbers = quick_values(12 * BONES, 2);
    std::vector<float4> bones(3 * BONES);
    for (size_t r = 0; r < bones.size(); r++)
        bones[r] = make_float4(numbers[4 * r] + 0.2f, numbers[4 * r + 1], numbers[4 * r + 2] - 0.5f,
                               numbers[4 * r + 3]);
    const Vertex *d_rest = to_device(rest);
    const uchar4 *d_indices = to_device(bone_indices);
    const float4 *d_weights = to_device(bone_weights), *d_bones = to_device(bones);
    Vertex *d_posed = device_zeros<Vertex>(n);

    const int threads = 256;
    skin<<<(n + threads - 1) / threads, threads>>>(d_rest, d_indices, d_weights, d_bones, d_posed,
                                                   n);
    finish_launches();

    const std::vector<Vertex> posed = from_device(d_posed, n);
    std::vector<float> error(1000);
    for (size_t s = 0; s < error.size(); s++) {
        const size_t i = s * (size_t)n / error.size();
        const Vertex wanted = skinned(rest[i], bone_indices[i], bone_weights[i], bones.data());
        const float *a = &posed[i].position.x, *b = &wanted.position.x;
        for (int c = 0; c < 6; c++) error[s] = fmaxf(error[s], fabsf(a[c] - b[c]));
    }
    return verdict(sampled_error(error, [](size_t) { return 0.0f; }));
}
