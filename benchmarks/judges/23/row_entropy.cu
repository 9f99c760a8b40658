// Ecology: the diversity (Shannon's entropy) of n places, from counts of 2000 species each. A
// block per place; its threads walk the row and meet in shared memory.
//
//     nvcc -O2 -o row_entropy row_entropy.cu && ./row_entropy 5000

#include "checked.h"

constexpr int kSpecies = 2000;

__global__ void shannon(const int *__restrict__ counts, float *__restrict__ entropy, int species) {
    extern __shared__ float partial[];
    float *totals = partial, *weighted = partial + blockDim.x;
    const int *row = counts + (size_t)blockIdx.x * species;
    const int tid = threadIdx.x;

    float total = 0.0f, with_log = 0.0f;
    for (int s = tid; s < species; s += blockDim.x) {
        const float c = (float)row[s];
        total += c;
        if (c > 0.0f) with_log += c * logf(c);
    }
    totals[tid] = total;
    weighted[tid] = with_log;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride) {
            totals[tid] += totals[tid + stride];
            weighted[tid] += weighted[tid + stride];
        }
        __syncthreads();
    }
    if (tid == 0) entropy[blockIdx.x] = logf(totals[0]) - weighted[0] / totals[0];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20, 230000);
    const size_t count = (size_t)n * kSpecies;
    std::vector<int> counts(count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = mixed(3181u + (uint32_t)i);
        counts[i] = bits % 4 == 0 ? (int)(bits >> (20 + i / kSpecies % 8)) : 0;
    }
    const int *d_counts = to_device(counts);
    float *d_entropy = device_zeros<float>(n);

    const int threads = 128;
    shannon<<<n, threads, 2 * threads * sizeof(float)>>>(d_counts, d_entropy, kSpecies);
    finish_launches();

    const std::vector<float> entropy = from_device(d_entropy, n);
    say_sum("entropies", entropy);
    return verdict(sampled_error(entropy, [&](size_t place) {
        const int *row = counts.data() + place * kSpecies;
        double total = 0.0, sum = 0.0;
        for (int s = 0; s < kSpecies; s++) total += row[s];
        for (int s = 0; s < kSpecies; s++)
            if (row[s] > 0) sum -= row[s] / total * log(row[s] / total);
        return sum;
    }));
}
