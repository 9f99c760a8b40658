// Cross-entropy of n tokens over 50257 logits, a block per token: log of the sum of exponentials
// less the target's logit.
//
//     nvcc -O2 -o cross_entropy cross_entropy.cu && ./cross_entropy 2048

#include "checksum.h"

#define VOCABULARY 50257

__global__ void cross_entropy_forward(const float *__restrict__ logits,
                                      const int *__restrict__ targets, float *__restrict__ losses,
                                      int vocabulary) {
    extern __shared__ float buffer[];
    const float *row = logits + (size_t)blockIdx.x * vocabulary;

    float largest = -3.4e38f;
    for (int v = threadIdx.x; v < vocabulary; v += blockDim.x) largest = fmaxf(largest, row[v]);
    buffer[threadIdx.x] = largest;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            buffer[threadIdx.x] = fmaxf(buffer[threadIdx.x], buffer[threadIdx.x + half]);
    }
    __syncthreads();
    largest = buffer[0];
    __syncthreads();

    float sum = 0.0f;
    for (int v = threadIdx.x; v < vocabulary; v += blockDim.x) sum += expf(row[v] - largest);
    buffer[threadIdx.x] = sum;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) buffer[threadIdx.x] += buffer[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        losses[blockIdx.x] = logf(buffer[0]) + largest - row[targets[blockIdx.x]];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2, 40000);
    const size_t count = (size_t)n * VOCABULARY;
    std::vector<float> logits = quick_values(count, 1820);
    for (float &logit : logits) logit = 12.0f * logit - 6.0f;
    const std::vector<int> targets = fixed_integers(n, VOCABULARY, 1821);
    const float *d_logits = to_device(logits);
    const int *d_targets = to_device(targets);
    float *d_losses = device_zeros<float>(n);

    constexpr int block_size = 1024;
    cross_entropy_forward<<<n, block_size, block_size * sizeof(float)>>>(d_logits, d_targets,
                                                                         d_losses, VOCABULARY);
    finish_launches();

    const std::vector<float> losses = from_device(d_losses, n);
    return report(checksum_of(losses), sampled_error(losses, [&](size_t token) {
        const float *row = logits.data() + token * VOCABULARY;
        double sum = 0.0;
        for (int v = 0; v < VOCABULARY; v++) sum += expf(row[v]);
        return log(sum) - row[targets[token]];
    }));
}
