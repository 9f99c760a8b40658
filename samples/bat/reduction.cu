// Reduction: the sum of an array on one or several GPUs, with every parameter of the benchmark
// suite BAT.
//
//   reduction N [GPUS [REPETITIONS]]           elements of all GPUs together, how often the sum is
//                                              formed in the region
//   reduction -s CLASS [GPUS [REPETITIONS]]    1 to 4: 1, 8, 32, 64 MB
//
// Prints the rate in GB/s where time passes, and checks the sum. Exit status: 0 right, 1 wrong, 2
// misuse.
//
// Five parameters more are options of nvcc, and a word of the command line:
//
//   cutune inspect reduction.cu @reduction.options --run './{program} {n} {GPUS}' --tune GPUS=1..4
//       --tune COMPILER_OPTIMIZATION_HOST=2,0,1,3 --tune COMPILER_OPTIMIZATION_DEVICE=3,0,1,2
//       --tune USE_FAST_MATH=none,use_fast_math --tune MAX_REGISTERS=none,20,40,60,80,100,120
#include <vector>

#include "bat.h"

// 32 or 64 bits. Times of the two compare different work: a rate, or one of them, is chosen.
#pragma cutune tune(PRECISION: 32, 64)
#ifndef PRECISION
#define PRECISION 32
#endif
// Is the loop over steps between warps unrolled (1), and the one within a warp (2)?
#pragma cutune tune(LOOP_UNROLL_REDUCE_1: 0, 1) data(n)
#ifndef LOOP_UNROLL_REDUCE_1
#define LOOP_UNROLL_REDUCE_1 0
#endif
#pragma cutune tune(LOOP_UNROLL_REDUCE_2: 0, 1) data(n)
#ifndef LOOP_UNROLL_REDUCE_2
#define LOOP_UNROLL_REDUCE_2 0
#endif
// Are elements read as a texture?
#pragma cutune tune(TEXTURE_MEMORY: 0, 1) data(n)
#ifndef TEXTURE_MEMORY
#define TEXTURE_MEMORY 0
#endif

#if PRECISION == 64
typedef double Real;
#else
typedef float Real;
#endif

// A grid has at most so many blocks: there is room for all that are tried in one process.
constexpr int WARP = 32, MOST_BLOCKS = 1024;

#if TEXTURE_MEMORY
typedef cudaTextureObject_t Elements;

__device__ inline Real element_of(Elements elements, int i) {
#if PRECISION == 64
    // Textures have no doubles.
    const int2 halves = tex1Dfetch<int2>(elements, i);
    return __hiloint2double(halves.y, halves.x);
#else
    return tex1Dfetch<float>(elements, i);
#endif
}
#else
typedef const Real *Elements;

__device__ inline Real element_of(Elements elements, int i) { return elements[i]; }
#endif

// Each block gives the sum of its part. A thread first adds up elements that are a grid apart, two
// at a time.
template <int BLOCK>
__global__ void reduce(Elements elements, Real *sums, int n) {
    extern __shared__ __align__(8) unsigned char shared_bytes[];
    Real *shared = (Real *)shared_bytes;
    const int thread = threadIdx.x;
    Real sum = 0;
    for (long long i = (long long)blockIdx.x * 2 * BLOCK + thread; i < n;
         i += 2LL * BLOCK * gridDim.x) {
        sum += element_of(elements, (int)i);
        if (i + BLOCK < n) sum += element_of(elements, (int)i + BLOCK);
    }
    shared[thread] = sum;
    __syncthreads();
#if LOOP_UNROLL_REDUCE_1
#pragma unroll
#else
#pragma unroll 1
#endif
    for (int half = BLOCK / 2; half > WARP; half /= 2) {
        if (thread < half) shared[thread] += shared[thread + half];
        __syncthreads();
    }
    if (thread >= WARP) return;
    // What is left fits into one warp.
#if LOOP_UNROLL_REDUCE_2
#pragma unroll
#else
#pragma unroll 1
#endif
    for (int half = BLOCK / 2 < WARP ? BLOCK / 2 : WARP; half > 0; half /= 2) {
        if (thread < half) shared[thread] += shared[thread + half];
        __syncwarp();
    }
    if (thread == 0) sums[blockIdx.x] = shared[0];
}

template <int BLOCK>
static cudaError_t launch(int grid, cudaStream_t stream, Elements elements, Real *sums, int n) {
    reduce<BLOCK><<<grid, BLOCK, BLOCK * sizeof(Real), stream>>>(elements, sums, n);
    return cudaGetLastError();
}

// The instance of a number of threads.
static cudaError_t reduce_with(int block, int grid, cudaStream_t stream, Elements elements,
                               Real *sums, int n) {
    switch (block) {
    case 1: return launch<1>(grid, stream, elements, sums, n);
    case 2: return launch<2>(grid, stream, elements, sums, n);
    case 4: return launch<4>(grid, stream, elements, sums, n);
    case 8: return launch<8>(grid, stream, elements, sums, n);
    case 16: return launch<16>(grid, stream, elements, sums, n);
    case 64: return launch<64>(grid, stream, elements, sums, n);
    case 128: return launch<128>(grid, stream, elements, sums, n);
    case 256: return launch<256>(grid, stream, elements, sums, n);
    case 512: return launch<512>(grid, stream, elements, sums, n);
    case 1024: return launch<1024>(grid, stream, elements, sums, n);
    default: return cudaErrorInvalidConfiguration;
    }
}

