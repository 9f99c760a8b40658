// EXPECT: tunable
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#define I int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n)
namespace geo { struct Vec { float x, y; }; enum class Axis { X, Y }; }
using Real = float;
template <class T> struct View { T *data; int n; };
__global__ void a(float4 *y, int n) { I y[i].x += 1; }
__global__ void a(geo::Vec *y, int n) { I y[i].x += threadIdx.x; }
__global__ void b(float *y, geo::Axis a, int n) { I y[i] += (int)a; }
__global__ void b(float *y, float a, int n) { I y[i] += a * threadIdx.x; }
__global__ void c(View<float> v, int n) { I v.data[i] += 1; }
__global__ void c(View<int> v, int n) { I v.data[i] += threadIdx.x; }
template <class T> __global__ void d(T *y, T a, int n) { I y[i] += a; }
template <class T> __global__ void d(T *y, int a, T n) { I y[i] += a * threadIdx.x; }
__global__ void e(Real *y, std::size_t n) { I y[i] += 1; }
__global__ void e(double *y, std::size_t n) { I y[i] += threadIdx.x; }
__global__ void f(float *y, int (*p)[4], int n) { I y[i] += p[0][0]; }
__global__ void f(float *y, const int *const *p, int n) { I y[i] += p[0][0] + threadIdx.x; }
template <class T> __global__ void g(View<T> v, int n) { I v.data[i] += 1; }
template <class T> __global__ void g(T *v, int n) { I v[i] += threadIdx.x; }
template <int N> __global__ void h(float *y, int n) { I y[i] += N; }
template <class T> __global__ void h(T *y, int n) { I y[i] += threadIdx.x; }
int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1000;
    float *y; cudaMallocManaged(&y, n * 16); int *k; cudaMallocManaged(&k, 16); k[0] = 0; int **kk; cudaMallocManaged(&kk, 16); kk[0] = k;
    for (int i = 0; i < n; i++) y[i] = 2 * i;
    const int g1 = (n + 255) / 256;
    a<<<g1, 256>>>((float4 *)y, n);
    a<<<g1, 256>>>((geo::Vec *)y, n);
    b<<<g1, 256>>>(y, geo::Axis::Y, n);
    b<<<g1, 256>>>(y, 2.f, n);
    View<float> v{y, n}; View<int> w{(int *)y, n};
    c<<<g1, 256>>>(v, n);
    c<<<g1, 256>>>(w, n);
    d<<<g1, 256>>>(y, 1.f, n);
    d<<<g1, 256>>>((double *)y, 1, 2.0);
    e<<<g1, 256>>>(y, n);
    e<<<g1, 256>>>((double *)y, n / 2);
    f<<<g1, 256>>>(y, (int (*)[4])k, n);
    f<<<g1, 256>>>(y, kk, n);
    g<<<g1, 256>>>(v, n);
    g<<<g1, 256>>>(y, n);
    h<3><<<g1, 256>>>(y, n);
    h<float><<<g1, 256>>>(y, n);
    cudaDeviceSynchronize(); double s = 0; for (int i = 0; i < n; i++) s += y[i]; printf("%g\n", s);
}
