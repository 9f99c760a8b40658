// Language models: attention scores of 16 heads, n x n halves each, in place. What a query may see
// gets a scale and a bias that falls with the distance, by a slope of the head; the rest is
// hidden.
//
//     nvcc -O2 -o alibi_scores alibi_scores.cu && ./alibi_scores 300

#include <cuda_fp16.h>

#include "checked.h"

constexpr int kHeads = 16;
constexpr float kHidden = -65504.0f;

__global__ void add_alibi(__half *scores, const float *__restrict__ slopes, int tokens,
                          float scale) {
    const int key = blockIdx.x * blockDim.x + threadIdx.x;
    const int query = blockIdx.y;
    const int head = blockIdx.z;
    if (key < tokens) {
        const size_t at = ((size_t)head * tokens + query) * tokens + key;
        if (key > query) {
            scores[at] = __float2half(kHidden);
        } else {
            const float scaled = scale * __half2float(scores[at]);
            scores[at] = __float2half(fmaf(slopes[head], (float)(key - query), scaled));
        }
    }
}

static __half half_of(uint16_t bits) {
    __half_raw raw;
    raw.x = bits;
    return __half(raw);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 30, 7000);
    const size_t count = (size_t)kHeads * n * n;
    std::vector<uint16_t> scores = quick_bits<uint16_t>(count, 3021);
    for (uint16_t &bits : scores) bits = (uint16_t)((bits & 0x8fffu) | 0x3000u);
    std::vector<float> slopes(kHeads);
    for (int h = 0; h < kHeads; h++) slopes[h] = exp2f(-0.5f * (float)(h + 1));
    const float scale = 0.08838835f, *d_slopes = to_device(slopes);
    uint16_t *d_scores = to_device(scores);

    const dim3 grid((n + 127) / 128, n, kHeads);
    add_alibi<<<grid, 128>>>((__half *)d_scores, d_slopes, n, scale);
    finish_launches();

    const std::vector<uint16_t> bits = from_device(d_scores, count);
    double sum = 0.0;
    for (const uint16_t score : bits) sum += __half2float(half_of(score));
    printf("checksum of scores: %.10g\n", sum);
    return verdict(sampled_wrong(count, [&](size_t e) {
        const int key = (int)(e % n), query = (int)(e / n % n);
        const float found = __half2float(half_of(bits[e]));
        if (key > query) return found == kHidden;
        const double wanted = scale * (double)__half2float(half_of(scores[e])) -
                              (double)slopes[e / n / n] * (query - key);
        return fabs(found - wanted) <= 1e-3 * fabs(wanted) + 1e-6;
    }));
}
