#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
__global__ void one(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = a[i] * 2 + 1;
}
__global__ void two(int n, int m, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < m) a[j * n + i] += 1;
}
template <class T> __global__ void temp(int n, T *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] += 3;
}
__global__ void __launch_bounds__(128) bounded(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] += 5;
}
static unsigned pick(unsigned *s) {
    static const unsigned some[] = {0, 1, 2, 16, 31, 32, 33, 64, 65, 128, 256, 512, 1023, 1024, 1025, 2048, 65535, 65536, 2147483647u, 2147483648u, 4294967295u};
    *s = *s * 1664525u + 1013904223u;
    return some[(*s >> 8) % 21];
}
int main(int argc, char **argv) {
    unsigned s = argc > 1 ? atoi(argv[1]) : 1;
    float *a; cudaMalloc(&a, 4 << 20); cudaMemset(a, 0, 4 << 20);
    int tally[1000] = {};
    for (int i = 0; i < 4000; ++i) {
        dim3 grid(pick(&s), i % 3 ? 1 : pick(&s), i % 7 ? 1 : pick(&s)), block(pick(&s), i % 5 ? 1 : pick(&s), i % 11 ? 1 : pick(&s));
        unsigned long long total = (unsigned long long)grid.x * grid.y * grid.z;
        bool large = total > 4096 && !(block.x > 1024 || grid.y > 65535 || grid.z > 65535 || block.y>1024 || (unsigned long long)block.x * block.y * block.z > 1024);
        if (large) continue;
        int smems[] = {0, 0, 0, 100, 49152, 49153, 60000, 200000, 300000};
        s = s * 1664525u + 1013904223u;
        int n = (int)((s >> 9) % 5000), smem = smems[(s >> 20) % 9];
        switch (i % 4) {
        case 0: one<<<grid, block, smem>>>(n, a); break;
        case 1: two<<<grid, block, smem>>>(n, 50, a); break;
        case 2: temp<float><<<grid, block, smem>>>(n, a); break;
        case 3: bounded<<<grid, block, smem>>>(n, a); break;
        }
        cudaError_t e = cudaGetLastError();
        printf("%d %d: %u %u %u, %u %u %u, %d: %d\n", i, i % 4, grid.x, grid.y, grid.z, block.x, block.y, block.z, smem, (int)e);
        cudaDeviceSynchronize();
    }
    return 0;
}
