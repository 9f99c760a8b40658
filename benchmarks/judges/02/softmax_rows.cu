// Softmax of n rows of 100 numbers, a row per thread: the largest, the sum of exponentials, the
// quotients.
//
//     nvcc -O2 -o softmax_rows softmax_rows.cu && ./softmax_rows 10000

#include "../judge.h"

__global__ void softmax_rows(const float *input, float *output, int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float largest = -INFINITY, sum = 0.0f;
        for (int j = 0; j < columns; j++) largest = fmaxf(largest, input[row * columns + j]);
        for (int j = 0; j < columns; j++) sum += expf(input[row * columns + j] - largest);
        for (int j = 0; j < columns; j++)
            output[row * columns + j] = expf(input[row * columns + j] - largest) / sum;
    }
}

int main(int argc, char **argv) {
    const int rows = size_argument(argc, argv, 1000, 1 << 24), columns = 100;
    const size_t count = (size_t)rows * columns;
    std::vector<float> input = fixed_values(count, 1);
    for (float &value : input) value = 6.0f * value - 3.0f;
    float *device_input = to_device(input), *device_output = to_device(std::vector<float>(count));

    const int block = 256;
    softmax_rows<<<(rows + block - 1) / block, block>>>(device_input, device_output, rows, columns);
    finish_launches();

    return verdict(sampled_error(from_device(device_output, count), [&](size_t e) {
        const float *row = &input[e / columns * columns];
        float largest = -INFINITY, sum = 0.0f;
        for (int j = 0; j < columns; j++) largest = fmaxf(largest, row[j]);
        for (int j = 0; j < columns; j++) sum += expf(row[j] - largest);
        return expf(input[e] - largest) / sum;
    }));
}
