// Sort: unsigned keys with a value each, by a radix sort of 4 bits per pass, with every parameter
// of the benchmark suite BAT.
//
//   sort N [REPETITIONS]           pairs, how often they are sorted in the region
//   sort -s CLASS [REPETITIONS]    1 to 4: 1, 8, 48, 96 MB of keys
//
// Prints the rate of keys in GB/s where time passes, and checks the result. Exit status: 0 right, 1
// wrong, 2 misuse.
//
// A pass sorts each tile of keys by 4 bits, counts the 16 digits of each tile, adds up the counts
// of all tiles, digit by digit, which gives the places of the digits, and takes the keys there.
// Passes are stable.
#include <vector>

#include "bat.h"

// Are loops over the steps of a scan unrolled? LSB: the one that sorts a tile; LOCAL_MEMORY: the
// one over counts.
#pragma cutune tune(LOOP_UNROLL_LSB: 0, 1) data(n)
#ifndef LOOP_UNROLL_LSB
#define LOOP_UNROLL_LSB 1
#endif
#pragma cutune tune(LOOP_UNROLL_LOCAL_MEMORY: 0, 1) data(n)
#ifndef LOOP_UNROLL_LOCAL_MEMORY
#define LOOP_UNROLL_LOCAL_MEMORY 1
#endif
// Elements per thread in the kernels of the counts, and in the one that sorts a tile.
// `reorder_data` holds a tile of pairs, and two numbers per digit.
#pragma cutune tune(SCAN_DATA_SIZE: 2, 4, 8) data(n) \
    where(8 * SCAN_DATA_SIZE * SCAN_BLOCK_SIZE + 128 <= device.shared)
#ifndef SCAN_DATA_SIZE
#define SCAN_DATA_SIZE 2
#endif
#pragma cutune tune(SORT_DATA_SIZE: 2, 4, 8) data(n)
#ifndef SORT_DATA_SIZE
#define SORT_DATA_SIZE 4
#endif
// Are functions of the device inlined?
#pragma cutune tune(INLINE_LSB: 0, 1) data(n)
#ifndef INLINE_LSB
#define INLINE_LSB 0
#endif
#pragma cutune tune(INLINE_SCAN: 0, 1) data(n)
#ifndef INLINE_SCAN
#define INLINE_SCAN 0
#endif
#pragma cutune tune(INLINE_LOCAL_MEMORY: 0, 1) data(n)
#ifndef INLINE_LOCAL_MEMORY
#define INLINE_LOCAL_MEMORY 0
#endif

#if INLINE_LSB
#define LSB_FUNCTION __forceinline__
#else
#define LSB_FUNCTION __noinline__
#endif
#if INLINE_SCAN
#define SCAN_FUNCTION __forceinline__
#else
#define SCAN_FUNCTION __noinline__
#endif
#if INLINE_LOCAL_MEMORY
#define LOCAL_MEMORY_FUNCTION __forceinline__
#else
#define LOCAL_MEMORY_FUNCTION __noinline__
#endif

typedef unsigned int uint;

constexpr int DIGIT_BITS = 4, DIGITS = 1 << DIGIT_BITS, KEY_BITS = 32;
// A thread block has at most so many threads, and at least so many.
constexpr int MOST_THREADS = 1024, LEAST_THREADS = 16;

// Neighbouring elements, which a thread loads and stores 8 or 16 bytes at a time.
template <int SIZE>
struct __align__(SIZE == 2 ? 8 : 16) Elements {
    uint of[SIZE];
};
typedef Elements<SCAN_DATA_SIZE> ScanElements;
typedef Elements<SORT_DATA_SIZE> SortElements;

// Per thread the sum of the values of all threads before it; shared[2 * BLOCK - 1] is the sum of
// all. The first half of the 2 * BLOCK elements is zero, so that no thread has to ask whether
// another one is before it.
template <int BLOCK>
__device__ LSB_FUNCTION uint scan_lsb(uint value, uint *shared) {
    uint *own = shared + BLOCK + threadIdx.x;
    own[-BLOCK] = 0;
    own[0] = value;
    __syncthreads();
#if LOOP_UNROLL_LSB
#pragma unroll
#else
#pragma unroll 1
#endif
    for (int step = 1; step < BLOCK; step *= 2) {
        const uint before = own[-step];
        __syncthreads();
        own[0] += before;
        __syncthreads();
    }
    return own[-1];
}

