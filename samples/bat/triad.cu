// Triad: C = A + s * B, streamed in two halves, with every parameter of the benchmark suite BAT.
//
//   triad N [REPETITIONS]      elements of each array, how often the work is done in the region
//
// Prints the rate in GB/s where time passes, and checks each result. Exit status: 0 right, 1 wrong, 2 misuse.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

// 32 or 64 bits. Times of the two compare different work: a rate, or one of them, is chosen.
#pragma cutune tune(PRECISION: 32, 64)
#ifndef PRECISION
#define PRECISION 32
#endif
#pragma cutune tune(WORK_PER_THREAD: 1..10) data(n)
#ifndef WORK_PER_THREAD
#define WORK_PER_THREAD 1
#endif
#pragma cutune tune(LOOP_UNROLL_TRIAD: 0, 1) data(n)
#ifndef LOOP_UNROLL_TRIAD
#define LOOP_UNROLL_TRIAD 0
#endif

#if PRECISION == 64
typedef double Real;
#else
typedef float Real;
#endif

#define CHECK(call)                                                                         \
    do {                                                                                    \
        const cudaError_t status = (call);                                                  \
        if (status != cudaSuccess) {                                                        \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                 \
            return 1;                                                                       \
        }                                                                                   \
    } while (0)

// Each thread does WORK_PER_THREAD elements, a block apart, so that neighbours access neighbours.
__global__ void triad(const Real *a, const Real *b, Real *c, Real s, int n) {
    int i = blockIdx.x * blockDim.x * WORK_PER_THREAD + threadIdx.x;
#if LOOP_UNROLL_TRIAD
#pragma unroll
#else
#pragma unroll 1
#endif
    for (int k = 0; k < WORK_PER_THREAD; ++k, i += blockDim.x)
        if (i < n) c[i] = a[i] + s * b[i];
}

// Both halves are copied, computed and copied back in a stream each, so that these overlap.
static int stream_triad(const Real *a, const Real *b, Real *c, Real *device, Real s, int n,
                        int block, cudaStream_t *streams) {
    for (int half = 0; half < 2; ++half) {
        const int first = half * (n / 2), count = half ? n - first : n / 2;
        if (count == 0) continue;
        const size_t bytes = count * sizeof(Real);
        Real *x = device + first, *y = device + n + first, *z = device + 2 * (size_t)n + first;
        const int grid = (count + block * WORK_PER_THREAD - 1) / (block * WORK_PER_THREAD);
        CHECK(cudaMemcpyAsync(x, a + first, bytes, cudaMemcpyHostToDevice, streams[half]));
        CHECK(cudaMemcpyAsync(y, b + first, bytes, cudaMemcpyHostToDevice, streams[half]));
        triad<<<grid, block, 0, streams[half]>>>(x, y, z, s, count);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(c + first, z, bytes, cudaMemcpyDeviceToHost, streams[half]));
    }
    for (int half = 0; half < 2; ++half) CHECK(cudaStreamSynchronize(streams[half]));
    return 0;
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 0, repetitions = argc > 2 ? atoi(argv[2]) : 1;
    if (n < 1 || repetitions < 1) {
        fprintf(stderr, "triad N [REPETITIONS]\n");
        return 2;
    }
#pragma cutune tune(BLOCK_SIZE: 1..1024) data(n)
    int BLOCK_SIZE = 128;
    const Real s = (Real)1.75;
    Real *a, *b, *c, *device;
    const size_t bytes = n * sizeof(Real);
    CHECK(cudaMallocHost(&a, bytes));
    CHECK(cudaMallocHost(&b, bytes));
    CHECK(cudaMallocHost(&c, bytes));
    CHECK(cudaMalloc(&device, 3 * bytes));
    for (int i = 0; i < n; ++i) a[i] = (Real)(i % 1000) / 8, b[i] = (Real)(i % 77) / 4, c[i] = 0;
    cudaStream_t streams[2];
    for (cudaStream_t &stream : streams) CHECK(cudaStreamCreate(&stream));
    // What is loaded late is not part of the work.
    if (stream_triad(a, b, c, device, s, n, BLOCK_SIZE, streams)) return 1;

    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin));
#pragma cutune region begin
    for (int k = 0; k < repetitions; ++k)
        if (stream_triad(a, b, c, device, s, n, BLOCK_SIZE, streams)) return 1;
#pragma cutune region end
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));

    // Halves and quarters are exact in both precisions, and so is each product.
    for (int i = 0; i < n; ++i) {
        const Real wanted = a[i] + s * b[i];
        if (c[i] != wanted) {
            printf("FAILED: c[%d] is %g, not %g\n", i, (double)c[i], (double)wanted);
            return 1;
        }
    }
    printf("PASSED: %d elements of %d bits\n", n, (int)(8 * sizeof(Real)));
    if (milliseconds > 0)
        fprintf(stderr, "%.3f GB/s\n", 3.0 * bytes * repetitions / milliseconds / 1e6);
    return 0;
}
