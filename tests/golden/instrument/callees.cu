// Callees: a name alone, with template arguments written or deduced, or one of several.
#include <cstddef>
using namespace std;

template <class T>
__global__ void copy(int n, const T *from, T *to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i];
}

template <class F, class T, int unused = 3>
__global__ void apply(int n, T *x, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= f.factor;
}

template <int shift, class T>
__global__ void shifted(int n, T *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += shift;
}

template <class T, int size>
struct Row {
    T values[size];
};

template <class T, int size>
__global__ void rows(int n, T *x, Row<T, size> row) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = row.values[0];
}

__global__ void fill(int n, float *x, float value = 1 * 1);
__global__ void fill(int n, float *x, float value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = value;
}

__global__ void set(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1;
}
__global__ void set(int n, int *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1;
}

namespace deep {
__global__ void clear(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 0;
}
void run(int n, float *x) { clear<<<n, 32>>>(n, x); }
}  // namespace deep

struct Factor {
    int factor;
};

void run(int n, float *x, const int *y, int *z) {
    copy<<<n, 32>>>(n, y, z);
    copy<<<n, 32>>>(n, /* from itself */ x, x);
    copy<int><<<n, 32>>>(n, y + 1, z);
    apply<<<n, 32>>>(n, x, Factor());
    apply<Factor><<<n, 32>>>(n, z, Factor());
    shifted<3><<<n, 32>>>(n, z);
    rows<<<n, 32>>>(n, x, Row<float, 2>());
    fill<<<n, 32>>>(n, x);
    fill<<<n, 32>>>(n, x, 2);
    set<<<n, 32>>>(n, x);
    set<<<n, 32>>>(n, z);
    deep::clear<<<n, 32>>>(n, x);
}
