// Kernels whose threads may do neighbouring ids, by accesses of vectors, and such as may not.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

typedef unsigned char byte;

__global__ void mix(int n, const byte *a, const byte *b, byte *c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = (byte)((a[i] + b[i] + 1) / 2);
}

__global__ void clamp(const float *x, float *y, float most, size_t n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = x[i] < most ? x[i] : most;
}

template <typename T>
__global__ void add(unsigned n, T a, const T *__restrict__ x, T *__restrict__ y) {
    unsigned i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void scale(float *x, float a, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) x[i] *= a;
}

__global__ void threshold(const byte *in, byte *out, int width, int height, int least) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = in[y * width + x] > least ? 255 : 0;
}

// Rows are as far from each other as a parameter says, and planes, and both.
__global__ void pitched(const float *in, float *out, int width, int height, int pitch) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * pitch + x] = 2 * in[y * pitch + x];
}

__global__ void in_bytes(const byte *in, byte *out, int width, int height, size_t pitch) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * pitch + x] = in[y * pitch + x] ^ 85;
}

// Through one pointer, planes may be the same for all that the compiler knows.
__global__ void swap_planes(byte *image, int plane) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= plane) return;
    byte first = image[i];
    image[i] = image[i + 2 * plane], image[i + 2 * plane] = first;
}

__global__ void one_of_planes(const float *in, float *out, int n, int plane, unsigned which) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[which * plane + i] + out[i];
}

// The compiler joins what is loaded from `in` alone: what is stored stays apart.
__global__ void in_a_plane(const float *in, float *out, int n, int plane, unsigned which) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[which * plane + i] = in[i] + out[which * plane + i];
}

// Rows begin at places that are loaded: nothing is known of where.
__global__ void begun(const float *in, float *out, int width, int height, const int *begin) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = in[begin[y] + x];
}

// The compiler knows that neighbours need not be.
__global__ void apart(int n, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[3 * i] = x[5 * i];
}

__device__ int place() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void by_function(int n, const float *x, float *y) {
    if (place() < n) y[place()] = 3 * x[place()];
}

// In a copy in which these are variables, a lambda holds them, and is larger.
__global__ void thread_in_lambda(int n, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto lane = [&] { return threadIdx.x; };
    if (i < n) y[i] = x[i] + (sizeof(lane) > 1 ? 1.0f : 2.0f);
}

#define PLACE (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void block_in_lambda(int n, const float *x, float *y) {
    int i = PLACE;
    auto place = [=] { return PLACE; };
    if (i < n) y[place()] = x[i] + sizeof(place);
}

__global__ void wide(int n, const double2 *x, double2 *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = make_double2(x[i].y, x[i].x);
}

static unsigned long long hash = 1469598103934665603ull;
template <class T> static void show(const T *p, size_t n) {
    std::vector<byte> bytes(n * sizeof(T));
    cudaMemcpy(bytes.data(), p, bytes.size(), cudaMemcpyDeviceToHost);
    for (byte one : bytes) hash = (hash ^ one) * 1099511628211ull;
    printf("%016llx %s\n", hash, cudaGetErrorName(cudaGetLastError()));
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1000, off = argc > 2 ? atoi(argv[2]) : 0;
    const int m = n * 6 + 64;
    constexpr int height = 7;
    std::vector<float> start(2 * m);
    for (int i = 0; i < 2 * m; ++i) start[i] = (float)(i * 37 % 101) / 8 - 5;
    float *x, *y;
    byte *a, *b, *c;
    cudaMalloc(&x, 2 * m * 4), cudaMalloc(&y, 2 * m * 4);
    cudaMalloc(&a, 8 * m), cudaMalloc(&b, 8 * m), cudaMalloc(&c, 8 * m);
    cudaMemcpy(x, start.data(), 2 * m * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(y, start.data(), 2 * m * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(a, start.data(), 8 * m, cudaMemcpyHostToDevice);
    cudaMemcpy(b, start.data() + 3, 8 * m - 12, cudaMemcpyHostToDevice);
    cudaMemset(c, 0, 8 * m);
    int starts[height] = {0, 3, 4, 9, 1, 2, 8}, *begin;
    cudaMalloc(&begin, sizeof starts);
    cudaMemcpy(begin, starts, sizeof starts, cudaMemcpyHostToDevice);
    const int blocks = (n + 95) / 96;
    mix<<<blocks, 96>>>(n, a + off, b + off, c + off);
    show(c, m);
    clamp<<<blocks, 96>>>(x + off, y + off, 2.5f, n);
    show(y, m);
    add<float><<<blocks, 96>>>(n, 0.5f, x + off, y + off);
    show(y, m);
    scale<<<(3 * n + 95) / 96, 96>>>(y + off, 0.75f, n, 3);
    show(y, m);
    const dim3 block(32, 4), grid((n / 2 + 31) / 32, (height + 3) / 4);
    threshold<<<grid, block>>>(a + off, c + off, n / 2, height, 60);
    show(c, m);
    pitched<<<grid, block>>>(x, y, n / 2, height, n / 2 + 4);
    show(y, m);
    in_bytes<<<grid, block>>>(a, c + off, n / 2, height, (n / 2 + 15) / 16 * 16);
    show(c, m);
    swap_planes<<<blocks, 96>>>(a + off, n);
    show(a, m);
    one_of_planes<<<blocks, 96>>>(x, y + off, n, n + 24, 1);
    show(y, m);
    in_a_plane<<<blocks, 96>>>(x, y + off, n, n + 24, 1);
    show(y, m);
    begun<<<grid, block>>>(x, y, n / 2, height, begin);
    show(y, m);
    apart<<<blocks, 96>>>(n, x, y);
    show(y, m);
    by_function<<<blocks, 96>>>(n, x + off, y + off);
    show(y, m);
    thread_in_lambda<<<blocks, 96>>>(n, x, y);
    show(y, m);
    block_in_lambda<<<blocks, 96>>>(n, x, y);
    show(y, m);
    wide<<<blocks, 96>>>(n, (double2 *)x, (double2 *)y);
    show(y, m);
}
