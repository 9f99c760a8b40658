// Causal attention scores of n tokens and eight heads of 64 numbers: Q K^T / 8 less a slope times
// the distance (ALiBi). A thread has a query and a key; keys that come later are masked.
//
//     nvcc -O2 -o attention_scores attention_scores.cu && ./attention_scores 512

#include "../host.h"

constexpr int kHeads = 8;
constexpr int kHeadDim = 64;
constexpr float kMasked = -64.0f;

template <int DIM>
__global__ void attention_scores(const float *__restrict__ Q, const float *__restrict__ K,
                                 float *__restrict__ S, int seq_len, float scale) {
    const int key = blockIdx.x * blockDim.x + threadIdx.x;
    const int query = blockIdx.y * blockDim.y + threadIdx.y;
    const int head = blockIdx.z;
    if (key >= seq_len || query >= seq_len) return;

    const size_t out = ((size_t)head * seq_len + query) * seq_len + key;
    if (key > query) {
        S[out] = kMasked;
        return;
    }
    const float4 *q = reinterpret_cast<const float4 *>(Q + ((size_t)head * seq_len + query) * DIM);
    const float4 *k = reinterpret_cast<const float4 *>(K + ((size_t)head * seq_len + key) * DIM);
    float dot = 0.0f;
    for (int d = 0; d < DIM / 4; d++) {
        const float4 a = q[d], b = k[d];
        dot += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    const float slope = exp2f(-(float)(head + 1));
    S[out] = fmaxf(dot * scale - slope * (query - key), kMasked);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 16384);
    const size_t inputs = (size_t)kHeads * n * kHeadDim, outputs = (size_t)kHeads * n * n;
    const float scale = 0.125f;
    const std::vector<float> Q = quick_values(inputs, 1), K = quick_values(inputs, 2);
    const float *d_Q = to_device(Q), *d_K = to_device(K);
    float *d_S = device_zeros<float>(outputs);

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y, kHeads);
    attention_scores<kHeadDim><<<grid, block>>>(d_Q, d_K, d_S, n, scale);
    finish_launches();

    return verdict(sampled_error(from_device(d_S, outputs), [&](size_t e) {
        const size_t key = e % n, query = e / n % n, head = e / n / n;
        if (key > query) return kMasked;
        float dot = 0.0f;
        for (size_t d = 0; d < kHeadDim; d++)
            dot += Q[(head * n + query) * kHeadDim + d] * K[(head * n + key) * kHeadDim + d];
        const float bias = exp2f(-(float)(head + 1)) * (float)(query - key);
        return fmaxf(dot * scale - bias, kMasked);
    }));
}
