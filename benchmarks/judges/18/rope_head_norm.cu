// Queries of n tokens with 32 heads of 128: each head's vector is RMS-normalised by a warp, then a
// thread per pair rotates by the token's position in a sequence of 4096, from tables.
//
//     nvcc -O2 -o rope_head_norm rope_head_norm.cu && ./rope_head_norm 8192

#include "checksum.h"

#define HEADS 32
#define WIDTH 128
#define PAIRS (WIDTH / 2)
#define SEQUENCE 4096

__global__ void head_norm(const float *__restrict__ queries, const float *__restrict__ gain,
                          float *__restrict__ normed, int vectors) {
    const int vector = blockIdx.x * blockDim.y + threadIdx.y;
    if (vector >= vectors) return;
    const float4 *in = (const float4 *)(queries + (size_t)vector * WIDTH);
    const float4 v = in[threadIdx.x], g = ((const float4 *)gain)[threadIdx.x];
    float sum = v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    for (int offset = 16; offset > 0; offset >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    const float scale = rsqrtf(sum / WIDTH + 1e-6f);
    ((float4 *)(normed + (size_t)vector * WIDTH))[threadIdx.x] =
        make_float4(v.x * scale * g.x, v.y * scale * g.y, v.z * scale * g.z, v.w * scale * g.w);
}

__global__ void rope(float *__restrict__ queries, const float *__restrict__ cosines,
                     const float *__restrict__ sines, int pairs) {
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= pairs) return;
    const int pair = index % PAIRS, vector = index / PAIRS;
    const int position = vector / HEADS % SEQUENCE;
    const float c = cosines[position * PAIRS + pair], s = sines[position * PAIRS + pair];
    float *first = queries + (size_t)vector * WIDTH + pair;
    const float a = first[0], b = first[PAIRS];
    first[0] = a * c - b * s;
    first[PAIRS] = b * c + a * s;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 4, 500000);
    const size_t count = (size_t)n * HEADS * WIDTH;
    std::vector<float> queries = quick_values(count, 1838);
    for (float &query : queries) query -= 0.4f;
    const std::vector<float> gain = quick_values(WIDTH, 1839);
    std::vector<float> cosines(SEQUENCE * PAIRS), sines(SEQUENCE * PAIRS);
    for (int i = 0; i < SEQUENCE * PAIRS; i++) {
        const double angle = i / PAIRS * pow(10000.0, -(double)(i % PAIRS) / PAIRS);
        cosines[i] = (float)cos(angle);
        sines[i] = (float)sin(angle);
    }
    const float *d_queries = to_device(queries), *d_gain = to_device(gain);
    const float *d_cosines = to_device(cosines), *d_sines = to_device(sines);
    float *d_normed = device_zeros<float>(count);

    const int vectors = n * HEADS, pairs = vectors * PAIRS;
    dim3 block(32, 4);
    head_norm<<<(vectors + block.y - 1) / block.y, block>>>(d_queries, d_gain, d_normed, vectors);
    rope<<<(pairs + 255) / 256, 256>>>(d_normed, d_cosines, d_sines, pairs);
    finish_launches();

    const std::vector<float> turned = from_device(d_normed, count);
    return report(checksum_of(turned), sampled_error(turned, [&](size_t e) {
        const float *vector = queries.data() + e / WIDTH * WIDTH;
        double sum = 0.0;
        for (int c = 0; c < WIDTH; c++) sum += (double)vector[c] * vector[c];
        const double scale = 1.0 / sqrt(sum / WIDTH + 1e-6);
        const size_t pair = e % PAIRS, at = e / WIDTH / HEADS % SEQUENCE * PAIRS + pair;
        const double a = vector[pair] * scale * gain[pair], c = cosines[at], s = sines[at];
        const double b = vector[pair + PAIRS] * scale * gain[pair + PAIRS];
        return e % WIDTH < PAIRS ? a * c - b * s : b * c + a * s;
    }));
}
