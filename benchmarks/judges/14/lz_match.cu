// Compression: the longest earlier match for each of n places of a text, as Deflate looks for it,
// along a chain of places with the same first three bytes.
//
//     nvcc -O2 -o lz_match lz_match.cu && ./lz_match 1000000

#include "../host.h"

#define WINDOW 32768
#define LONGEST 64
#define TRIES 8

// Length and distance of the match: 0 where there is none of at least three bytes.
__host__ __device__ inline unsigned longest_match(const unsigned char *text, const int *earlier,
                                                  int at, int n) {
    const int most = n - at < LONGEST ? n - at : LONGEST;
    int best = 2, distance = 0;
    int candidate = earlier[at];
    for (int tries = 0; tries < TRIES; tries++) {
        if (candidate < 0 || at - candidate >= WINDOW || best >= most) break;
        if (text[candidate + best] == text[at + best]) {
            int length = 0;
            while (length < most && text[candidate + length] == text[at + length]) length++;
            if (length > best) {
                best = length;
                distance = at - candidate;
            }
        }
        candidate = earlier[candidate];
    }
    return distance ? (unsigned)best << 16 | (unsigned)distance : 0;
}

__global__ void find_matches(const unsigned char *__restrict__ text,
                             const int *__restrict__ earlier, unsigned *__restrict__ matches,
                             int n) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) matches[at] = longest_match(text, earlier, at, n);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2000, 100000000);
    // Words of two to nine letters out of 4096, some much more frequent than others.
    std::vector<unsigned char> text(n);
    uint32_t count = 0;
    for (int at = 0; at < n; count++) {
        const uint32_t bits = mixed(count + 111u), word = bits % 4096 & (bits >> 12);
        const int letters = 2 + (int)(mixed(word) % 8);
        for (int k = 0; k < letters && at < n; k++)
            text[at++] = (unsigned char)('a' + mixed(word * 16 + k) % 26);
        if (at < n) text[at++] = ' ';
    }
    std::vector<int> earlier(n, -1), last(1 << 16, -1);
    for (int at = 0; at + 2 < n; at++) {
        int &head =
            last[mixed(text[at] | text[at + 1] << 8 | (uint32_t)text[at + 2] << 16) & 65535];
        earlier[at] = head;
        head = at;
    }
    const unsigned char *d_text = to_device(text);
    const int *d_earlier = to_device(earlier);
    unsigned *d_matches = device_zeros<unsigned>(n);

    const int threads = 128;
    find_matches<<<(n + threads - 1) / threads, threads>>>(d_text, d_earlier, d_matches, n);
    finish_launches();

    const std::vector<unsigned> matches = from_device(d_matches, n);
    return verdict(sampled_error(matches, [&](size_t at) {
        return longest_match(text.data(), earlier.data(), (int)at, n);
    }));
}
