// The last phase of a bitonic sort of keys with values: the largest power of two of them that is
// not above n, first up, then down, is sorted by a launch per distance. Half of the threads of each
// launch compare, and exchange where they must.
//
//     nvcc -O2 -o bitonic_merge bitonic_merge.cu && ./bitonic_merge 1048576

#include "../host.h"

__global__ void bitonic_step(uint32_t *keys, uint32_t *values, int count, int distance) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        const int partner = i ^ distance;
        if (partner > i) {
            const uint32_t a = keys[i], b = keys[partner];
            if (a > b) {
                const uint32_t value = values[i];
                keys[i] = b;
                keys[partner] = a;
                values[i] = values[partner];
                values[partner] = value;
            }
        }
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1024, 1 << 29);
    int count = 1;
    while (count <= n / 2) count *= 2;
    std::vector<uint32_t> keys(count), values(count);
    for (int i = 0; i < count; i++) {
        keys[i] = i < count / 2 ? 2 * i : 2 * (count - 1 - i) + 1;
        values[i] = mixed(keys[i]) >> 8;
    }
    uint32_t *d_keys = to_device(keys), *d_values = to_device(values);

    const int threads = 256, blocks = (count + threads - 1) / threads;
    for (int distance = count / 2; distance > 0; distance /= 2)
        bitonic_step<<<blocks, threads>>>(d_keys, d_values, count, distance);
    finish_launches();

    const double error =
        sampled_error(from_device(d_keys, count), [&](size_t i) { return (double)i; });
    return verdict(fmax(error, sampled_error(from_device(d_values, count), [&](size_t i) {
                            return mixed((uint32_t)i) >> 8;
                        })));
}
