// Kernels of several launches, whose grids or blocks are not those of one formula. `right_…`: a block
// may do what several blocks do where the program asks for its usual block; `wrong_…`: it may not.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define T 128

// Sums of blocks, and sums of these: the last pass has one block.
__global__ void right_passes(const float *a, float *b, int n) {
    __shared__ float s[T];
    const int i = blockIdx.x * T * 2 + threadIdx.x;
    s[threadIdx.x] = (i < n ? a[i] : 0.0f) + (i + T < n ? a[i + T] : 0.0f);
    __syncthreads();
    for (int h = T / 2; h > 0; h /= 2) {
        if (threadIdx.x < h) s[threadIdx.x] += s[threadIdx.x + h];
        __syncthreads();
    }
    if (threadIdx.x == 0) b[blockIdx.x] = s[0];
}

// What it is launched with is captured.
__global__ void right_captured(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = s[threadIdx.x ^ 1];
}

// Twice with T threads, once with fewer.
__global__ void right_narrow(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = s[blockDim.x - 1 - threadIdx.x];
    if (threadIdx.x == 0) b[n + blockIdx.x] = s[blockDim.x - 1];
}

__global__ void __launch_bounds__(T, 2) right_bounds(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = s[T - 1 - threadIdx.x];
}

// Nothing tells the grid, of which it reads one dimension.
__global__ void right_given(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = s[threadIdx.x ^ 3];
}

// A pass whose blocks read what others write.
__global__ void wrong_passes(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] + b[(i + T) % n] : 0;
    __syncthreads();
    if (i < n) b[i] = s[threadIdx.x ^ 1];
}

// Threads that are gone do not come to the next block's barrier.
__global__ void wrong_gone(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    if (i >= n) return;
    s[threadIdx.x] = a[i];
    __syncthreads();
    b[i] = s[threadIdx.x & ~1];
}

// The second block would find what the first has left.
__global__ void wrong_left(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    if (i < n) s[threadIdx.x] = a[i];
    __syncthreads();
    if (i < n) b[i] = s[T - 1 - threadIdx.x];
}

__device__ int place() { return blockIdx.x * T + threadIdx.x; }

__global__ void wrong_place(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = place();
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[blockIdx.x * T + threadIdx.x] = s[threadIdx.x ^ 1];
}

// Bounds are no obstacle, the number that an atomic operation gives is one.
__global__ void __launch_bounds__(T) wrong_number(const int *a, int *b, int n) {
    __shared__ int s[T], first;
    const int i = blockIdx.x * T + threadIdx.x;
    if (threadIdx.x == 0) first = atomicAdd(b, T);
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[1 + first + threadIdx.x] = s[threadIdx.x ^ 1];
}

__global__ void __launch_bounds__(T) wrong_data(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] & T - 1 : 0;
    __syncthreads();
    if (i < n) b[i] = s[s[threadIdx.x]];
}

// Which lanes are there may be otherwise in a copy.
__global__ void wrong_lanes(const int *a, int *b, int n) {
    __shared__ int s[T];
    const int i = blockIdx.x * T + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = s[threadIdx.x ^ 1] + __popc(__activemask());
}

static unsigned look(const char *name, const void *b, size_t bytes) {
    cudaDeviceSynchronize();
    unsigned hash = 2166136261u;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ ((const unsigned char *)b)[i]) * 16777619u;
    printf("%s %08x\n", name, hash);
    return hash;
}

template <typename Work> void twice(Work work) { work(); work(); }

dim3 grid_of(int n);

int main(int argc, char **argv) {
    const int n = atoi(argv[1]), count = 2 * n + 1024;
    int *a, *b;
    float *x, *y;
    cudaMallocManaged(&a, 4 * count), cudaMallocManaged(&b, 4 * count);
    cudaMallocManaged(&x, 4 * count), cudaMallocManaged(&y, 4 * count);
    for (int i = 0; i < count; i++) a[i] = i * 7919 % 1009, b[i] = i, x[i] = 0.1f * (i % 97), y[i] = 0;
    right_passes<<<(n + 2 * T - 1) / (2 * T), T>>>(x, y, n);
    right_passes<<<1, T>>>(y, x, (n + 2 * T - 1) / (2 * T));
    look("right_passes", x, 4 * count), look("sums", y, 4 * count);
    const dim3 blocks((n + T - 1) / T), threads(T);
    right_captured<<<blocks, threads>>>(a, b, n);
    look("right_captured", b, 4 * count);
    twice([&] { right_captured<<<blocks, threads>>>(a, b, n); });
    look("captured", b, 4 * count);
    right_narrow<<<(n + T - 1) / T, T>>>(a, b, n);
    right_narrow<<<(n + T / 2 - 1) / (T / 2), T / 2>>>(a, b, n);
    look("right_narrow", b, 4 * count);
    right_narrow<<<(n + T - 1) / T, T>>>(a, b, n);
    look("narrow", b, 4 * count);
    right_bounds<<<(n + T - 1) / T, T>>>(a, b, n);
    look("right_bounds", b, 4 * count);
    right_given<<<grid_of(n), T>>>(a, b, n);
    look("right_given", b, 4 * count);
    wrong_passes<<<(n + T - 1) / T, T>>>(a, b, n);
    wrong_passes<<<1, T>>>(a, b, n);
    wrong_gone<<<(n + T - 1) / T, T>>>(a, b, n);
    wrong_gone<<<1, T>>>(a, b, n);
    wrong_left<<<(n + T - 1) / T, T>>>(a, b, n);
    wrong_left<<<1, T>>>(a, b, n);
    wrong_place<<<(n + T - 1) / T, T>>>(a, b, n);
    wrong_place<<<1, T>>>(a, b, n);
    look("wrong_place", b, 4 * (count - 1));
    wrong_number<<<(n + T - 1) / T, T>>>(a, b, n);
    wrong_data<<<(n + T - 1) / T, T>>>(a, b, n);
    wrong_lanes<<<(n + T - 1) / T, T>>>(a, b, n);
    cudaDeviceSynchronize();
}

dim3 grid_of(int n) { return dim3((n + T - 1) / T); }
