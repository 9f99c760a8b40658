// Kernels that share a name: the arguments of a launch, or its scope, choose among them.
#include <cstdio>

#include "overloads.h"

#define INDEX const int i = blockIdx.x * blockDim.x + threadIdx.x
#define SUM(term)                            \
    if (i < n)                               \
        for (int k = 0; k < 4; ++k) to[i] += (term)

// Overloads, one of them a template.
__global__ void scale(int n, float *to, const float *from) { INDEX; SUM(from[i] * k); }
__global__ void scale(int n, double *to, const double *from) { INDEX; SUM(from[i] * k + 1); }
template <class T>
__global__ void scale(int n, T *to, const T *from) { INDEX; SUM(from[i] + 2); }

// One name in several namespaces, one of them within another.
namespace outer {
__global__ void fill(int n, float *to, const float *from) { INDEX; SUM(from[i] + 3 * k); }
namespace inner {
__global__ void fill(int n, float *to, const float *from) { INDEX; SUM(from[i] + 4 * k); }
void go(int n, float *to, const float *from) { fill<<<n / 32 + 1, 32>>>(n, to, from); }
}  // namespace inner
void go(int n, float *to, const float *from) { fill<<<n / 32 + 1, 32>>>(n, to, from); }
}  // namespace outer

// Template arguments that are deduced from two arguments, written in part, or deduced otherwise.
template <class T, class S>
__global__ void convert(int n, T *to, const S *from) { INDEX; SUM(static_cast<T>(from[i])); }
template <int K, class T>
__global__ void power(int n, T *to, const T *from) { INDEX; SUM(from[i] * K); }
template <class T>
struct named { typedef T type; };
template <class T>
struct view { T *data; int n; };
template <class T>
__global__ void depend(int n, T *to, const typename named<T>::type *from) { INDEX; SUM(from[i] + 5); }
template <class T>
__global__ void look(view<T> what, int n, T by) { INDEX; if (i < n) what.data[i] *= by; }

// One launch for several types.
template <class T>
void both(int n, T *to, const T *from) {
    if (n > 0)
        scale<<<n / 32 + 1, 32>>>(n, to, from);
    else
        convert<<<1, 32>>>(n, to, from);
    convert<<<n / 32 + 1, 32>>>(n, to, from);
}

// Nobody else knows their names.
static __global__ void mine(int n, float *to, const float *from) { INDEX; SUM(from[i] + 6); }
namespace {
__global__ void hidden(int n, float *to, const float *from) { INDEX; SUM(from[i] + 7); }
__global__ void hidden(int n, int *to, const int *from) { INDEX; SUM(from[i] + 8); }
}  // namespace
extern "C" __global__ void plain(int n, float *to, const float *from) { INDEX; SUM(from[i] + 9); }

template <class T>
static T *made(int n, T first) {
    T *found;
    cudaMallocManaged(&found, n * sizeof(T));
    for (int i = 0; i < n; ++i) found[i] = first + i;
    return found;
}

int main() {
    const int n = 100;
    float *a = made(n, 1.f), *b = made(n, 2.f);
    double *c = made(n, 3.), *d = made(n, 4.);
    int *e = made(n, 5), *f = made(n, 6);
    view<float> all = {a, n};
    scale<<<n / 32 + 1, 32>>>(n, a, b);
    scale<<<n / 32 + 1, 32>>>(n, c, d);
    scale<<<n / 32 + 1, 32>>>(n, e, f);
    outer::fill<<<n / 32 + 1, 32>>>(n, a, b);
    outer::inner::fill<<<n / 32 + 1, 32>>>(n, b, a);
    outer::go(n, a, b);
    outer::inner::go(n, b, a);
    convert<<<n / 32 + 1, 32>>>(n, a, d);
    convert<<<n / 32 + 1, 32>>>(n, d, b);
    power<3><<<n / 32 + 1, 32>>>(n, a, b);
    power<2><<<n / 32 + 1, 32>>>(n, c, d);
    depend<<<n / 32 + 1, 32>>>(n, a, b);
    look<<<n / 32 + 1, 32>>>(all, n, .5f);
    both(n, a, b);
    both(n, d, c);
    mine<<<n / 32 + 1, 32>>>(n, a, b);
    hidden<<<n / 32 + 1, 32>>>(n, a, b);
    hidden<<<n / 32 + 1, 32>>>(n, e, f);
    plain<<<n / 32 + 1, 32>>>(n, b, a);
    in_header(n, a, b);
    in_header(n, c, d);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    for (int i = 0; i < n; ++i) printf("%a %a %a %a %d %d\n", a[i], b[i], c[i], d[i], e[i], f[i]);
    return 0;
}
