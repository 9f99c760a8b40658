// Cosine similarity of n pairs of embeddings of 384 floats, a warp per pair in blocks of 32 x 4.
//
//     nvcc -O2 -o cosine_pairs cosine_pairs.cu && ./cosine_pairs 100000

#include "checksum.h"

#define WIDTH 384

__device__ __forceinline__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_down_sync(0xffffffffu, v, offset);
    return v;
}

__global__ void cosine(const float *__restrict__ a, const float *__restrict__ b,
                       float *__restrict__ similarity, int pairs, int width) {
    const int pair = blockIdx.x * blockDim.y + threadIdx.y;
    if (pair >= pairs) return;
    const float *left = a + (size_t)pair * width, *right = b + (size_t)pair * width;
    float product = 0.0f, left_square = 0.0f, right_square = 0.0f;
    for (int c = threadIdx.x; c < width; c += 32) {
        const float l = left[c], r = right[c];
        product += l * r;
        left_square += l * l;
        right_square += r * r;
    }
    product = warp_sum(product);
    left_square = warp_sum(left_square);
    right_square = warp_sum(right_square);
    if (threadIdx.x == 0)
        similarity[pair] = product * rsqrtf(fmaxf(left_square * right_square, 1e-12f));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 4000000);
    const size_t count = (size_t)n * WIDTH;
    const std::vector<float> a = quick_values(count, 1818);
    std::vector<float> b = quick_values(count, 1819);
    for (size_t i = 0; i < count; i++) b[i] -= 0.1f * (float)(i / WIDTH % 4);
    const float *d_a = to_device(a), *d_b = to_device(b);
    float *d_similarity = device_zeros<float>(n);

    dim3 block(32, 4);
    cosine<<<(n + block.y - 1) / block.y, block>>>(d_a, d_b, d_similarity, n, WIDTH);
    finish_launches();

    const std::vector<float> similarity = from_device(d_similarity, n);
    return report(checksum_of(similarity), sampled_error(similarity, [&](size_t pair) {
        double product = 0.0, left = 0.0, right = 0.0;
        for (size_t i = pair * WIDTH; i < (pair + 1) * WIDTH; i++) {
            product += (double)a[i] * b[i];
            left += (double)a[i] * a[i];
            right += (double)b[i] * b[i];
        }
        return product / sqrt(left * right);
    }));
}
