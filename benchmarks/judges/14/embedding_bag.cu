// Recommendation: n bags of 1 to 39 words each, weighted sums of the words' rows of 64 floats in a
// table of up to a million words.
//
//     nvcc -O2 -o embedding_bag embedding_bag.cu && ./embedding_bag 20000

#include "../host.h"

#define COLUMNS 64
#define MOST_WORDS 1000000

__global__ void bag_sums(const float *__restrict__ table, const int *__restrict__ words,
                         const float *__restrict__ weights, const int *__restrict__ offsets,
                         float *__restrict__ out, int bags) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int bag = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= COLUMNS || bag >= bags) return;
    const int end = offsets[bag + 1];
    float sum = 0.0f;
    for (int i = offsets[bag]; i < end; i++)
        sum += weights[i] * table[(size_t)words[i] * COLUMNS + column];
    out[(size_t)bag * COLUMNS + column] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 2000000);
    const int rows = n < MOST_WORDS / 20 ? 20 * n : MOST_WORDS;
    const std::vector<float> table = quick_values((size_t)rows * COLUMNS, 91);
    std::vector<int> offsets(n + 1, 0);
    for (int b = 0; b < n; b++) offsets[b + 1] = offsets[b] + 1 + (int)(mixed(b + 92u) % 39);
    std::vector<int> words(offsets[n]);
    for (int i = 0; i < offsets[n]; i++) words[i] = (int)(mixed(i + 93u) % (uint32_t)rows);
    const std::vector<float> weights = quick_values(words.size(), 94);
    const float *d_table = to_device(table);
    const int *d_words = to_device(words);
    const float *d_weights = to_device(weights);
    const int *d_offsets = to_device(offsets);
    float *d_out = device_zeros<float>((size_t)n * COLUMNS);

    dim3 block(64, 4);
    dim3 grid((COLUMNS + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    bag_sums<<<grid, block>>>(d_table, d_words, d_weights, d_offsets, d_out, n);
    finish_launches();

    const std::vector<float> out = from_device(d_out, (size_t)n * COLUMNS);
    return verdict(sampled_error(out, [&](size_t e) {
        const size_t bag = e / COLUMNS, column = e % COLUMNS;
        float sum = 0.0f;
        for (int i = offsets[bag]; i < offsets[bag + 1]; i++)
            sum += weights[i] * table[(size_t)words[i] * COLUMNS + column];
        return sum;
    }));
}
