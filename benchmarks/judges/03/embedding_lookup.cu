// The input of a language model: for each of n tokens the row of a table of 256 features that its
// number says, plus a row for its position.
//
//     nvcc -O2 -o embedding_lookup embedding_lookup.cu && ./embedding_lookup 1000

#include "../judge.h"

#define VOCABULARY 30000
#define POSITIONS 512
#define FEATURES 256

__global__ void embedding_lookup(int tokens, int features, const int *numbers, const float *table,
                                 const float *positions, float *output) {
    const int feature = blockIdx.x * blockDim.x + threadIdx.x;
    const int token = blockIdx.y * blockDim.y + threadIdx.y;
    if (token < tokens && feature < features) {
        const float value = table[numbers[token] * features + feature];
        output[token * features + feature] =
            value + positions[token % POSITIONS * features + feature];
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200, 400000);
    const std::vector<int> numbers = fixed_integers(n, VOCABULARY, 1);
    const std::vector<float> table = fixed_values((size_t)VOCABULARY * FEATURES, 2);
    const std::vector<float> positions = fixed_values((size_t)POSITIONS * FEATURES, 3);
    const size_t count = (size_t)n * FEATURES;
    const int *device_numbers = to_device(numbers);
    const float *device_table = to_device(table), *device_positions = to_device(positions);
    float *device_output = to_device(std::vector<float>(count));

    const dim3 block(64, 4);
    const dim3 grid(blocks_for(FEATURES, block.x), blocks_for(n, block.y));
    embedding_lookup<<<grid, block>>>(n, FEATURES, device_numbers, device_table, device_positions,
                                      device_output);
    finish_launches();

    return verdict(sampled_error(from_device(device_output, count), [&](size_t e) {
        const size_t token = e / FEATURES, feature = e % FEATURES;
        return table[(size_t)numbers[token] * FEATURES + feature] +
               positions[token % POSITIONS * FEATURES + feature];
    }));
}