// The same for the kernel `scan`.
template <int BLOCK>
__device__ LOCAL_MEMORY_FUNCTION uint scan_local_memory(uint value, uint *shared) {
    uint *own = shared + BLOCK + threadIdx.x;
    own[-BLOCK] = 0;
    own[0] = value;
    __syncthreads();
#if LOOP_UNROLL_LOCAL_MEMORY
#pragma unroll
#else
#pragma unroll 1
#endif
    for (int step = 1; step < BLOCK; step *= 2) {
        const uint before = own[-step];
        __syncthreads();
        own[0] += before;
        __syncthreads();
    }
    return own[-1];
}

// Per element of the tile the sum of all elements before it.
template <int BLOCK>
__device__ SCAN_FUNCTION SortElements scan_elements(const SortElements &elements, uint *shared) {
    SortElements before;
    uint sum = 0;
    for (int k = 0; k < SORT_DATA_SIZE; ++k) {
        before.of[k] = sum;
        sum += elements.of[k];
    }
    const uint of_threads = scan_lsb<BLOCK>(sum, shared);
    for (int k = 0; k < SORT_DATA_SIZE; ++k) before.of[k] += of_threads;
    return before;
}

// Each element goes to its place in the tile; those that come to this thread.
__device__ inline SortElements exchanged(const SortElements &elements, const SortElements &places,
                                         uint *shared) {
    for (int k = 0; k < SORT_DATA_SIZE; ++k) shared[places.of[k]] = elements.of[k];
    __syncthreads();
    const SortElements own = ((const SortElements *)shared)[threadIdx.x];
    __syncthreads();
    return own;
}

// Sorts the keys of each tile by the digit at a bit, one bit after the other: those with 0 come
// first.
template <int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    radix_sort_blocks(const SortElements *keys_in, const SortElements *values_in,
                      SortElements *keys_out, SortElements *values_out, int first_bit) {
    extern __shared__ __align__(16) uint shared[];
    const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    SortElements keys = keys_in[i], values = values_in[i];
    for (int bit = first_bit; bit < first_bit + DIGIT_BITS; ++bit) {
        SortElements is_zero;
        for (int k = 0; k < SORT_DATA_SIZE; ++k) is_zero.of[k] = ~keys.of[k] >> bit & 1;
        const SortElements zeros = scan_elements<BLOCK>(is_zero, shared);
        const uint all_zeros = shared[2 * BLOCK - 1];
        __syncthreads();
        SortElements places;
        for (int k = 0; k < SORT_DATA_SIZE; ++k) {
            const uint ones = SORT_DATA_SIZE * threadIdx.x + k - zeros.of[k];
            places.of[k] = is_zero.of[k] ? zeros.of[k] : all_zeros + ones;
        }
        keys = exchanged(keys, places, shared);
        values = exchanged(values, places, shared);
    }
    keys_out[i] = keys;
    values_out[i] = values;
}

// Where each digit begins in a sorted tile, and how often it occurs: counts of one digit are
// neighbours.
__global__ void __launch_bounds__(MOST_THREADS)
    find_radix_offsets(const ScanElements *keys, uint *counts, uint *tile_begins, int first_bit) {
    extern __shared__ __align__(16) uint shared[];
    __shared__ uint begins[DIGITS], ends[DIGITS];
    const ScanElements own = keys[(size_t)blockIdx.x * blockDim.x + threadIdx.x];
    if (threadIdx.x < DIGITS) begins[threadIdx.x] = ends[threadIdx.x] = 0;
    for (int k = 0; k < SCAN_DATA_SIZE; ++k)
        shared[SCAN_DATA_SIZE * threadIdx.x + k] = own.of[k] >> first_bit & (DIGITS - 1);
    __syncthreads();
    const uint tile = SCAN_DATA_SIZE * blockDim.x;
    for (uint i = threadIdx.x; i < tile; i += blockDim.x) {
        const uint digit = shared[i];
        if (i == 0 || shared[i - 1] != digit) begins[digit] = i;
        if (i == tile - 1 || shared[i + 1] != digit) ends[digit] = i + 1;
    }
    __syncthreads();
    if (threadIdx.x < DIGITS) {
        const uint begin = begins[threadIdx.x];
        tile_begins[(size_t)blockIdx.x * DIGITS + threadIdx.x] = begin;
        counts[(size_t)threadIdx.x * gridDim.x + blockIdx.x] = ends[threadIdx.x] - begin;
    }
}

