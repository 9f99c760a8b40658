// Triad: C = A + s * B, streamed in two halves, with every parameter of the benchmark suite BAT.
//
//   triad N [REPETITIONS]           elements of each array, how often they are added in the region
//   triad -s CLASS [REPETITIONS]    1 to 4: arrays of 64 KB, 1, 4, 16 MB; the suite runs all between
//
// Prints the rate in GB/s where time passes, and checks each result. Exit status: 0 right, 1 wrong,
// 2 misuse.
#include "bat.h"

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

// Each thread does WORK_PER_THREAD elements, a block apart, so that neighbours access neighbours.
static __global__ void triad(const Real *a, const Real *b, Real *c, Real s, int n) {
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

// The host's arrays, which the device can copy while it computes, and its own ones behind each
// other.
struct Arrays {
    Real *a = nullptr, *b = nullptr, *c = nullptr;
    DeviceArray<Real> device;
    cudaStream_t streams[2] = {};

    ~Arrays() {
        for (cudaStream_t stream : streams)
            if (stream != nullptr) cudaStreamDestroy(stream);
        for (Real *array : {a, b, c})
            if (array != nullptr) cudaFreeHost(array);
    }

    int prepare(int n) {
        for (Real **array : {&a, &b, &c}) CHECK(cudaMallocHost((void **)array, n * sizeof(Real)));
        CHECK(device.allocate(3 * (size_t)n));
        for (cudaStream_t &stream : streams) CHECK(cudaStreamCreate(&stream));
        for (int i = 0; i < n; ++i)
            a[i] = (Real)(i % 1000) / 8, b[i] = (Real)(i % 77) / 4, c[i] = 0;
        return 0;
    }
};

int main(int argc, char **argv) {
    constexpr int KB = (1 << 10) / sizeof(Real);
    int numbers[] = {0, 1};
    if (!read_arguments(argc, argv, {64 * KB, 1024 * KB, 4096 * KB, 16384 * KB}, numbers, 2)) {
        fprintf(stderr, "triad N [REPETITIONS], or triad -s CLASS [REPETITIONS], CLASS 1 to 4\n");
        return 2;
    }
    const int n = numbers[0], repetitions = numbers[1];
#pragma cutune tune(BLOCK_SIZE: 1..1024) data(n)
    int BLOCK_SIZE = 128;
    const Real s = (Real)1.75;
    Arrays arrays;
    if (arrays.prepare(n)) return 1;
    const Real *a = arrays.a, *b = arrays.b, *c = arrays.c;
    // What is loaded late is not part of the work.
    if (stream_triad(arrays.a, arrays.b, arrays.c, arrays.device.data, s, n, BLOCK_SIZE,
                     arrays.streams))
        return 1;

    Clock clock;
    CHECK(clock.start());
#pragma cutune region begin repeat
    for (int k = 0; k < repetitions; ++k)
        if (stream_triad(arrays.a, arrays.b, arrays.c, arrays.device.data, s, n, BLOCK_SIZE,
                         arrays.streams))
            return 1;
#pragma cutune region end
    float milliseconds = 0;
    CHECK(clock.stop(&milliseconds));

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
        fprintf(stderr, "%.3f GB/s\n", 3.0 * n * sizeof(Real) * repetitions / milliseconds / 1e6);
    return 0;
}
