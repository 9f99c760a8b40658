// All-pairs gravitational n-body, positions staged through shared memory in
// tiles of TILE_BODIES. One thread integrates one body.
//
// build: nvcc -O2 nbody_tiles.cu        (-DTILE_BODIES=... to change the tile)
// run:   ./a.out [bodies] [steps]

#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

#ifndef TILE_BODIES
#define TILE_BODIES 128
#endif

#define SOFTENING2 0.01f
#define DT 0.001f

#define CHK(c) { cudaError_t r = (c); if (r != cudaSuccess) { \
    printf("error %d (%s) at line %d\n", (int)r, cudaGetErrorString(r), __LINE__); exit(1); } }

__device__ float3 interact(float4 a, float4 b, float3 acc)
{
    float dx = b.x - a.x;
    float dy = b.y - a.y;
    float dz = b.z - a.z;
    float d2 = dx * dx + dy * dy + dz * dz + SOFTENING2;
    float inv = 1.0f / sqrtf(d2);
    float s = b.w * inv * inv * inv;
    acc.x += dx * s;
    acc.y += dy * s;
    acc.z += dz * s;
    return acc;
}

__global__ void accelerate(const float4 *pos, float4 *vel, int n)
{
    __shared__ float4 tile[TILE_BODIES];

    int i = blockIdx.x * TILE_BODIES + threadIdx.x;
    float4 self = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float3 acc = make_float3(0.0f, 0.0f, 0.0f);
    if (i < n)
        self = pos[i];

    for (int first = 0; first < n; first += TILE_BODIES) {
        int j = first + threadIdx.x;
        // bodies past the end have no mass
        tile[threadIdx.x] = j < n ? pos[j] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < TILE_BODIES; k++)
            acc = interact(self, tile[k], acc);
        __syncthreads();
    }

    if (i < n) {
        float4 v = vel[i];
        v.x += DT * acc.x;
        v.y += DT * acc.y;
        v.z += DT * acc.z;
        vel[i] = v;
    }
}

__global__ void advance(float4 *pos, const float4 *vel, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 p = pos[i];
    p.x += DT * vel[i].x;
    p.y += DT * vel[i].y;
    p.z += DT * vel[i].z;
    pos[i] = p;
}

static float uniform(unsigned *s)
{
    *s = *s * 1664525u + 1013904223u;
    return (float)(*s >> 8) / 16777216.0f;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 4096;
    int steps = argc > 2 ? atoi(argv[2]) : 1;
    size_t bytes = (size_t)n * sizeof(float4);

    float4 *pos = (float4 *)malloc(bytes);
    float4 *before = (float4 *)malloc(bytes);
    float4 *vel = (float4 *)calloc(n, sizeof(float4));
    float4 *vel_before = (float4 *)calloc(n, sizeof(float4));
    unsigned s = 2024;
    for (int i = 0; i < n; i++) {
        pos[i].x = 2.0f * uniform(&s) - 1.0f;
        pos[i].y = 2.0f * uniform(&s) - 1.0f;
        pos[i].z = 2.0f * uniform(&s) - 1.0f;
        pos[i].w = (0.5f + uniform(&s)) / n;
    }

    float4 *d_pos, *d_vel;
    CHK(cudaMalloc((void **)&d_pos, bytes));
    CHK(cudaMalloc((void **)&d_vel, bytes));
    CHK(cudaMemcpy(d_pos, pos, bytes, cudaMemcpyHostToDevice));
    CHK(cudaMemset(d_vel, 0, bytes));

    int blocks = (n + TILE_BODIES - 1) / TILE_BODIES;
    for (int t = 0; t < steps; t++) {
        if (t == steps - 1) {   // state before the last step, for the check
            CHK(cudaMemcpy(before, d_pos, bytes, cudaMemcpyDeviceToHost));
            CHK(cudaMemcpy(vel_before, d_vel, bytes, cudaMemcpyDeviceToHost));
        }
        accelerate<<<blocks, TILE_BODIES>>>(d_pos, d_vel, n);
        advance<<<(n + 255) / 256, 256>>>(d_pos, d_vel, n);
        CHK(cudaGetLastError());
    }
    CHK(cudaDeviceSynchronize());
    CHK(cudaMemcpy(pos, d_pos, bytes, cudaMemcpyDeviceToHost));
    CHK(cudaMemcpy(vel, d_vel, bytes, cudaMemcpyDeviceToHost));

    int bad = 0;
    int stride = n / 100 + 1;
    for (int i = n - 1; i >= 0; i -= stride) {
        double ax = 0, ay = 0, az = 0;
        for (int j = 0; j < n; j++) {
            double dx = before[j].x - before[i].x;
            double dy = before[j].y - before[i].y;
            double dz = before[j].z - before[i].z;
            double d2 = dx * dx + dy * dy + dz * dz + SOFTENING2;
            double f = before[j].w / (d2 * sqrt(d2));
            ax += f * dx;
            ay += f * dy;
            az += f * dz;
        }
        double ex = fabs((vel[i].x - vel_before[i].x) / DT - ax);
        double ey = fabs((vel[i].y - vel_before[i].y) / DT - ay);
        double ez = fabs((vel[i].z - vel_before[i].z) / DT - az);
        double px = fabs(before[i].x + DT * vel[i].x - pos[i].x);
        if (!(ex < 2e-3 && ey < 2e-3 && ez < 2e-3 && px < 1e-5))
            bad++;
    }
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += fabs(vel[i].x) + fabs(vel[i].y) + fabs(vel[i].z);
    printf("n=%d steps=%d checksum %.7f\n%s\n", n, steps, sum, bad ? "FAIL" : "PASS");

    CHK(cudaFree(d_pos));
    CHK(cudaFree(d_vel));
    free(pos); free(before); free(vel); free(vel_before);
    return bad ? 1 : 0;
}