// Replaces each element by the sum of those before it in its block; `sums`, unless it is null, gets
// those of blocks.
template <int BLOCK>
__global__ void __launch_bounds__(BLOCK) scan(ScanElements *elements, uint *sums) {
    extern __shared__ __align__(16) uint shared[];
    const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    ScanElements own = elements[i];
    uint sum = 0;
    for (int k = 0; k < SCAN_DATA_SIZE; ++k) {
        const uint element = own.of[k];
        own.of[k] = sum;
        sum += element;
    }
    const uint before = scan_local_memory<BLOCK>(sum, shared);
    for (int k = 0; k < SCAN_DATA_SIZE; ++k) own.of[k] += before;
    elements[i] = own;
    if (sums != nullptr && threadIdx.x == BLOCK - 1) sums[blockIdx.x] = before + sum;
}

// Adds to all elements of a block what stands before the block.
__global__ void __launch_bounds__(MOST_THREADS)
    vector_add_uniform(ScanElements *elements, const uint *sums) {
    const uint sum = sums[blockIdx.x];
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    ScanElements own = elements[i];
    for (int k = 0; k < SCAN_DATA_SIZE; ++k) own.of[k] += sum;
    elements[i] = own;
}

// Takes the keys of each sorted tile to where its digits begin among all.
__global__ void __launch_bounds__(MOST_THREADS)
    reorder_data(const ScanElements *keys_in, const ScanElements *values_in, uint *keys_out,
                 uint *values_out, const uint *places, const uint *tile_begins, int first_bit) {
    extern __shared__ __align__(16) uint shared[];
    const uint tile = SCAN_DATA_SIZE * blockDim.x;
    uint *keys = shared, *values = keys + tile, *begins = values + tile, *offsets = begins + DIGITS;
    const size_t own = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    ((ScanElements *)keys)[threadIdx.x] = keys_in[own];
    ((ScanElements *)values)[threadIdx.x] = values_in[own];
    if (threadIdx.x < DIGITS) {
        begins[threadIdx.x] = places[(size_t)threadIdx.x * gridDim.x + blockIdx.x];
        offsets[threadIdx.x] = tile_begins[(size_t)blockIdx.x * DIGITS + threadIdx.x];
    }
    __syncthreads();
    for (uint i = threadIdx.x; i < tile; i += blockDim.x) {
        const uint digit = keys[i] >> first_bit & (DIGITS - 1);
        const size_t place = (size_t)begins[digit] + i - offsets[digit];
        keys_out[place] = keys[i];
        values_out[place] = values[i];
    }
}

template <int BLOCK>
static cudaError_t launch_sort(const uint *keys_in, const uint *values_in, uint *keys_out,
                               uint *values_out, int first_bit, int tiles) {
    radix_sort_blocks<BLOCK><<<tiles, BLOCK, SORT_DATA_SIZE * BLOCK * sizeof(uint)>>>(
        (const SortElements *)keys_in, (const SortElements *)values_in, (SortElements *)keys_out,
        (SortElements *)values_out, first_bit);
    return cudaGetLastError();
}

// The instance of a number of threads.
static cudaError_t sort_tiles(int block, const uint *keys_in, const uint *values_in, uint *keys_out,
                              uint *values_out, int first_bit, int tiles) {
    switch (block) {
    case 16: return launch_sort<16>(keys_in, values_in, keys_out, values_out, first_bit, tiles);
    case 32: return launch_sort<32>(keys_in, values_in, keys_out, values_out, first_bit, tiles);
    case 64: return launch_sort<64>(keys_in, values_in, keys_out, values_out, first_bit, tiles);
    case 128: return launch_sort<128>(keys_in, values_in, keys_out, values_out, first_bit, tiles);
    case 256: return launch_sort<256>(keys_in, values_in, keys_out, values_out, first_bit, tiles);
    case 512: return launch_sort<512>(keys_in, values_in, keys_out, values_out, first_bit, tiles);
    case 1024: return launch_sort<1024>(keys_in, values_in, keys_out, values_out, first_bit, tiles);
    default: return cudaErrorInvalidConfiguration;
    }
}

template <int BLOCK>
static cudaError_t launch_scan(uint *elements, uint *sums, int blocks) {
    constexpr size_t shared_bytes = 2 * BLOCK * sizeof(uint);
    if (blocks == 1)
        scan<BLOCK><<<1, BLOCK, shared_bytes>>>((ScanElements *)elements, nullptr);
    else
        scan<BLOCK><<<blocks, BLOCK, shared_bytes>>>((ScanElements *)elements, sums);
    return cudaGetLastError();
}

