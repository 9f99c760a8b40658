// Accelerations of bodies that attract each other: a block brings a tile of as many bodies as it
// has threads into shared memory, and each thread adds up what they do to several of its own.
//
//     nvcc -O2 -o nbody_tiles nbody_tiles.cu && ./nbody_tiles 3000

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#ifndef BLOCK
#define BLOCK 256
#endif

constexpr int BODIES_PER_THREAD = 1;
constexpr float SOFTENING = 1e-2f;

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t error = (call);                                                              \
        if (error != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));       \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

__global__ void accelerations(const float4 *bodies, float3 *result, int n) {
    __shared__ float4 tile[BLOCK];
    const int first = blockIdx.x * BLOCK * BODIES_PER_THREAD + threadIdx.x;
    float4 own[BODIES_PER_THREAD];
    float3 sum[BODIES_PER_THREAD];
    for (int b = 0; b < BODIES_PER_THREAD; b++) {
        const int body = first + b * BLOCK;
        own[b] = body < n ? bodies[body] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        sum[b] = make_float3(0.0f, 0.0f, 0.0f);
    }
    for (int start = 0; start < n; start += BLOCK) {
        const int other = start + threadIdx.x;
        // Bodies behind the last have no mass.
        tile[threadIdx.x] = other < n ? bodies[other] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < BLOCK; j++) {
            const float4 from = tile[j];
            for (int b = 0; b < BODIES_PER_THREAD; b++) {
                const float dx = from.x - own[b].x, dy = from.y - own[b].y, dz = from.z - own[b].z;
                const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + SOFTENING);
                const float pull = from.w * inverse * inverse * inverse;
                sum[b].x += pull * dx;
                sum[b].y += pull * dy;
                sum[b].z += pull * dz;
            }
        }
        __syncthreads();
    }
    for (int b = 0; b < BODIES_PER_THREAD; b++) {
        const int body = first + b * BLOCK;
        if (body < n) result[body] = sum[b];
    }
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 3000;
    std::vector<float4> bodies(n);
    std::vector<float3> result(n);
    unsigned state = 271828;
    auto random = [&state] { return ((state = state * 1664525u + 1013904223u) >> 8) * 0x1p-24f; };
    for (float4 &body : bodies) {
        body.x = random(), body.y = random(), body.z = random();
        body.w = (0.5f + random()) / n;
    }
    float4 *d_bodies;
    float3 *d_result;
    CHECK(cudaMalloc(&d_bodies, n * sizeof(float4)));
    CHECK(cudaMalloc(&d_result, n * sizeof(float3)));
    CHECK(cudaMemcpy(d_bodies, bodies.data(), n * sizeof(float4), cudaMemcpyHostToDevice));

    const int per_block = BLOCK * BODIES_PER_THREAD;
    accelerations<<<(n + per_block - 1) / per_block, BLOCK>>>(d_bodies, d_result, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(result.data(), d_result, n * sizeof(float3), cudaMemcpyDeviceToHost));

    bool right = true;
    for (int s = 0; n <= 20000 && s < 50; s++) {
        const int i = s * 7919 % n;
        double x = 0.0, y = 0.0, z = 0.0;
        for (const float4 &from : bodies) {
            const double dx = from.x - bodies[i].x, dy = from.y - bodies[i].y;
            const double dz = from.z - bodies[i].z;
            const double pull = from.w * pow(dx * dx + dy * dy + dz * dz + SOFTENING, -1.5);
            x += pull * dx, y += pull * dy, z += pull * dz;
        }
        right = right && fabs(result[i].x - x) < 1e-3 && fabs(result[i].y - y) < 1e-3 &&
                fabs(result[i].z - z) < 1e-3;
    }
    double squares = 0.0, lengths = 0.0;
    for (const float3 &a : result) {
        const double square = (double)a.x * a.x + (double)a.y * a.y + (double)a.z * a.z;
        squares += square, lengths += sqrt(square);
    }
    printf("%d bodies: mean acceleration %.5e, of squares %.5e\n", n, lengths / n, squares / n);
    printf("%s\n", right ? "PASS" : "FAIL");
    CHECK(cudaFree(d_bodies));
    CHECK(cudaFree(d_result));
    return right ? 0 : 1;
}
