// EXPECT: tunable
#include <cstdio>
#include <cstdlib>
__global__ void add(float *y, const float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += x[i]; }
__global__ void mul(float *y, const float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] *= x[i]; }
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    float *x, *y; cudaMallocManaged(&x, n * 4); cudaMallocManaged(&y, n * 4);
    for (int i = 0; i < n; i++) { x[i] = i; y[i] = 2 * i; }
    add<<<(n + 255) / 256, 256>>>(y, x, n);
    void *args[] = {&y, &x, &n};
    cudaLaunchKernel((void *)add, dim3((n + 255) / 256), dim3(256), args, 0, nullptr);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((n + 255) / 256); config.blockDim = dim3(256);
    cudaLaunchKernelEx(&config, mul, y, (const float *)x, n);
    mul<<<(n + 255) / 256, 256>>>(y, x, n);
    auto add2 = add;
    add2<<<(n + 255) / 256, 256>>>(y, x, n);
    {
        void (*mul)(float *, const float *, int) = add;
        mul<<<(n + 255) / 256, 256>>>(y, x, n);
    }
    const void *f = (const void *)&add;
    cudaLaunchKernel(f, dim3((n + 255) / 256), dim3(256), args, 0, nullptr);
    add<<<(n + 255) / 256, 256>>>(y, x, n);
    cudaDeviceSynchronize(); double s = 0; for (int i = 0; i < n; i++) s += y[i]; printf("%g\n", s);
}
