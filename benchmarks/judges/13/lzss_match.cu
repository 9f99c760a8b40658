// The search of a compressor: for each of n bytes of a text the longest match of up to 18 bytes
// that begins at one of the 512 bytes before it, a byte per thread, with loops that end where bytes
// differ.
//
//     nvcc -O2 -o lzss_match lzss_match.cu && ./lzss_match 1000000

#include "../host.h"

#define WINDOW 512
#define LONGEST 18

struct Match {
    unsigned short length, distance;
};

__host__ __device__ inline Match best_match(const unsigned char *text, int size, int at) {
    const int reach = at < WINDOW ? at : WINDOW;
    const int limit = size - at < LONGEST ? size - at : LONGEST;
    int best = 0, place = 0;
    for (int distance = 1; distance <= reach; distance++) {
        const unsigned char *before = text + at - distance;
        int length = 0;
        while (length < limit && before[length] == text[at + length]) length++;
        if (length > best) {
            best = length;
            place = distance;
            if (best == limit) break;
        }
    }
    return {(unsigned short)best, (unsigned short)place};
}

__global__ void find_matches(const unsigned char *__restrict__ text, Match *__restrict__ matches,
                             int size) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) matches[i] = best_match(text, size, i);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2000, 1 << 29);
    // Words of 3 to 10 letters, of which there are 256, some of them more frequent.
    std::vector<unsigned char> text(n);
    for (int at = 0, number = 0; at < n; number++) {
        const uint32_t bits = mixed(number);
        const uint32_t word = (bits & 255) * (bits >> 8 & 255) >> 8;
        const int length = 3 + (int)(mixed(word) & 7);
        for (int k = 0; k < length && at < n; k++)
            text[at++] = (unsigned char)('a' + mixed(16 * word + k) % 26);
        if (at < n) text[at++] = ' ';
    }
    const unsigned char *d_text = to_device(text);
    Match *d_matches = device_zeros<Match>(n);

    const int threads = 256, blocks = (n + threads - 1) / threads;
    find_matches<<<blocks, threads>>>(d_text, d_matches, n);
    finish_launches();

    std::vector<int> packed;
    for (const Match &match : from_device(d_matches, n))
        packed.push_back(match.length * 1024 + match.distance);
    return verdict(sampled_error(packed, [&](size_t i) {
        const Match match = best_match(text.data(), n, (int)i);
        return match.length * 1024 + match.distance;
    }));
}
