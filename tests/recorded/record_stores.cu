// How long stores of structures take: made stores_h200.txt, from which the model reads how many of
// them meet on their way to L2 (cutune/models/memory_traffic.py).
//
//     nvcc -O3 -arch=sm_90 -o record_stores record_stores.cu && ./record_stores >stores_h200.txt
//
// A line per kernel, words of a structure and number of threads: microseconds by block, the least of
// ten. Each store is an instruction of its own, of one word of each structure.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

constexpr int BLOCKS[] = {32, 64, 128, 256, 384, 512, 704, 1024};
constexpr size_t MOST_THREADS = 4000000, MOST_WORDS = 16;

__device__ void store(float* place, float value) {
    asm volatile("st.global.f32 [%0], %1;" ::"l"(place), "f"(value) : "memory");
}

template <int WORDS>
__global__ void store_only(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#pragma unroll
    for (int k = 0; k < WORDS; k++) store(out + (size_t)i * WORDS + k, i + k);
}

template <int WORDS>
__global__ void load_word(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float value = in[i];
#pragma unroll
    for (int k = 0; k < WORDS; k++) store(out + (size_t)i * WORDS + k, value + k);
}

template <int WORDS>
__global__ void load_structure(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float values[WORDS];
#pragma unroll
    for (int k = 0; k < WORDS; k++) values[k] = __ldg(in + (size_t)i * WORDS + k);
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        store(out + (size_t)i * WORDS + k, values[k] + values[(k + 1) % WORDS]);
}

void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s\n", cudaGetErrorString(error));
    exit(1);
}

void measure(const char* name, int words, void (*kernel)(const float*, float*, int),
             const float* in, float* out, int n) {
    cudaEvent_t start, end;
    check(cudaEventCreate(&start));
    check(cudaEventCreate(&end));
    printf("%s %d %d", name, words, n);
    for (int threads : BLOCKS) {
        float least = 1e9f;
        for (int repetition = 0; repetition < 12; repetition++) {
            check(cudaEventRecord(start));
            kernel<<<(n + threads - 1) / threads, threads>>>(in, out, n);
            check(cudaEventRecord(end));
            check(cudaEventSynchronize(end));
            float milliseconds;
            check(cudaEventElapsedTime(&milliseconds, start, end));
            if (repetition > 1) least = std::min(least, milliseconds);
        }
        printf(" %.2f", 1000 * least);
    }
    printf("\n");
}

template <int WORDS>
void measure_all(const float* in, float* out) {
    for (int n : {400000, 4000000}) {
        measure("store_only", WORDS, store_only<WORDS>, in, out, n);
        measure("load_word", WORDS, load_word<WORDS>, in, out, n);
        measure("load_structure", WORDS, load_structure<WORDS>, in, out, n);
    }
}

int main() {
    float *in, *out;
    const size_t bytes = MOST_THREADS * MOST_WORDS * sizeof(float);
    check(cudaMalloc(&in, bytes));
    check(cudaMalloc(&out, bytes));
    check(cudaMemset(in, 0, bytes));
    measure_all<1>(in, out);
    measure_all<2>(in, out);
    measure_all<3>(in, out);
    measure_all<4>(in, out);
    measure_all<5>(in, out);
    measure_all<6>(in, out);
    measure_all<7>(in, out);
    measure_all<8>(in, out);
    measure_all<12>(in, out);
    measure_all<16>(in, out);
}
