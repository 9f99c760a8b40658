// Activations to eight bits: each of n rows of 1536 numbers is divided by its largest magnitude,
// which a block finds by a reduction in dynamic shared memory, and rounded.
//
//     nvcc -O2 -o quantize_rows quantize_rows.cu && ./quantize_rows 1000

#include "../host.h"

#define COLUMNS 1536

#pragma cutune kernel quantize_rows data(rows, columns) \
    block(x: 32, 64, 128, 256, 512, 1024) grid(keep) shared(4 * x)
__global__ void quantize_rows(const float *__restrict__ values, signed char *__restrict__ out,
                              float *__restrict__ scales, int rows, int columns) {
    extern __shared__ float largest[];
    const int row = blockIdx.x, t = threadIdx.x;
    if (row >= rows) return;
    const float *own = values + (size_t)row * columns;
    float most = 1e-20f;
    for (int c = t; c < columns; c += blockDim.x) most = fmaxf(most, fabsf(own[c]));
    largest[t] = most;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) largest[t] = fmaxf(largest[t], largest[t + half]);
        __syncthreads();
    }
    most = largest[0];
    const float factor = 127.0f / most;
    for (int c = t; c < columns; c += blockDim.x)
        out[(size_t)row * columns + c] = (signed char)rintf(own[c] * factor);
    if (t == 0) scales[row] = most / 127.0f;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 8, 1 << 19);
    const size_t count = (size_t)n * COLUMNS;
    std::vector<float> values = quick_values(count, 1);
    for (float &value : values) value -= 0.5f;
    const float *d_values = to_device(values);
    signed char *d_out = device_zeros<signed char>(count);
    float *d_scales = device_zeros<float>(n);

    const int threads = 256;
    quantize_rows<<<n, threads, threads * sizeof(float)>>>(d_values, d_out, d_scales, n, COLUMNS);
    finish_launches();

    const auto largest = [&](size_t row) {
        float most = 1e-20f;
        for (size_t c = 0; c < COLUMNS; c++) most = fmaxf(most, fabsf(values[row * COLUMNS + c]));
        return most;
    };
    const double error = sampled_error(from_device(d_scales, n),
                                       [&](size_t row) { return largest(row) / 127.0f; });
    return verdict(error + sampled_error(from_device(d_out, count), [&](size_t e) {
                       return rintf(values[e] * (127.0f / largest(e / COLUMNS)));
                   }));
}
