// Caches: n counters of 16 bits grow where there was a hit and fade elsewhere; the last hits stay.
//
//     nvcc -O2 -o age_counters age_counters.cu && ./age_counters 1000000

#include "checksum.h"

__global__ void age(short *counters, int *last_hit, const unsigned char *hits, int now, int n) {
    int slot = blockIdx.x * blockDim.x + threadIdx.x;
    if (slot < n) {
        short c = counters[slot];
        bool hit = hits[slot] != 0;
        counters[slot] = hit ? (c < 32000 ? c + 256 : c) : c - (c >> 4);
        last_hit[slot] = hit ? now : last_hit[slot];
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 3000, 200000000);
    std::vector<short> counters = quick_bits<short>(n, 2271);
    for (short &counter : counters) counter &= 0x7fff;
    std::vector<uint8_t> hits = quick_bits<uint8_t>(n, 2272);
    for (uint8_t &hit : hits) hit = hit < 60 ? hit : 0;
    const std::vector<int> last(n, 3);
    short *d_counters = to_device(counters);
    int *d_last = to_device(last);
    const uint8_t *d_hits = to_device(hits);

    age<<<(n + 63) / 64, 64>>>(d_counters, d_last, d_hits, 17, n);
    finish_launches();

    const std::vector<short> after = from_device(d_counters, n);
    const std::vector<int> last_hit = from_device(d_last, n);
    print_checksum("counters", after);
    print_checksum("last_hit", last_hit);
    const double error = sampled_error(last_hit, [&](size_t e) { return hits[e] ? 17 : 3; });
    return verdict(fmax(error, sampled_error(after, [&](size_t e) {
                            const int c = counters[e];
                            return hits[e] ? (c < 32000 ? c + 256 : c) : c - (c >> 4);
                        })));
}
