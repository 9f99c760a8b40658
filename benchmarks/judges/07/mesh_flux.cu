// How the state of each of n triangles of an unstructured mesh changes: what flows through its
// three sides to the neighbours, whose numbers are in an array, by the flux of Rusanov for shallow
// water. Sides on the boundary have no neighbour.
//
//     nvcc -O2 -o mesh_flux mesh_flux.cu && ./mesh_flux 100000

#include "../host.h"

#define GRAVITY 9.81f

// Height and momentum that leave through a side; nx and ny are as long as the side.
__host__ __device__ inline float3 flux(float4 in, float4 out, float nx, float ny) {
    const float u = in.y / in.x, v = in.z / in.x, p = 0.5f * GRAVITY * in.x * in.x;
    const float s = out.y / out.x, t = out.z / out.x, q = 0.5f * GRAVITY * out.x * out.x;
    const float across_in = u * nx + v * ny, across_out = s * nx + t * ny;
    const float length = sqrtf(nx * nx + ny * ny);
    const float speed = fmaxf(fabsf(across_in) + length * sqrtf(GRAVITY * in.x),
                              fabsf(across_out) + length * sqrtf(GRAVITY * out.x));
    return make_float3(
        0.5f * (in.x * across_in + out.x * across_out - speed * (out.x - in.x)),
        0.5f * (in.y * across_in + out.y * across_out + (p + q) * nx - speed * (out.y - in.y)),
        0.5f * (in.z * across_in + out.z * across_out + (p + q) * ny - speed * (out.z - in.z)));
}

__host__ __device__ inline float4 change(int cell, int cells, const float4 *state,
                                         const int *neighbours, const float2 *normals,
                                         const float *area) {
    const float4 own = state[cell];
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int side = 0; side < 3; side++) {
        const int other = neighbours[side * cells + cell];
        const float2 normal = normals[side * cells + cell];
        // A wall mirrors the momentum.
        const float4 beyond = other >= 0 ? state[other] : make_float4(own.x, -own.y, -own.z, 0.0f);
        const float3 part = flux(own, beyond, normal.x, normal.y);
        sum.x -= part.x;
        sum.y -= part.y;
        sum.z -= part.z;
    }
    const float scale = 1.0f / area[cell];
    return make_float4(scale * sum.x, scale * sum.y, scale * sum.z, 0.0f);
}

__global__ void mesh_flux(int cells, const float4 *__restrict__ state,
                          const int *__restrict__ neighbours, const float2 *__restrict__ normals,
                          const float *__restrict__ area, float4 *__restrict__ result) {
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell < cells) result[cell] = change(cell, cells, state, neighbours, normals, area);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 100000000);
    std::vector<float4> state(n);
    std::vector<int> neighbours(3 * (size_t)n);
    std::vector<float2> normals(3 * (size_t)n);
    std::vector<float> area = quick_values(n, 1);
    for (int cell = 0; cell < n; cell++) {
        const uint32_t bits = mixed(cell + 3u);
        state[cell] = make_float4(1.0f + (bits & 255) / 256.0f, (bits >> 8 & 255) / 256.0f - 0.5f,
                                  (bits >> 16 & 255) / 256.0f - 0.5f, 0.0f);
        area[cell] += 0.5f;
    }
    for (size_t e = 0; e < neighbours.size(); e++) {
        // Two neighbours have near numbers, as after a renumbering, and the third is further away.
        const uint32_t bits = mixed((uint32_t)e + 7u);
        const int cell = (int)(e % n), reach = e / n < 2 ? 8 : 2000;
        const int other = cell + (int)(bits % (2 * reach + 1)) - reach;
        neighbours[e] = other >= 0 && other < n && other != cell ? other : -1;
        const float angle = 2.0943951f * (e / n) + (bits >> 16) * 0x1p-16f;
        normals[e] = make_float2(cosf(angle), sinf(angle));
    }
    const float4 *d_state = to_device(state);
    const int *d_neighbours = to_device(neighbours);
    const float2 *d_normals = to_device(normals);
    const float *d_area = to_device(area);
    float4 *d_result = device_zeros<float4>(n);

    dim3 block(256);
    dim3 grid((n + block.x - 1) / block.x);
    mesh_flux<<<grid, block>>>(n, d_state, d_neighbours, d_normals, d_area, d_result);
    finish_launches();

    const std::vector<float> found = from_device((const float *)d_result, 4 * (size_t)n);
    return verdict(sampled_error(found, [&](size_t e) {
        const float4 wanted = change((int)(e / 4), n, state.data(), neighbours.data(),
                                     normals.data(), area.data());
        const float parts[4] = {wanted.x, wanted.y, wanted.z, wanted.w};
        return parts[e % 4];
    }));
}
