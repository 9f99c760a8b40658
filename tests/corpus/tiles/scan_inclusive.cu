// Inclusive prefix sums of any number of integers: each block scans its part in shared memory, the
// sums of blocks are scanned in the same way, then added to the parts behind them.
//
//     nvcc -O2 -o scan_inclusive scan_inclusive.cu && ./scan_inclusive 100000

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

constexpr int BLOCK_SIZE = 256;
constexpr int ITEMS = 4; // of a thread
constexpr int PART = BLOCK_SIZE * ITEMS;

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t error = (call);                                                              \
        if (error != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));       \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

__global__ void scan_parts(const int *in, int *out, int *part_sums, int n) {
    __shared__ int values[PART];
    __shared__ int sums[2][BLOCK_SIZE];
    const int thread = threadIdx.x;
    const int first = blockIdx.x * PART;

    for (int i = thread; i < PART; i += BLOCK_SIZE)
        values[i] = first + i < n ? in[first + i] : 0;
    __syncthreads();

    int total = 0;
    for (int i = 0; i < ITEMS; i++) {
        total += values[thread * ITEMS + i];
        values[thread * ITEMS + i] = total;
    }
    int from = 0;
    sums[from][thread] = total;
    __syncthreads();
    for (int distance = 1; distance < BLOCK_SIZE; distance *= 2) {
        int sum = sums[from][thread];
        if (thread >= distance) sum += sums[from][thread - distance];
        from = 1 - from;
        sums[from][thread] = sum;
        __syncthreads();
    }
    const int before = sums[from][thread] - total;
    for (int i = 0; i < ITEMS; i++) values[thread * ITEMS + i] += before;
    __syncthreads();

    for (int i = thread; i < PART; i += BLOCK_SIZE)
        if (first + i < n) out[first + i] = values[i];
    if (part_sums && thread == BLOCK_SIZE - 1) part_sums[blockIdx.x] = sums[from][thread];
}

__global__ void add_sums(int *out, const int *part_sums, int n) {
    const int sum = blockIdx.x > 0 ? part_sums[blockIdx.x - 1] : 0;
    const int end = min((blockIdx.x + 1) * PART, n);
    for (int i = blockIdx.x * PART + threadIdx.x; i < end; i += BLOCK_SIZE) out[i] += sum;
}

static void inclusive_scan(const int *in, int *out, int n) {
    const int parts = (n + PART - 1) / PART;
    if (parts == 1) {
        scan_parts<<<1, BLOCK_SIZE>>>(in, out, nullptr, n);
        CHECK(cudaGetLastError());
        return;
    }
    int *sums;
    CHECK(cudaMalloc(&sums, parts * sizeof(int)));
    scan_parts<<<parts, BLOCK_SIZE>>>(in, out, sums, n);
    CHECK(cudaGetLastError());
    inclusive_scan(sums, sums, parts);
    add_sums<<<parts, BLOCK_SIZE>>>(out, sums, n);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(sums));
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 100000;
    std::vector<int> in(n), out(n);
    unsigned state = 1;
    for (int &value : in) {
        state = state * 22695477u + 1u;
        value = (int)(state >> 28) - 7;
    }
    int *d_in, *d_out;
    CHECK(cudaMalloc(&d_in, n * sizeof(int)));
    CHECK(cudaMalloc(&d_out, n * sizeof(int)));
    CHECK(cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));

    inclusive_scan(d_in, d_out, n);

    CHECK(cudaMemcpy(out.data(), d_out, n * sizeof(int), cudaMemcpyDeviceToHost));
    int wrong = 0, sum = 0;
    unsigned long long checksum = 14695981039346656037ull;
    for (int i = 0; i < n; i++) {
        sum += in[i];
        wrong += out[i] != sum;
        checksum = (checksum ^ (unsigned)out[i]) * 1099511628211ull;
    }
    printf("%d values, last %d, checksum %016llx\n", n, out[n - 1], checksum);
    printf("%s\n", wrong == 0 ? "PASS" : "FAIL");
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    return wrong == 0 ? 0 : 1;
}
