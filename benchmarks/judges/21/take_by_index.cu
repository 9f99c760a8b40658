// Data frames: n floats taken from a column of n/2 + 1, at places an array gives, times a weight.
//
//     nvcc -O2 -o take_by_index take_by_index.cu && ./take_by_index 1000000

#include "checksum.h"

__global__ void take(const float *__restrict__ column, const int *__restrict__ index,
                     const float *__restrict__ weight, float *__restrict__ result, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        result[i] = weight[i] * column[index[i]];
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 3000, 100000000);
    const int length = n / 2 + 1;
    const std::vector<float> column = quick_values(length, 2301), weight = quick_values(n, 2302);
    std::vector<int> index(n);
    for (int i = 0; i < n; i++) index[i] = (int)(mixed((uint32_t)i + 2303u) % (uint32_t)length);
    const float *d_column = to_device(column), *d_weight = to_device(weight);
    const int *d_index = to_device(index);
    float *d_result = device_zeros<float>(n);

    take<<<(n + 255) / 256, 256>>>(d_column, d_index, d_weight, d_result, n);
    finish_launches();

    const std::vector<float> result = from_device(d_result, n);
    print_checksum("result", result);
    return verdict(sampled_error(result, [&](size_t e) { return weight[e] * column[index[e]]; }));
}
