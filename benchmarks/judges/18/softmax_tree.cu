// Softmax of n rows of 1000 scores, a block per row: maximum and sum by a tree in shared memory.
//
//     nvcc -O2 -o softmax_tree softmax_tree.cu && ./softmax_tree 16384

#include "checksum.h"

#define COLUMNS 1000

__global__ void softmax_rows(const float *__restrict__ scores, float *__restrict__ shares,
                             int columns) {
    extern __shared__ float partial[];
    const float *in = scores + (size_t)blockIdx.x * columns;
    float *out = shares + (size_t)blockIdx.x * columns;
    const int t = threadIdx.x;

    float largest = -INFINITY;
    for (int c = t; c < columns; c += blockDim.x) largest = fmaxf(largest, in[c]);
    partial[t] = largest;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (t < half) partial[t] = fmaxf(partial[t], partial[t + half]);
        __syncthreads();
    }
    largest = partial[0];
    __syncthreads();

    float sum = 0.0f;
    for (int c = t; c < columns; c += blockDim.x) {
        const float e = expf(in[c] - largest);
        out[c] = e;
        sum += e;
    }
    partial[t] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (t < half) partial[t] += partial[t + half];
        __syncthreads();
    }
    const float scale = 1.0f / partial[0];
    for (int c = t; c < columns; c += blockDim.x) out[c] *= scale;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 8, 1000000);
    const size_t count = (size_t)n * COLUMNS;
    std::vector<float> scores = quick_values(count, 1801);
    for (float &score : scores) score = 8.0f * score - 4.0f;
    const float *d_scores = to_device(scores);
    float *d_shares = device_zeros<float>(count);

    const int threads = 256;
    softmax_rows<<<n, threads, threads * sizeof(float)>>>(d_scores, d_shares, COLUMNS);
    finish_launches();

    const std::vector<float> shares = from_device(d_shares, count);
    return report(checksum_of(shares), sampled_error(shares, [&](size_t e) {
        const float *row = scores.data() + e / COLUMNS * COLUMNS;
        double sum = 0.0;
        for (int c = 0; c < COLUMNS; c++) sum += exp((double)row[c]);
        return exp((double)row[e % COLUMNS]) / sum;
    }));
}
