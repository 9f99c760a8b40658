// Softmax of n rows of 512 scores, a block of 128 threads per row, trees of a constant size.
//
//     nvcc -O2 -o softmax_fixed softmax_fixed.cu && ./softmax_fixed 16384

#include "../host.h"

#define THREADS 128
#define COLUMNS 512
#define EACH (COLUMNS / THREADS)

__global__ void softmax(const float *scores, float *shares, int rows) {
    __shared__ float part[THREADS];
    const int t = threadIdx.x;
    const float *in = scores + (size_t)blockIdx.x * COLUMNS;
    float own[EACH], largest = -INFINITY, sum = 0.0f;
    for (int j = 0; j < EACH; j++) {
        own[j] = in[j * THREADS + t];
        largest = fmaxf(largest, own[j]);
    }
    part[t] = largest;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) part[t] = fmaxf(part[t], part[t + half]);
        __syncthreads();
    }
    largest = part[0];
    __syncthreads();
    for (int j = 0; j < EACH; j++) {
        own[j] = expf(own[j] - largest);
        sum += own[j];
    }
    part[t] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    const float scale = 1.0f / part[0];
    for (int j = 0; j < EACH; j++)
        shares[(size_t)blockIdx.x * COLUMNS + j * THREADS + t] = own[j] * scale;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 16, 200000);
    const size_t count = (size_t)n * COLUMNS;
    std::vector<float> scores = quick_values(count, 1919);
    for (float &score : scores) score = 8.0f * score - 4.0f;
    const float *d_scores = to_device(scores);
    float *d_shares = device_zeros<float>(count);

    softmax<<<n, THREADS>>>(d_scores, d_shares, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_shares, count), [&](size_t e) {
        const float *row = scores.data() + e / COLUMNS * COLUMNS;
        double sum = 0.0;
        for (int c = 0; c < COLUMNS; c++) sum += exp((double)row[c]);
        return exp((double)row[e % COLUMNS]) / sum;
    }));
}
