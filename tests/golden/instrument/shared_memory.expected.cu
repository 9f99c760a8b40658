#include "cutune_launch.h"
static inline long long cutune_shared_1(long long x, long long y, long long) { return ((4ll * (x > 32ll ? x : 32ll) * y) + 64ll); }
static inline long long cutune_shared_2(long long x, long long, long long) { return x * 4ll; }
static inline long long cutune_shared_3(long long x, long long, long long) { return 2ll * x * 8ll + 16ll; }
static inline long long cutune_shared_4(long long x, long long, long long) { return (x + 1ll) * 4ll; }
static inline long long cutune_shared_5(long long x, long long, long long) { return (x < 64ll + 1ll ? 2ll * x : x) * 4ll; }
static inline long long cutune_shared_6(long long x, long long, long long) { return 4ll * x; }
static const cutune_site cutune_sites[] = {
    {1, "said", "shared_memory.cu", {cutune_divide, cutune_divide, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, cutune_shared_1, false, true},
    {2, "shown", "shared_memory.cu", {cutune_divide, cutune_fixed, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, cutune_shared_2, false, true},
    {3, "shown", "shared_memory.cu", {cutune_divide, cutune_fixed, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, cutune_shared_3, false, true},
    {4, "shown", "shared_memory.cu", {cutune_divide, cutune_fixed, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, cutune_shared_4, false, true},
    {5, "shown", "shared_memory.cu", {cutune_divide, cutune_fixed, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, cutune_shared_5, false, true},
    {6, "shown", "shared_memory.cu", {cutune_divide, cutune_fixed, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, cutune_shared_6, false, true},
    {7, "pure", "shared_memory.cu", {cutune_divide, cutune_fixed, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, nullptr, false, true},
};
#include "cutune_probe.h"
#line 1 "shared_memory.cu"
// Dynamic shared memory as a formula of the block: the user's, or what the launch itself shows.
#define SIZE 128
#pragma cutune kernel said block(x: 32..1024, y: 1..8) shared(4 * max(x, 32) * y + 64)
__global__ void said(float *a) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = a[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    a[blockIdx.y * blockDim.y + threadIdx.y] = tile[threadIdx.x];
}
#pragma cutune kernel shown block(x: 32..1024)
__global__ void shown(float *a) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = a[blockIdx.x * blockDim.x + threadIdx.x];
}
#pragma cutune kernel sized block(x: 32..1024)
__global__ void sized(int n, float *a) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = a[blockIdx.x * blockDim.x + threadIdx.x];
}
__global__ void pure(float *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = 0; }

void run(int n, float *a, int threads) {
    for (cutune_launch cutune_1(1, n, dim3(32, 4), n, 0, a); cutune_1.next();) said<<<cutune_1.grid, cutune_1.block, cutune_1.smem, cutune_1.stream>>>(a);
    for (cutune_launch cutune_2(2, n, threads, threads * sizeof(float), 0, a); cutune_2.next();) shown<<<cutune_2.grid, cutune_2.block, cutune_2.smem, cutune_2.stream>>>(a);
    for (cutune_launch cutune_3(3, n, SIZE, 2 * SIZE * sizeof(double) + 16, 0, a); cutune_3.next();) shown<<<cutune_3.grid, cutune_3.block, cutune_3.smem, cutune_3.stream>>>(a);
    dim3 block(64);
    size_t bytes = (block.x + 1) * sizeof(int);
    for (cutune_launch cutune_4(4, n, block, bytes, 0, a); cutune_4.next();) shown<<<cutune_4.grid, cutune_4.block, cutune_4.smem, cutune_4.stream>>>(a);
    const int width = 32 * n;
    for (cutune_launch cutune_5(5, n, width, (width <= 64 ? 2 * width : width) << 2, 0, a); cutune_5.next();) shown<<<cutune_5.grid, cutune_5.block, cutune_5.smem, cutune_5.stream>>>(a);
    int rounded = 32;
    if (n > 3) rounded = 64;
    for (cutune_launch cutune_6(6, n, rounded, 4 * rounded, 0, a); cutune_6.next();) shown<<<cutune_6.grid, cutune_6.block, cutune_6.smem, cutune_6.stream>>>(a);
    // Proven without shared memory: what is asked for stays.
    for (cutune_launch cutune_7(7, n, threads, threads * 4, 0, a); cutune_7.next();) pure<<<cutune_7.grid, cutune_7.block, cutune_7.smem, cutune_7.stream>>>(a);
}

// Not certain, hence not changed.
void uncertain(int n, float *a, int threads) {
    shown<<<n, 256, 1024>>>(a);
    shown<<<n, 256, 256 * sizeof(float)>>>(a);
    shown<<<n, threads, n * sizeof(float)>>>(a);
    size_t before = threads * 4;
    threads = 64;
    shown<<<n, threads, before>>>(a);
    int other = 64;
    size_t early = other * 4;
    if (n > 3) other = 128;
    shown<<<n, other, early>>>(a);
    shown<<<n, threads, (size_t)(threads * 0.5)>>>(a);
    shown<<<n, threads, threads * sizeof(*a)>>>(a);
    shown<<<n, 2 * n, threads / n>>>(a);
    // 32 may be the block's, and so may a size that the kernel is given.
    sized<<<n, dim3(32, threads), 32 * threads * 4>>>(n, a);
    sized<<<n, threads, threads * 4>>>(threads, a);
    int doubled = 2 * n;
    sized<<<n, doubled, doubled * 4>>>(n, a);
}
