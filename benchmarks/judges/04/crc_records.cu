// The CRC-32 of n records of 64 bytes, a record per thread, bit by bit.
//
//     nvcc -O2 -o crc_records crc_records.cu && ./crc_records 100000

#include "../judge.h"

#define WORDS 16

__host__ __device__ inline unsigned crc_of_record(const unsigned *record) {
    unsigned crc = ~0u;
    for (int w = 0; w < WORDS; w++) {
        crc ^= record[w];
        for (int bit = 0; bit < 32; bit++) crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1)));
    }
    return ~crc;
}

__global__ void crc_records(int n, const unsigned *records, unsigned *crcs) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) crcs[i] = crc_of_record(records + i * WORDS);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2000, 1 << 26);
    std::vector<unsigned> records((size_t)n * WORDS);
    std::mt19937 generator(1);
    for (unsigned &word : records) word = (unsigned)generator();
    const unsigned *device_records = to_device(records);
    unsigned *device_crcs = to_device(std::vector<unsigned>(n));

    const unsigned block = 256;
    const unsigned blocks = blocks_for(n, block);
    crc_records<<<blocks, block>>>(n, device_records, device_crcs);
    finish_launches();

    return verdict(sampled_error(from_device(device_crcs, n),
                                 [&](size_t i) { return crc_of_record(&records[i * WORDS]); }));
}
