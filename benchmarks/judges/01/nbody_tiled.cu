// Gravity of all bodies on each: a block loads as many bodies as it has threads into shared memory
// at a time.
//
//     nvcc -O2 -o nbody_tiled nbody_tiled.cu && ./nbody_tiled 1024

#include "../judge.h"

__host__ __device__ inline void attract(float4 body, float4 other, float *x, float *y, float *z) {
    const float dx = other.x - body.x, dy = other.y - body.y, dz = other.z - body.z;
    const float square = dx * dx + dy * dy + dz * dz + 0.01f;
    const float inverse = 1.0f / sqrtf(square);
    const float force = other.w * inverse * inverse * inverse;
    *x += force * dx;
    *y += force * dy;
    *z += force * dz;
}

#pragma cutune kernel nbody_tiled data(n) block(x: 32..1024) grid(ceil(n / x))
__global__ void nbody_tiled(int n, const float4 *bodies, float4 *accelerations) {
    __shared__ float4 tile[1024];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 nothing = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float4 body = i < n ? bodies[i] : nothing;
    float x = 0.0f, y = 0.0f, z = 0.0f;
    for (int start = 0; start < n; start += blockDim.x) {
        const int mine = start + threadIdx.x;
        tile[threadIdx.x] = mine < n ? bodies[mine] : nothing;
        __syncthreads();
        for (int j = 0; j < (int)blockDim.x; j++) attract(body, tile[j], &x, &y, &z);
        __syncthreads();
    }
    if (i < n) accelerations[i] = make_float4(x, y, z, 0.0f);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 256, 1 << 20);
    const std::vector<float> numbers = fixed_values((size_t)4 * n, 1);
    std::vector<float4> bodies(n);
    for (int i = 0; i < n; i++)
        bodies[i] = make_float4(numbers[4 * i], numbers[4 * i + 1], numbers[4 * i + 2],
                                numbers[4 * i + 3]);
    float4 *device_bodies = to_device(bodies);
    float4 *device_accelerations = to_device(std::vector<float4>(n));

    const unsigned block = 256;
    nbody_tiled<<<blocks_for(n, block), block>>>(n, device_bodies, device_accelerations);
    finish_launches();

    const std::vector<float4> found = from_device(device_accelerations, n);
    std::vector<float> actual(n);
    for (int i = 0; i < n; i++) actual[i] = found[i].x + found[i].y + found[i].z;
    return verdict(sampled_error(actual, [&](size_t i) {
        float x = 0.0f, y = 0.0f, z = 0.0f;
        for (int j = 0; j < n; j++) attract(bodies[i], bodies[j], &x, &y, &z);
        return x + y + z;
    }));
}
