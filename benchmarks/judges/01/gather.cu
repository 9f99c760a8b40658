// Sums of four elements of a table at places that an index array names.
//
//     nvcc -O2 -o gather gather.cu && ./gather 100000

#include "../judge.h"

__global__ void gather(int n, const int *places, const float *table, float *sums) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int k = 0; k < 4; k++) sum += table[places[k * n + i]];
        sums[i] = sum;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 26);
    const std::vector<int> places = fixed_integers((size_t)4 * n, n, 1);
    const std::vector<float> table = fixed_values(n, 2);
    int *device_places = to_device(places);
    float *device_table = to_device(table), *device_sums = to_device(std::vector<float>(n));

    const unsigned block = 256;
    gather<<<blocks_for(n, block), block>>>(n, device_places, device_table, device_sums);
    finish_launches();

    return verdict(sampled_error(from_device(device_sums, n), [&](size_t i) {
        float sum = 0.0f;
        for (size_t k = 0; k < 4; k++) sum += table[places[k * n + i]];
        return sum;
    }));
}
