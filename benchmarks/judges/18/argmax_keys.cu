// Greedy decoding of n sequences over 32000 logits of few distinct values, a block per sequence:
// the largest logit, of equal ones the first, as the maximum of 64-bit keys.
//
//     nvcc -O2 -o argmax_keys argmax_keys.cu && ./argmax_keys 2048

#include "checksum.h"

#define VOCABULARY 32000

typedef unsigned long long Key;

// Larger for larger logits, and for smaller indices among equal ones.
__device__ Key key_of(float logit, int index) {
    unsigned bits = __float_as_uint(logit);
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return (Key)bits << 32 | ~(unsigned)index;
}

__device__ Key warp_max(Key key) {
    for (int offset = 16; offset > 0; offset >>= 1) {
        const Key other = __shfl_down_sync(0xffffffffu, key, offset);
        if (other > key) key = other;
    }
    return key;
}

__global__ void argmax_rows(const float *__restrict__ logits, int *__restrict__ tokens,
                            int vocabulary) {
    __shared__ Key slots[32];
    const float *row = logits + (size_t)blockIdx.x * vocabulary;
    Key best = 0;
    for (int v = threadIdx.x; v < vocabulary; v += blockDim.x) best = max(best, key_of(row[v], v));
    best = warp_max(best);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) slots[warp] = best;
    __syncthreads();
    if (warp == 0) {
        best = warp_max(lane < blockDim.x / 32 ? slots[lane] : 0);
        if (lane == 0) tokens[blockIdx.x] = (int)~(unsigned)best;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 3, 60000);
    const size_t count = (size_t)n * VOCABULARY;
    std::vector<float> logits = quick_values(count, 1837);
    for (float &logit : logits) logit = (float)(int)(logit * 4096.0f) * 0.01f - 25.0f;
    const float *d_logits = to_device(logits);
    int *d_tokens = device_zeros<int>(n);

    argmax_rows<<<n, 512>>>(d_logits, d_tokens, VOCABULARY);
    finish_launches();

    const std::vector<int> tokens = from_device(d_tokens, n);
    unsigned long long checksum = 0;
    bool pass = true;
    for (int s = 0; s < n; s++) {
        checksum += (unsigned long long)tokens[s] * (1 + s % 13);
        if (s % (n / 1000 + 1) != 0 && s != n - 1) continue;
        const float *row = logits.data() + (size_t)s * VOCABULARY;
        int wanted = 0;
        for (int v = 1; v < VOCABULARY; v++)
            if (row[v] > row[wanted]) wanted = v;
        pass = pass && tokens[s] == wanted;
    }
    return report_exact(checksum, pass);
}
