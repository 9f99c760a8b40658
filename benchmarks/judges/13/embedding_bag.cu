// Recommendation: for each of n bags of 1 to 64 items the mean of their vectors of 128 halves in a
// table of 200000, two numbers per thread.
//
//     nvcc -O2 -o embedding_bag embedding_bag.cu && ./embedding_bag 10000

#include <cuda_fp16.h>

#include "../host.h"

#define ITEMS 200000
#define LENGTH 128

__global__ void embedding_bag(const __half2 *__restrict__ table, const int *__restrict__ items,
                              const int *__restrict__ offsets, __half2 *__restrict__ out, int bags,
                              int pairs) {
    const int pair = blockIdx.x * blockDim.x + threadIdx.x;
    const int bag = blockIdx.y * blockDim.y + threadIdx.y;
    if (pair >= pairs || bag >= bags) return;
    const int begin = offsets[bag], end = offsets[bag + 1];
    float2 sum = {0.0f, 0.0f};
    for (int i = begin; i < end; i++) {
        const float2 value = __half22float2(table[(size_t)items[i] * pairs + pair]);
        sum.x += value.x;
        sum.y += value.y;
    }
    const float factor = 1.0f / (float)(end - begin);
    out[(size_t)bag * pairs + pair] = __floats2half2_rn(sum.x * factor, sum.y * factor);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100, 500000);
    // Halves between 0.5 and 1 or between -1 and -0.5.
    std::vector<__half> table((size_t)ITEMS * LENGTH);
    std::vector<uint16_t> bits = quick_bits<uint16_t>(table.size(), 1);
    for (uint16_t &one : bits) one = (uint16_t)((one & 0x83ff) | 0x3800);
    memcpy((void *)table.data(), bits.data(), table.size() * sizeof(__half));
    std::vector<int> offsets(n + 1);
    for (int bag = 0; bag < n; bag++) offsets[bag + 1] = offsets[bag] + 1 + (int)(mixed(bag) & 63);
    std::vector<int> items(offsets[n]);
    for (size_t i = 0; i < items.size(); i++) {
        // Some items are more frequent than others.
        const uint64_t random = mixed((uint32_t)i + 0x20000000);
        items[i] = (int)((random * random >> 32) * ITEMS >> 32);
    }
    const __half *d_table = to_device(table);
    const int *d_items = to_device(items), *d_offsets = to_device(offsets);
    const size_t count = (size_t)n * LENGTH;
    __half *d_out = device_zeros<__half>(count);

    const int pairs = LENGTH / 2;
    dim3 block(32, 8);
    dim3 grid((pairs + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    embedding_bag<<<grid, block>>>((const __half2 *)d_table, d_items, d_offsets, (__half2 *)d_out,
                                   n, pairs);
    finish_launches();

    const std::vector<__half> halves = from_device(d_out, count);
    const size_t step = count / 1000 + 1;
    std::vector<float> found;
    for (size_t e = 0; e < count; e += step) found.push_back(__half2float(halves[e]));
    return verdict(sampled_error(found, [&](size_t sample) {
        const size_t e = sample * step;
        const int bag = (int)(e / LENGTH), begin = offsets[bag], end = offsets[bag + 1];
        float sum = 0.0f;
        for (int i = begin; i < end; i++)
            sum += __half2float(table[(size_t)items[i] * LENGTH + e % LENGTH]);
        return __half2float(__float2half(sum * (1.0f / (float)(end - begin))));
    }));
}
