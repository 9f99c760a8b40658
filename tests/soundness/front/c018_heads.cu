// EXPECT: tunable
// FLAGS: -std=c++20
#include "front.h"
extern "C" __global__ void c_add(float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += 1; }
extern "C" { __global__ void c_mul(float *__restrict__ y, int n); }
__global__ void c_mul(float *__restrict__ y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] *= 2; }
static __global__ __launch_bounds__(256, 2) void bounded(float *y, const int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += 2; }
__launch_bounds__(512) __global__ auto trailing(float *y, int n) -> void { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += 3; }
namespace { [[maybe_unused]] __global__ void hidden(float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += 4; } }
struct Big { float a[4]; int n; };
__global__ void constant(float *y, const __grid_constant__ Big b) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < b.n) y[i] += b.a[i % 4]; }
template <class T> requires (sizeof(T) == 4) __global__ void needs(T *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += 5; }
template <class T, int... I> __global__ void packs(T *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += (I + ... + 0); }
template <template <class> class P, class T> __global__ void policy(T *y, P<T> p, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += p.v; }
template <class T> struct Holder { T v; };
__global__ void (array)(float y[], int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += 7; }
typedef float Row[4];
__global__ void rows(Row *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i][i % 4] += 7; }
int main(int argc, char **argv) {
    int n = size_of(argc, argv); float *y = filled<float>(n * 4);
    const dim3 block{256}, grid{unsigned((n + 255) / 256)};
    c_add<<<grid, block>>>(y, n); c_mul<<<grid, block>>>(y, n); bounded<<<grid, block>>>(y, n); trailing<<<grid, block>>>(y, n);
    ::hidden<<<grid, block>>>(y, n); constant<<<grid, block>>>(y, Big{{1, 2, 3, 4}, n}); needs<<<grid, block>>>(y, n);
    packs<float, 1, 2, 3><<<grid, block>>>(y, n); packs<float><<<grid, block>>>(y, n); policy<Holder><<<grid, block>>>(y, Holder<float>{2.5f}, n); policy<<<grid, block>>>(y, Holder<float>{1.5f}, n);
    (array)<<<grid, block>>>(y, n); array<<<grid, block>>>(y, n); rows<<<grid, block>>>((Row *)y, n);
    if (n) [[likely]] { c_add<<<grid, block>>>(y, n); } else [[unlikely]] c_add<<<grid, block>>>(y, n);
    int k = 2; while (k --> 0) c_add<<<grid, block>>>(y, n);
    true ? (void)0 : (void)(k = 3); c_add<<<grid, block, 0, 0>>>(y, n), k = 4;
    printed("y", y, n);
}