static cudaError_t scan_blocks(int block, uint *elements, uint *sums, int blocks) {
    switch (block) {
    case 16: return launch_scan<16>(elements, sums, blocks);
    case 32: return launch_scan<32>(elements, sums, blocks);
    case 64: return launch_scan<64>(elements, sums, blocks);
    case 128: return launch_scan<128>(elements, sums, blocks);
    case 256: return launch_scan<256>(elements, sums, blocks);
    case 512: return launch_scan<512>(elements, sums, blocks);
    case 1024: return launch_scan<1024>(elements, sums, blocks);
    default: return cudaErrorInvalidConfiguration;
    }
}

// Counts, sums of their blocks, sums of these, and so on: one array behind the other.
struct Level {
    size_t first;
    int blocks;
};

// The levels over some counts, of which a block scans so many; how many elements all have is the
// beginning of the next one.
static std::vector<Level> levels_of(int count, int scanned, size_t *all) {
    std::vector<Level> levels;
    *all = 0;
    for (int blocks = 0; blocks != 1; count = blocks) {
        blocks = (count + scanned - 1) / scanned;
        levels.push_back({*all, blocks});
        *all += (size_t)blocks * scanned;
    }
    return levels;
}

static cudaError_t scan_all(uint *counts, const std::vector<Level> &levels, size_t level,
                            int block) {
    const Level &own = levels[level];
    uint *elements = counts + own.first;
    uint *sums = own.blocks > 1 ? counts + levels[level + 1].first : nullptr;
    cudaError_t status = scan_blocks(block, elements, sums, own.blocks);
    if (status != cudaSuccess || own.blocks == 1) return status;
    status = scan_all(counts, levels, level + 1, block);
    if (status != cudaSuccess) return status;
    vector_add_uniform<<<own.blocks, block>>>((ScanElements *)elements, sums);
    return cudaGetLastError();
}

static int tiles_of(int n, int tile) { return (n + tile - 1) / tile; }

static bool have_one_tile(int scan_block, int sort_block) {
    if (SCAN_DATA_SIZE * scan_block == SORT_DATA_SIZE * sort_block) return true;
    fprintf(stderr, "the kernels of one tile have another number of elements\n");
    return false;
}

struct Pairs {
    DeviceArray<uint> keys, values;
};

// What is sorted, and room for it with blocks of any size. The input stays as it is, so that it can
// be sorted again.
struct Sorting {
    int scan_block, sort_block, tiles;
    Pairs input, in_tiles, output;
    DeviceArray<uint> counts, tile_begins;
    std::vector<Level> levels;

    // Behind the n keys stand largest ones, which therefore stay there, to the end of a tile of any
    // size.
    int prepare(const std::vector<uint> &keys, const std::vector<uint> &values, int n) {
        CHECK(input.keys.copy_from(keys.data(), keys.size()));
        CHECK(input.values.copy_from(values.data(), values.size()));
        for (Pairs *pairs : {&in_tiles, &output}) {
            CHECK(pairs->keys.allocate(keys.size()));
            CHECK(pairs->values.allocate(values.size()));
        }
        size_t most_counts = 0;
        for (int block = LEAST_THREADS; block <= MOST_THREADS; block *= 2) {
            const int tile = SCAN_DATA_SIZE * block;
            size_t all = 0;
            levels_of(DIGITS * tiles_of(n, tile), tile, &all);
            if (all > most_counts) most_counts = all;
        }
        CHECK(counts.allocate(most_counts));
        CHECK(cudaMemset(counts.data, 0, most_counts * sizeof(uint)));
        const size_t most_tiles = tiles_of(n, SCAN_DATA_SIZE * LEAST_THREADS);
        CHECK(tile_begins.allocate(most_tiles * DIGITS));
        return 0;
    }

    // The blocks with which n keys are sorted.
    int plan(int n, int block_of_scan, int block_of_sort) {
        if (!have_one_tile(block_of_scan, block_of_sort)) return 1;
        scan_block = block_of_scan;
        sort_block = block_of_sort;
        const int tile = SCAN_DATA_SIZE * scan_block;
        tiles = tiles_of(n, tile);
        size_t all = 0;
        levels = levels_of(DIGITS * tiles, tile, &all);
        // Above 48 KB a kernel has to be told.
        CHECK(cudaFuncSetAttribute((const void *)reorder_data,
                                   cudaFuncAttributeMaxDynamicSharedMemorySize, reordered_bytes()));
        return 0;
    }

    int reordered_bytes() const {
        return 2 * (SCAN_DATA_SIZE * scan_block + DIGITS) * (int)sizeof(uint);
    }

