// Neural networks: a layer of n outputs for n inputs of 512 numbers, as a product with tiles in
// shared memory; then a bias and the activation GELU.
//
//     nvcc -O2 -o product_gelu product_gelu.cu && ./product_gelu 256

#include "../host.h"

#define TILE 16
#define INNER 512

__host__ __device__ inline float gelu(float x) {
    return 0.5f * x * (1.0f + tanhf(0.7978846f * (x + 0.044715f * x * x * x)));
}

__global__ void layer(const float *inputs, const float *weights, const float *biases,
                      float *outputs, int rows, int columns) {
    __shared__ float left[TILE][TILE];
    __shared__ float right[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int start = 0; start < INNER; start += TILE) {
        const int across = start + threadIdx.x, down = start + threadIdx.y;
        left[threadIdx.y][threadIdx.x] =
            row < rows && across < INNER ? inputs[row * INNER + across] : 0.0f;
        right[threadIdx.y][threadIdx.x] =
            column < columns && down < INNER ? weights[(size_t)down * columns + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    if (row < rows && column < columns)
        outputs[(size_t)row * columns + column] = gelu(sum + biases[column]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 16000);
    const size_t count = (size_t)n * n;
    std::vector<float> inputs = quick_values((size_t)n * INNER, 2181);
    std::vector<float> weights = quick_values((size_t)n * INNER, 2182);
    for (float &input : inputs) input -= 0.4f;
    for (float &weight : weights) weight = 0.3f * weight - 0.1f;
    const std::vector<float> biases = quick_values(n, 2183);
    const float *d_inputs = to_device(inputs), *d_weights = to_device(weights);
    const float *d_biases = to_device(biases);
    float *d_outputs = device_zeros<float>(count);

    dim3 block(TILE, TILE);
    dim3 grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
    layer<<<grid, block>>>(d_inputs, d_weights, d_biases, d_outputs, n, n);
    finish_launches();

    const std::vector<float> outputs = from_device(d_outputs, count);
    return verdict(sampled_error(outputs, [&](size_t e) {
        const size_t row = e / n, column = e % n;
        float sum = 0.0f;
        for (size_t k = 0; k < INNER; k++) sum += inputs[row * INNER + k] * weights[k * n + column];
        return gelu(sum + biases[column]);
    }));
}
