// Neural networks: a bias for each of n columns, then x sigmoid(x), in place, in n/4 + 1 rows.
//
//     nvcc -O2 -o bias_silu_rows bias_silu_rows.cu && ./bias_silu_rows 2000

#include "checksum.h"

__global__ void add_bias_silu(float *x, const float *bias, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) {
        float v = x[i] + bias[i % cols];
        x[i] = v / (1.0f + expf(-v));
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100, 40000);
    const int cols = n, rows = n / 4 + 1;
    const size_t count = (size_t)rows * cols;
    std::vector<float> x = quick_values(count, 2201);
    for (float &value : x) value = 8.0f * value - 4.0f;
    const std::vector<float> bias = quick_values(cols, 2202);
    float *d_x = to_device(x), *d_bias = to_device(bias);

    const int threads = 256;
    add_bias_silu<<<(rows * cols + threads - 1) / threads, threads>>>(d_x, d_bias, rows, cols);
    finish_launches();

    const std::vector<float> after = from_device(d_x, count);
    print_checksum("x", after);
    return verdict(sampled_error(after, [&](size_t e) {
        const double v = (double)x[e] + bias[e % cols];
        return v / (1.0 + exp(-v));
    }));
}