    int sort() {
        for (int bit = 0; bit < KEY_BITS; bit += DIGIT_BITS) {
            const Pairs &from = bit == 0 ? input : output;
            CHECK(sort_tiles(sort_block, from.keys.data, from.values.data, in_tiles.keys.data,
                             in_tiles.values.data, bit, tiles));
            find_radix_offsets<<<tiles, scan_block, SCAN_DATA_SIZE * scan_block * sizeof(uint)>>>(
                (const ScanElements *)in_tiles.keys.data, counts.data, tile_begins.data, bit);
            CHECK(cudaGetLastError());
            CHECK(scan_all(counts.data, levels, 0, scan_block));
            reorder_data<<<tiles, scan_block, reordered_bytes()>>>(
                (const ScanElements *)in_tiles.keys.data,
                (const ScanElements *)in_tiles.values.data, output.keys.data, output.values.data,
                counts.data, tile_begins.data, bit);
            CHECK(cudaGetLastError());
        }
        return 0;
    }
};

// Is this the only right order? Equal keys keep theirs, so that their values, which count the
// input, rise.
static bool is_sorted_as(const std::vector<uint> &keys, const std::vector<uint> &values,
                         const std::vector<uint> &input, int n) {
    std::vector<bool> seen(n, false);
    for (int i = 0; i < n; ++i) {
        const bool is_moved =
            values[i] < (uint)n && !seen[values[i]] && input[values[i]] == keys[i];
        if (!is_moved) {
            printf("FAILED: pair %d is (%u, %u), which is none of the input\n", i, keys[i],
                   values[i]);
            return false;
        }
        seen[values[i]] = true;
        if (i > 0 &&
            (keys[i - 1] > keys[i] || (keys[i - 1] == keys[i] && values[i - 1] > values[i]))) {
            printf("FAILED: pair %d, (%u, %u), stands before (%u, %u)\n", i - 1, keys[i - 1],
                   values[i - 1], keys[i], values[i]);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv) {
    constexpr int MB = (1 << 20) / sizeof(uint);
    int numbers[] = {0, 1};
    if (!read_arguments(argc, argv, {1 * MB, 8 * MB, 48 * MB, 96 * MB}, numbers, 2)) {
        fprintf(stderr, "sort N [REPETITIONS], or sort -s CLASS [REPETITIONS], CLASS 1 to 4\n");
        return 2;
    }
    const int n = numbers[0], repetitions = numbers[1];
#pragma cutune tune(SCAN_BLOCK_SIZE: 16, 32, 64, 128, 256, 512, 1024, \
                    SORT_BLOCK_SIZE: 16, 32, 64, 128, 256, 512, 1024) data(n) \
    where(SCAN_DATA_SIZE * SCAN_BLOCK_SIZE == SORT_DATA_SIZE * SORT_BLOCK_SIZE)
    int SCAN_BLOCK_SIZE = 256, SORT_BLOCK_SIZE = 128;
    if (!have_one_tile(SCAN_BLOCK_SIZE, SORT_BLOCK_SIZE)) return 2;
    Sorting sorting;
    constexpr int most_tile = SORT_DATA_SIZE * MOST_THREADS;
    std::vector<uint> keys((size_t)tiles_of(n, most_tile) * most_tile, ~0u),
        values(keys.size(), ~0u);
    // One key in eight occurs often.
    for (int i = 0; i < n; ++i) keys[i] = i % 8 ? mixed(i) : mixed(i) % 64, values[i] = i;
    if (sorting.prepare(keys, values, n)) return 1;
    // What is loaded late is not part of the work.
    if (sorting.plan(n, SCAN_BLOCK_SIZE, SORT_BLOCK_SIZE) || sorting.sort()) return 1;

    Clock clock;
    CHECK(clock.start());
#pragma cutune region begin repeat
    if (sorting.plan(n, SCAN_BLOCK_SIZE, SORT_BLOCK_SIZE)) return 1;
    for (int k = 0; k < repetitions; ++k)
        if (sorting.sort()) return 1;
    CHECK(cudaDeviceSynchronize());
#pragma cutune region end
    float milliseconds = 0;
    CHECK(clock.stop(&milliseconds));

    std::vector<uint> sorted_keys(n), sorted_values(n);
    const size_t bytes = n * sizeof(uint);
    CHECK(cudaMemcpy(sorted_keys.data(), sorting.output.keys.data, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(sorted_values.data(), sorting.output.values.data, bytes,
                     cudaMemcpyDeviceToHost));
    if (!is_sorted_as(sorted_keys, sorted_values, keys, n)) return 1;
    printf("PASSED: %d pairs\n", n);
    if (milliseconds > 0)
        fprintf(stderr, "%.3f GB/s\n", (double)bytes * repetitions / milliseconds / 1e6);
    return 0;
}
