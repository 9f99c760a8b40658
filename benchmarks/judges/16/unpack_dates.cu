// Databases: a column of n dates, packed as numbers of 13 bits, which a dictionary of 8192 entries
// turns into days. There are at most two blocks per multiprocessor of an H200, so that a thread
// takes every 67584th row.
//
//     nvcc -O2 -o unpack_dates unpack_dates.cu && ./unpack_dates 2000000

#include "../host.h"

#define BITS 13
#define ENTRIES (1 << BITS)

__host__ __device__ inline unsigned packed_number(const unsigned *words, int row) {
    const unsigned long long bit = (unsigned long long)row * BITS;
    const unsigned *word = words + (bit >> 5);
    const unsigned long long both = (unsigned long long)word[1] << 32 | word[0];
    return (unsigned)(both >> (bit & 31)) & (ENTRIES - 1);
}

__global__ void unpack(const unsigned *__restrict__ words, const int *__restrict__ dictionary,
                       int *__restrict__ days, int n) {
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        days[i] = dictionary[packed_number(words, i)];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1500000000);
    const size_t count = (size_t)n * BITS / 32 + 2;
    const std::vector<unsigned> words = quick_bits<unsigned>(count, 1604);
    std::vector<int> dictionary(ENTRIES);
    for (int i = 0; i < ENTRIES; i++) dictionary[i] = 3 * i + (int)(mixed(i) % 3);
    const unsigned *d_words = to_device(words);
    const int *d_dictionary = to_device(dictionary);
    int *d_days = device_zeros<int>(n);

    const int threads = 256;
    const int most = 264;
    int blocks = (n + threads - 1) / threads;
    if (blocks > most) blocks = most;
    unpack<<<blocks, threads>>>(d_words, d_dictionary, d_days, n);
    finish_launches();

    const std::vector<int> days = from_device(d_days, n);
    return verdict(sampled_error(days, [&](size_t row) {
        return dictionary[packed_number(words.data(), (int)row)];
    }));
}
