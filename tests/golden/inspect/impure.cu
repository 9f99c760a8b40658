// What makes a kernel depend on its block, one rule each.
#include <cstdio>

__global__ void shared(float *a) {
    __shared__ float tile[256];
    tile[threadIdx.x] = a[blockIdx.x * blockDim.x + threadIdx.x];
}
__global__ void barrier(float *a) {
    a[blockIdx.x * blockDim.x + threadIdx.x] = 0;
    __syncthreads();
}
__global__ void warp(int *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = __shfl_xor_sync(0xffffffff, a[i], 1);
}
__global__ void assembly(int *a) {
    int lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    a[blockIdx.x * blockDim.x + threadIdx.x] = lane;
}
__global__ void ticket(int *a, int *counter) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[atomicAdd(counter, 1)] = i;
}
__global__ void fixed_block(int *a) { a[blockIdx.x * 256 + threadIdx.x] = 0; }
__global__ void block_number(int *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = blockIdx.x;
}
__global__ void only_y(int *a) {
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    a[y] = threadIdx.x;
}
__device__ int unknown(int);
__global__ void unknown_function(int *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = unknown(i);
}
__device__ int lane() { return threadIdx.x % 32; }
__global__ void through_function(int *a) {
    a[blockIdx.x * blockDim.x + threadIdx.x] = lane();
}
__global__ void no_index(int *a) { *a = 1; }
__global__ void shared_flag(volatile int *a) {
    a[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
__global__ void fence(int *a) {
    a[blockIdx.x * blockDim.x + threadIdx.x] = 1;
    __threadfence();
}
__global__ void talks(int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) printf("%d\n", i);
}
__global__ void jumps(int *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
again:
    if (a[i]-- > 0) goto again;
}
__global__ void late(int *a) {
    int i = blockIdx.x * blockDim.x;
    if (a) i += threadIdx.x;
    a[i] = 0;
}
__global__ void conditional(int *a) {
#ifdef FAST
    int i = threadIdx.x;
#else
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#endif
    a[i] = 0;
}
__global__ void grid_size(int *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = gridDim.x; }

void run(int *a, float *f) {
    shared<<<8, 256>>>(f);  // expect CT221: kernel 'shared' does not index its threads by blockIdx, blockDim and threadIdx, so that there is nothing to choose
    barrier<<<8, 256>>>(f);
    warp<<<8, 256>>>(a);
    assembly<<<8, 256>>>(a);
    ticket<<<8, 256>>>(a, a);  // expect CT216: kernel 'ticket' uses the result of atomicAdd, which depends on the order of threads; write the kernel without that result
    fixed_block<<<8, 256>>>(a);  // expect CT217: kernel 'fixed_block' uses threadIdx.x and blockIdx.x in an address other than as blockIdx.x * blockDim.x + threadIdx.x
    block_number<<<8, 256>>>(a);  // expect CT217: kernel 'block_number' uses blockIdx.x in a stored value other than as blockIdx.x * blockDim.x + threadIdx.x
    only_y<<<8, 256>>>(a);
    unknown_function<<<8, 256>>>(a);  // expect CT218: kernel 'unknown_function' calls 'unknown', whose definition was not found; define it in this source, or in a header that it includes
    through_function<<<8, 256>>>(a);
    no_index<<<1, 1>>>(a);  // expect CT221: kernel 'no_index' does not index its threads by blockIdx, blockDim and threadIdx, so that there is nothing to choose
    fence<<<8, 256>>>(a);  // expect CT222: kernel 'fence' uses a memory fence, whose effect depends on the order of threads; write the kernel without it
    shared_flag<<<8, 256>>>(a);  // expect CT222: kernel 'shared_flag' uses volatile memory, whose effect depends on the order of threads; write the kernel without it
    talks<<<8, 256>>>(8);  // expect CT222: kernel 'talks' uses printf, whose effect depends on the order of threads; write the kernel without it
    jumps<<<8, 256>>>(a);
    late<<<8, 256>>>(a);  // expect CT217: kernel 'late' uses blockIdx.x and blockDim.x in an address other than as blockIdx.x * blockDim.x + threadIdx.x
    conditional<<<8, 256>>>(a);
    grid_size<<<8, 256>>>(a);  // expect CT217: kernel 'grid_size' uses gridDim.x in a stored value other than as blockIdx.x * blockDim.x + threadIdx.x
}
