// One planted error per kernel, named on the command line; `cutune run --check` must find each at
// the line marked with the name of its code, and nothing else. Names with "fine" have none.
#include <cooperative_groups.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void out_of_bounds(int n, int *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) a[i] = i;  // CT470
}
__global__ void misaligned(char *a) {
    *(int *)(a + 4 * threadIdx.x + 1) = 1;  // CT471
}
__global__ void use_after_free(int *a) {
    a[threadIdx.x] = 1;  // CT472
}
__global__ void shared_out_of_bounds(int *a) {
    __shared__ int s[64];
    s[threadIdx.x + 1] = threadIdx.x;  // CT470
    __syncthreads();
    a[threadIdx.x] = s[threadIdx.x ? threadIdx.x : 1];
}
__global__ void unwritten_shared(int *a) {
    __shared__ int s[64];
    if (threadIdx.x < 63) s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    a[threadIdx.x] = s[threadIdx.x];  // CT473
}
__global__ void unwritten_dynamic(int *a) {
    extern __shared__ int d[];
    a[threadIdx.x] = d[threadIdx.x];  // CT473
}
__global__ void unwritten_global(const int *from, int *a) {
    a[threadIdx.x] = from[threadIdx.x];  // CT474
}
__global__ void shared_race(int *a) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;         // CT475
    a[threadIdx.x] = s[63 - threadIdx.x];  // CT475
}
// In whatever order its warps run, one of them changes what the other one has stored.
__global__ void race_of_kept_value(int *a) {
    __shared__ int s[32];
    s[threadIdx.x % 32] = 0;
    __syncthreads();
    if (threadIdx.x < 32)
        s[threadIdx.x] = 0;            // CT475
    else
        s[threadIdx.x - 32] = threadIdx.x;  // CT475
    __syncthreads();
    a[threadIdx.x] = s[threadIdx.x % 32];
}
// The other warp's store leaves what is there.
__global__ void read_of_kept_value(int *a) {
    __shared__ int s[64];
    s[threadIdx.x] = 0;
    __syncthreads();
    s[threadIdx.x] = 0;
    a[threadIdx.x] = s[63 - threadIdx.x];
}
// Each warp has stored what it reads, and no warp stores anything else.
__global__ void read_of_own_value(int *a) {
    __shared__ volatile int s;
    s = 5;
    a[threadIdx.x] = s;
}
__global__ void byte_race(int *a) {
    __shared__ char s[64];
    s[threadIdx.x] = threadIdx.x;         // CT475
    a[threadIdx.x] = s[63 - threadIdx.x];  // CT475
}
__global__ void global_race(int *a) {
    a[threadIdx.x] = threadIdx.x;              // CT476
    if (threadIdx.x < 32) a[threadIdx.x + 32] = 7;  // CT476
}
__global__ void several_lanes(int *a) {
    a[threadIdx.x / 2] = threadIdx.x;  // CT476
}
__global__ void diverged_race(int *a) {
    __shared__ int s[32];
    if (threadIdx.x < 16) s[threadIdx.x] = threadIdx.x;  // CT478
    else a[threadIdx.x] = s[threadIdx.x - 16];           // CT478
}
__global__ void block_race(int *a) {
    a[threadIdx.x] = blockIdx.x;  // CT477
}
__global__ void block_read(int *a, int *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    b[i] = a[(i + blockDim.x) % n];  // CT477
    a[i] = i;                        // CT477
}
__global__ void flag_without_fence(int *a, int *flag) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i + 1;  // CT477
    __syncthreads();
    __shared__ int last;
    if (threadIdx.x == 0) last = atomicAdd(flag, 1) == gridDim.x - 1;
    __syncthreads();
    if (last) a[i] += a[threadIdx.x];  // CT477
}
__global__ void barrier_divergence(int *a) {
    if (threadIdx.x < 32) __syncthreads();  // CT479
    else { a[threadIdx.x] = 1; __syncthreads(); }  // CT479
}
__global__ void fine_flag(int *a, int *flag) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i + 1;
    __threadfence();
    __syncthreads();
    __shared__ int last;
    if (threadIdx.x == 0) last = atomicAdd(flag, 1) == gridDim.x - 1;
    __syncthreads();
    if (last) a[i] += a[threadIdx.x];
}
__global__ void fine_reduction(int *a) {
    __shared__ int s[64];
    s[threadIdx.x] = a[threadIdx.x];
    for (int k = 32; k; k /= 2) {
        __syncthreads();
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    }
    if (threadIdx.x == 0) a[0] = s[0];
}
__global__ void fine_warp(int *a) {
    __shared__ int s[64];
    int *mine = s + threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
    mine[lane] = a[threadIdx.x];
    if (lane < 16) mine[lane] += mine[lane + 16];
    __syncwarp();
    a[threadIdx.x] = mine[lane % 16];
}
__global__ void fine_named_barrier(int *a) {
    __shared__ int s[96];
    int warp = threadIdx.x / 32;
    if (warp < 2) {
        s[threadIdx.x] = threadIdx.x;
        asm volatile("bar.sync 1, 64;" ::: "memory");
        a[threadIdx.x] = s[63 - threadIdx.x];
    } else {
        s[threadIdx.x] = 1;
    }
}
__global__ void failing_assert(int *a) {
    assert(a[threadIdx.x] == 0 || threadIdx.x != 33);  // none of --check's findings
}
__global__ void fine_early_return(int *a) {
    __shared__ int s[64];
    if (threadIdx.x % 32 >= 20) return;
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    a[threadIdx.x] = s[(threadIdx.x + 32) % 64];
}
__global__ void fine_atomics(int *a, int *sum) {
    __shared__ int s;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    atomicAdd(&s, a[threadIdx.x]);
    atomicAdd(sum, 1);
    __syncthreads();
    if (s) atomicMax(sum, s);
}
__device__ int lock;
__global__ void fine_lock(int *a) {
    if (threadIdx.x) return;
    while (atomicCAS(&lock, 0, 1)) {}
    __threadfence();
    a[0] = a[0] + 1;
    __threadfence();
    atomicExch(&lock, 0);
}
__global__ void fine_grid_sync(int *a, int *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    a[i] = i;
    cooperative_groups::this_grid().sync();
    b[i] = a[(i + blockDim.x) % n];
}
__global__ void grid_race(int *a, int *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    a[i] = i;                        // CT477
    b[i] = a[(i + blockDim.x) % n];  // CT477
    cooperative_groups::this_grid().sync();
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    int *a, *b;
    cudaMalloc(&a, 256 * sizeof(int));
    cudaMalloc(&b, 256 * sizeof(int));
    cudaMemset(a, 0, 256 * sizeof(int));
#define CASE(kernel, grid, block, shared, ...) \
    if (!strcmp(name, #kernel)) kernel<<<grid, block, shared>>>(__VA_ARGS__);
    CASE(out_of_bounds, 4, 65, 0, 256, a)
    CASE(misaligned, 1, 32, 0, (char *)a)
    if (!strcmp(name, "use_after_free")) cudaFree(a);
    CASE(use_after_free, 1, 32, 0, a)
    CASE(shared_out_of_bounds, 1, 64, 0, a)
    CASE(unwritten_shared, 1, 64, 0, a)
    CASE(unwritten_dynamic, 1, 64, 256, a)
    CASE(unwritten_global, 1, 64, 0, b, a)
    CASE(shared_race, 1, 64, 0, a)
    CASE(race_of_kept_value, 1, 64, 0, a)
    CASE(read_of_kept_value, 1, 64, 0, a)
    CASE(read_of_own_value, 1, 64, 0, a)
    CASE(byte_race, 1, 64, 0, a)
    CASE(global_race, 1, 64, 0, a)
    CASE(several_lanes, 1, 64, 0, a)
    CASE(diverged_race, 1, 32, 0, a)
    CASE(block_race, 2, 32, 0, a)
    CASE(block_read, 2, 32, 0, a, b)
    CASE(flag_without_fence, 4, 64, 0, b, a)
    CASE(barrier_divergence, 1, 64, 0, a)
    CASE(fine_flag, 4, 64, 0, b, a)
    CASE(fine_reduction, 1, 64, 0, a)
    CASE(fine_warp, 1, 64, 0, a)
    CASE(fine_named_barrier, 1, 96, 0, a)
    if (!strcmp(name, "failing_assert")) cudaMemset(a, 1, 256);
    CASE(failing_assert, 2, 64, 0, a)
    CASE(fine_early_return, 1, 64, 0, a)
    CASE(fine_atomics, 4, 64, 0, a, a + 100)
    CASE(fine_lock, 4, 64, 0, a)
    void *arguments[] = {&a, &b};
    if (!strcmp(name, "fine_grid_sync"))
        cudaLaunchCooperativeKernel((void *)fine_grid_sync, 4, 64, arguments);
    if (!strcmp(name, "grid_race"))
        cudaLaunchCooperativeKernel((void *)grid_race, 4, 64, arguments);
    printf("%s: %s\n", name, cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
