#define CUTUNE_TILES
#include "cutune_launch.h"
#include "cutune_range.h"
#include "cutune_allocation.h"
static inline long long cutune_shared_1(long long x, long long y, long long) { return ((4ll * (x > 32ll ? x : 32ll) * y) + 64ll); }
static inline long long cutune_shared_2(long long x, long long, long long) { return x * 4ll; }
static inline long long cutune_shared_3(long long x, long long, long long) { return 2ll * x * 8ll + 16ll; }
static inline long long cutune_shared_4(long long x, long long, long long) { return (x + 1ll) * 4ll; }
static inline long long cutune_shared_5(long long x, long long, long long) { return (x < 64ll + 1ll ? 2ll * x : x) * 4ll; }
static inline long long cutune_shared_6(long long x, long long, long long) { return 4ll * x; }
static const cutune_site cutune_sites[] = {
    {1, "said", "shared_memory.cu", {cutune_divide, cutune_divide, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, cutune_shared_1, false, 0u, true, 7u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {2, "shown", "shared_memory.cu", {cutune_divide, cutune_fixed, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, cutune_shared_2, false, 0u, true, 7u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {3, "shown", "shared_memory.cu", {cutune_divide, cutune_fixed, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, cutune_shared_3, false, 0u, true, 7u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {4, "shown", "shared_memory.cu", {cutune_divide, cutune_fixed, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, cutune_shared_4, false, 0u, true, 7u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {5, "shown", "shared_memory.cu", {cutune_divide, cutune_fixed, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, cutune_shared_5, false, 0u, true, 7u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {6, "shown", "shared_memory.cu", {cutune_divide, cutune_fixed, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, cutune_shared_6, false, 0u, true, 7u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {7, "pure", "shared_memory.cu", {cutune_divide, cutune_fixed, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
};
#include "cutune_probe.h"
#include "cutune_deduced.h"
#include "cutune_call.h"
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
    cutune_launch(1, n, dim3(32, 4), n) ? (void)0 : cutune_call(said)(a);
    cutune_launch(2, n, threads, threads * sizeof(float)) ? (void)0 : cutune_call(shown)(a);
    cutune_launch(3, n, SIZE, 2 * SIZE * sizeof(double) + 16) ? (void)0 : cutune_call(shown)(a);
    dim3 block(64);
    size_t bytes = (block.x + 1) * sizeof(int);
    cutune_launch(4, n, block, bytes) ? (void)0 : cutune_call(shown)(a);
    const int width = 32 * n;
    cutune_launch(5, n, width, (width <= 64 ? 2 * width : width) << 2) ? (void)0 : cutune_call(shown)(a);
    int rounded = 32;
    if (n > 3) rounded = 64;
    cutune_launch(6, n, rounded, 4 * rounded) ? (void)0 : cutune_call(shown)(a);
    // Proven without shared memory: what is asked for stays.
    cutune_launch(7, n, threads, threads * 4) ? (void)0 : cutune_call(pure)(a);
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
