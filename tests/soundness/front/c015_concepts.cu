// EXPECT: tunable
// FLAGS: -std=c++20
#include <cstdio>
#include <cstdlib>
#include <tuple>
#include <utility>
#include <concepts>
struct Size { int n, m; };
template <class T> __global__ void add(T *y, const T *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += x[i]; }
template <std::floating_point T> __global__ void mul(T *y, T a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] *= a; }
template <std::integral T> __global__ void mul(T *y, T a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a; }
template <class T> requires (sizeof(T) == 4) __global__ void sub(T *y, const T *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] -= x[i]; }
__global__ void inc(std::floating_point auto *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += 1; }
__global__ void plain(float *y, const float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += x[i]; }
void params(float *plain_, int add, int grid, float *x) {
    plain<<<grid, 256>>>(plain_, x, add);
}
int main(int argc, char **argv) {
    auto [n, half] = Size{argc > 1 ? atoi(argv[1]) : 1000, 2};
    const auto &[grid, block] = std::pair<int, int>{(n + 255) / 256, 256};
    float *x, *y; cudaMallocManaged(&x, n * 4); cudaMallocManaged(&y, n * 4);
    for (int i = 0; i < n; i++) { x[i] = i; y[i] = 2 * i; }
    add<<<(n + 255) / 256, 256>>>(y, x, n);
    add<<<grid, block>>>(y, x, n);
    plain<<<grid, block>>>(y, x, n);
    mul<<<(n + 255) / 256, 256>>>(y, 2.0f, n);
    int *z = (int *)x;
    mul<<<(n + 255) / 256, 256>>>(z, 2, n);
    sub<<<(n + 255) / 256, 256>>>(y, x, n);
    inc<<<(n + 255) / 256, 256>>>(y, n);
    params(y, n, grid, x);
    cudaDeviceSynchronize(); double s = 0; for (int i = 0; i < n; i++) s += y[i]; printf("%g\n", s);
}
