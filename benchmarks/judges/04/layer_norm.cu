// Layer normalisation of 2048 rows of n features, a block per row: mean and variance by a reduction
// in dynamic shared memory, then scale and shift.
//
//     nvcc -O2 -o layer_norm layer_norm.cu && ./layer_norm 768

#include "../judge.h"

#define ROWS 2048

#pragma cutune kernel layer_norm data(features) block(x: 32, 64, 128, 256, 512, 1024) grid(keep) \
    shared(8 * x)
__global__ void layer_norm(int features, const float *input, const float *gain, const float *shift,
                           float *output) {
    extern __shared__ float2 sums[];
    const float *row = input + blockIdx.x * features;
    float2 own = make_float2(0.0f, 0.0f);
    for (int i = threadIdx.x; i < features; i += blockDim.x) {
        own.x += row[i];
        own.y += row[i] * row[i];
    }
    sums[threadIdx.x] = own;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            sums[threadIdx.x].x += sums[threadIdx.x + half].x;
            sums[threadIdx.x].y += sums[threadIdx.x + half].y;
        }
        __syncthreads();
    }
    const float mean = sums[0].x / features;
    const float scale = rsqrtf(sums[0].y / features - mean * mean + 1e-5f);
    for (int i = threadIdx.x; i < features; i += blockDim.x)
        output[blockIdx.x * features + i] = (row[i] - mean) * scale * gain[i] + shift[i];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200, 1 << 18);
    const size_t count = (size_t)ROWS * n;
    const std::vector<float> input = fixed_values(count, 1);
    const std::vector<float> gain = fixed_values(n, 2), shift = fixed_values(n, 3);
    const float *device_input = to_device(input);
    const float *device_gain = to_device(gain), *device_shift = to_device(shift);
    float *device_output = to_device(std::vector<float>(count));

    const int threads = 256;
    layer_norm<<<ROWS, threads, threads * sizeof(float2)>>>(n, device_input, device_gain,
                                                            device_shift, device_output);
    finish_launches();

    return verdict(sampled_error(from_device(device_output, count), [&](size_t e) {
        const float *row = &input[e / n * n];
        double sum = 0.0, squares = 0.0;
        for (int i = 0; i < n; i++) sum += row[i];
        for (int i = 0; i < n; i++) squares += (row[i] - sum / n) * (row[i] - sum / n);
        return (input[e] - sum / n) / sqrt(squares / n + 1e-5) * gain[e % n] + shift[e % n];
    }));
}
