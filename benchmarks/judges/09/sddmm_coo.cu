// A dense product sampled at the entries of a sparse matrix (SDDMM): each of 12 n entries, given by
// row and column, is scaled by the product of a row of one matrix with a row of another, both
// found through index arrays.
//
//     nvcc -O2 -o sddmm_coo sddmm_coo.cu && ./sddmm_coo 10000

#include "../host.h"

#define WIDTH 32
#define PER_ROW 12

__global__ void sddmm(int entries, const int *__restrict__ row, const int *__restrict__ column,
                      const float *__restrict__ value, const float *__restrict__ left,
                      const float *__restrict__ right, float *__restrict__ out) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < entries) {
        const float4 *a = (const float4 *)(left + (size_t)row[e] * WIDTH);
        const float4 *b = (const float4 *)(right + (size_t)column[e] * WIDTH);
        float sum = 0.0f;
        for (int k = 0; k < WIDTH / 4; k++) {
            float4 x = a[k], y = b[k];
            sum += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
        }
        out[e] = value[e] * sum;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 1 << 24);
    const int entries = PER_ROW * n;
    std::vector<int> row(entries), column(entries);
    for (int e = 0; e < entries; e++) {
        row[e] = e / PER_ROW;
        column[e] = (int)(mixed(e) % (unsigned)n);
    }
    const std::vector<float> value = quick_values(entries, 1);
    const std::vector<float> left = quick_values((size_t)n * WIDTH, 2);
    const std::vector<float> right = quick_values((size_t)n * WIDTH, 3);
    const int *d_row = to_device(row), *d_column = to_device(column);
    const float *d_value = to_device(value);
    const float *d_left = to_device(left), *d_right = to_device(right);
    float *d_out = device_zeros<float>(entries);

    const int threads = 256;
    sddmm<<<(entries + threads - 1) / threads, threads>>>(entries, d_row, d_column, d_value, d_left,
                                                          d_right, d_out);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, entries), [&](size_t e) {
        double sum = 0.0;
        for (int k = 0; k < WIDTH; k++)
            sum += (double)left[(size_t)row[e] * WIDTH + k] * right[(size_t)column[e] * WIDTH + k];
        return value[e] * sum;
    }));
}
