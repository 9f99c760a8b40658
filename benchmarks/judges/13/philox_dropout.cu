// Dropout of n numbers: random numbers by a counter (Philox with ten rounds, four at a time) decide
// which ones are kept, and those are scaled; the mask is kept as bytes for the way back.
//
//     nvcc -O2 -o philox_dropout philox_dropout.cu && ./philox_dropout 1000000

#include "../host.h"

__host__ __device__ inline uint4 philox(uint32_t counter, uint32_t seed, uint32_t offset) {
    uint4 c = {counter, 0, offset, 0};
    uint2 key = {seed, 0x5eed};
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)0xd2511f53u * c.x, b = (uint64_t)0xcd9e8d57u * c.z;
        c = {(uint32_t)(b >> 32) ^ c.y ^ key.x, (uint32_t)b, (uint32_t)(a >> 32) ^ c.w ^ key.y,
             (uint32_t)a};
        key = {key.x + 0x9e3779b9u, key.y + 0xbb67ae85u};
    }
    return c;
}

__global__ void dropout(const float4 *__restrict__ in, float4 *__restrict__ out,
                        uchar4 *__restrict__ mask, int quads, uint32_t limit, float scale,
                        uint32_t seed, uint32_t offset) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= quads) return;
    const uint4 random = philox(i, seed, offset);
    const float4 value = in[i];
    const uchar4 kept = {random.x < limit, random.y < limit, random.z < limit, random.w < limit};
    out[i] = {kept.x ? value.x * scale : 0.0f, kept.y ? value.y * scale : 0.0f,
              kept.z ? value.z * scale : 0.0f, kept.w ? value.w * scale : 0.0f};
    mask[i] = kept;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 4096, 1 << 30);
    const int quads = (n + 3) / 4;
    const size_t count = (size_t)quads * 4;
    const std::vector<float> in = quick_values(count, 1);
    const float *d_in = to_device(in);
    float *d_out = device_zeros<float>(count);
    unsigned char *d_mask = device_zeros<unsigned char>(count);
    // Nine of ten are kept.
    const uint32_t limit = 3865470566u, seed = 42, offset = 7;
    const float scale = 1.0f / 0.9f;

    const int threads = 256, blocks = (quads + threads - 1) / threads;
    dropout<<<blocks, threads>>>((const float4 *)d_in, (float4 *)d_out, (uchar4 *)d_mask, quads,
                                 limit, scale, seed, offset);
    finish_launches();

    auto kept = [&](size_t e) {
        const uint4 random = philox((uint32_t)(e / 4), seed, offset);
        const uint32_t words[4] = {random.x, random.y, random.z, random.w};
        return words[e % 4] < limit;
    };
    const double error = sampled_error(from_device(d_mask, count),
                                       [&](size_t e) { return kept(e) ? 1.0 : 0.0; });
    return verdict(fmax(error, sampled_error(from_device(d_out, count), [&](size_t e) {
                            return kept(e) ? in[e] * scale : 0.0f;
                        })));
}
