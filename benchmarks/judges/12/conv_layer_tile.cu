// A layer of a convolutional network: 3 x 3 convolution from 16 channels of n x n numbers to 8,
// with a bias and a ramp. A block keeps its part of one channel at a time in dynamic shared memory;
// a thread has all 8 results of a place in registers. Zeros lie outside.
//
//     nvcc -O2 -o conv_layer_tile conv_layer_tile.cu && ./conv_layer_tile 512

#include "../host.h"

#define INPUTS 16
#define OUTPUTS 8

__constant__ float filters[INPUTS * 9 * OUTPUTS];
__constant__ float biases[OUTPUTS];

#pragma cutune kernel conv_layer data(n) block(x: 8, 16, 32, 64, 128, y: 2, 4, 8, 16, 32) \
    where(x * y <= 1024) grid(ceil(n / x), ceil(n / y)) shared(4 * (x + 2) * (y + 2))
__global__ void conv_layer(const float *__restrict__ in, float *__restrict__ out, int n) {
    extern __shared__ float tile[];
    const int pitch = blockDim.x + 2, rows = blockDim.y + 2;
    const int first = blockIdx.x * blockDim.x - 1, top = blockIdx.y * blockDim.y - 1;
    float sums[OUTPUTS];
    for (int o = 0; o < OUTPUTS; o++) sums[o] = biases[o];
    for (int channel = 0; channel < INPUTS; channel++) {
        const float *plane = in + (size_t)channel * n * n;
        for (int r = threadIdx.y; r < rows; r += blockDim.y)
            for (int c = threadIdx.x; c < pitch; c += blockDim.x) {
                const int row = top + r, column = first + c;
                const bool inside = row >= 0 && row < n && column >= 0 && column < n;
                tile[r * pitch + c] = inside ? plane[(size_t)row * n + column] : 0.0f;
            }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 9; k++) {
            const float value = tile[(threadIdx.y + k / 3) * pitch + threadIdx.x + k % 3];
#pragma unroll
            for (int o = 0; o < OUTPUTS; o++)
                sums[o] += value * filters[(channel * 9 + k) * OUTPUTS + o];
        }
        __syncthreads();
    }
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n)
        for (int o = 0; o < OUTPUTS; o++)
            out[((size_t)o * n + y) * n + x] = fmaxf(sums[o], 0.0f);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 32, 8000);
    const size_t plane = (size_t)n * n;
    const std::vector<float> in = quick_values(INPUTS * plane, 1);
    std::vector<float> weights = quick_values(INPUTS * 9 * OUTPUTS, 2);
    const std::vector<float> bias = quick_values(OUTPUTS, 3);
    for (float &weight : weights) weight -= 0.4f;
    const float *d_in = to_device(in);
    float *d_out = device_zeros<float>(OUTPUTS * plane);
    CHECK(cudaMemcpyToSymbol(filters, weights.data(), weights.size() * sizeof(float)));
    CHECK(cudaMemcpyToSymbol(biases, bias.data(), bias.size() * sizeof(float)));

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    size_t shared_bytes = (block.x + 2) * (block.y + 2) * sizeof(float);
    conv_layer<<<grid, block, shared_bytes>>>(d_in, d_out, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, OUTPUTS * plane), [&](size_t e) {
        const int o = (int)(e / plane), y = (int)(e % plane / n), x = (int)(e % n);
        double sum = bias[o];
        for (int channel = 0; channel < INPUTS; channel++)
            for (int k = 0; k < 9; k++) {
                const int row = y + k / 3 - 1, column = x + k % 3 - 1;
                if (row >= 0 && row < n && column >= 0 && column < n)
                    sum += (double)in[channel * plane + (size_t)row * n + column] *
                           weights[(channel * 9 + k) * OUTPUTS + o];
            }
        return fmax(sum, 0.0);
    }));
}