// One GPU: its part of the array, and the sums of its blocks.
struct Device {
    int number = 0, count = 0;
    DeviceArray<Real> data, sums;
    Elements elements = 0;
    cudaStream_t stream = nullptr;
    cudaEvent_t is_done = nullptr;

    ~Device() {
        if (stream == nullptr) return;
        cudaSetDevice(number);
#if TEXTURE_MEMORY
        if (elements != 0) cudaDestroyTextureObject(elements);
#endif
        if (is_done != nullptr) cudaEventDestroy(is_done);
        cudaStreamDestroy(stream);
    }

    int prepare(const Real *part) {
        CHECK(cudaSetDevice(number));
        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaEventCreateWithFlags(&is_done, cudaEventDisableTiming));
        CHECK(data.copy_from(part, count));
        CHECK(sums.allocate(MOST_BLOCKS));
#if TEXTURE_MEMORY
        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypeLinear;
        resource.res.linear.devPtr = data.data;
        resource.res.linear.sizeInBytes = count * sizeof(Real);
#if PRECISION == 64
        resource.res.linear.desc = cudaCreateChannelDesc<int2>();
#else
        resource.res.linear.desc = cudaCreateChannelDesc<float>();
#endif
        cudaTextureDesc description = {};
        description.readMode = cudaReadModeElementType;
        CHECK(cudaCreateTextureObject(&elements, &resource, &description, nullptr));
#else
        elements = data.data;
#endif
        return 0;
    }
};

// Every GPU sums its part; the sums of blocks come to the first one, and from there to the host.
static int sum_all(std::vector<Device> &devices, int block, int grid, Real *gathered, Real *sums,
                   Real *total) {
    const size_t bytes = grid * sizeof(Real);
    for (Device &device : devices) {
        CHECK(cudaSetDevice(device.number));
        CHECK(reduce_with(block, grid, device.stream, device.elements, device.sums.data,
                          device.count));
        CHECK(cudaMemcpyPeerAsync(gathered + (size_t)device.number * grid, devices[0].number,
                                  device.sums.data, device.number, bytes, device.stream));
        CHECK(cudaEventRecord(device.is_done, device.stream));
    }
    CHECK(cudaSetDevice(devices[0].number));
    for (Device &device : devices) CHECK(cudaStreamWaitEvent(devices[0].stream, device.is_done, 0));
    CHECK(cudaMemcpyAsync(sums, gathered, devices.size() * bytes, cudaMemcpyDeviceToHost,
                          devices[0].stream));
    CHECK(cudaStreamSynchronize(devices[0].stream));
    *total = 0;
    for (size_t i = 0; i < devices.size() * grid; ++i) *total += sums[i];
    return 0;
}

int main(int argc, char **argv) {
    constexpr int MB = (1 << 20) / sizeof(Real);
    int numbers[] = {0, 1, 1};
    if (!read_arguments(argc, argv, {1 * MB, 8 * MB, 32 * MB, 64 * MB}, numbers, 3)) {
        fprintf(stderr,
                "reduction N [GPUS [REPETITIONS]], or reduction -s CLASS …, CLASS 1 to 4\n");
        return 2;
    }
    const int n = numbers[0], gpus = numbers[1], repetitions = numbers[2];
    int present = 0;
    CHECK(cudaGetDeviceCount(&present));
    if (gpus > present || gpus > n) {
        fprintf(stderr, "%d GPUs are too many: there are %d\n", gpus, present);
        return 2;
    }
#pragma cutune tune(BLOCK_SIZE: 1, 2, 4, 8, 16, 64, 128, 256, 512, 1024, \
                    GRID_SIZE: 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) data(n)
    int BLOCK_SIZE = 256, GRID_SIZE = 64;

    // Integers, of which every sum is exact in both precisions, whatever the order, while n is
    // below 2^24.
    std::vector<Real> elements(n);
    long long wanted = 0;
    for (int i = 0; i < n; ++i) {
        const int element = (int)(mixed(i) % 4) - 1;
        elements[i] = (Real)element;
        wanted += element;
    }
    if (allow_peer_access(gpus)) return 1;
    std::vector<Device> devices(gpus);
    for (int g = 0; g < gpus; ++g) {
        const int first = (int)((long long)n * g / gpus),
                  end = (int)((long long)n * (g + 1) / gpus);
        devices[g].number = g;
        devices[g].count = end - first;
        if (devices[g].prepare(elements.data() + first)) return 1;
    }
    CHECK(cudaSetDevice(0));
    DeviceArray<Real> gathered;
    CHECK(gathered.allocate((size_t)gpus * MOST_BLOCKS));
    std::vector<Real> sums((size_t)gpus * MOST_BLOCKS);
    Real total = 0;
    // What is loaded late is not part of the work.
    if (sum_all(devices, BLOCK_SIZE, GRID_SIZE, gathered.data, sums.data(), &total)) return 1;

    Clock clock;
    CHECK(clock.start());
#pragma cutune region begin repeat
    for (int k = 0; k < repetitions; ++k)
        if (sum_all(devices, BLOCK_SIZE, GRID_SIZE, gathered.data, sums.data(), &total)) return 1;
#pragma cutune region end
    float milliseconds = 0;
    CHECK(clock.stop(&milliseconds));

    if (total != (Real)wanted) {
        printf("FAILED: the sum is %.1f, not %lld\n", (double)total, wanted);
        return 1;
    }
    printf("PASSED: %d elements of %d bits, %d GPUs\n", n, (int)(8 * sizeof(Real)), gpus);
    if (milliseconds > 0)
        fprintf(stderr, "%.3f GB/s\n", (double)n * sizeof(Real) * repetitions / milliseconds / 1e6);
    return 0;
}
