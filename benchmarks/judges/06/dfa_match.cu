// How often a pattern occurs in n letters of a genome: a thread leads an automaton, whose table is
// in memory, over 64 letters and over as many before them as a match may reach back.
//
//     nvcc -O2 -o dfa_match dfa_match.cu && ./dfa_match 1000000

#include "../host.h"

#define CHUNK 64
#define LENGTH 6

__global__ void dfa_match(const unsigned char *text, int letters, const unsigned char *next,
                          unsigned char *matches, int chunks) {
    int chunk = blockIdx.x * blockDim.x + threadIdx.x;
    if (chunk >= chunks) return;

    int first = chunk * CHUNK, last = first + CHUNK;
    if (last > letters) last = letters;
    int state = 0, count = 0;
    for (int i = first < LENGTH ? 0 : first - (LENGTH - 1); i < last; i++) {
        state = next[state * 4 + (text[i] >> 1 & 3)];
        if (state == LENGTH && i >= first) count++;
    }
    matches[chunk] = (unsigned char)count;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 30);
    const int chunks = (n + CHUNK - 1) / CHUNK;
    const char *alphabet = "ACTG", *pattern = "ACAACA";  // bits 1 and 2 of a letter number it
    std::vector<unsigned char> text = quick_bits<unsigned char>(n, 1);
    // A is more frequent than the others.
    for (unsigned char &letter : text) letter = alphabet[letter < 100 ? 0 : letter % 4];

    // From each state, the longest beginning of the pattern that what was read ends in.
    std::vector<unsigned char> next((LENGTH + 1) * 4);
    for (int state = 0; state <= LENGTH; state++)
        for (int letter = 0; letter < 4; letter++) {
            std::vector<char> read(pattern, pattern + state);
            read.push_back(alphabet[letter]);
            int longest = state < LENGTH ? state + 1 : LENGTH;
            while (memcmp(read.data() + read.size() - longest, pattern, longest) != 0) longest--;
            next[state * 4 + letter] = (unsigned char)longest;
        }
    const unsigned char *d_text = to_device(text), *d_next = to_device(next);
    unsigned char *d_matches = device_zeros<unsigned char>(chunks);

    dim3 block(256);
    dim3 grid((chunks + block.x - 1) / block.x);
    dfa_match<<<grid, block>>>(d_text, n, d_next, d_matches, chunks);
    finish_launches();

    return verdict(sampled_error(from_device(d_matches, chunks), [&](size_t chunk) {
        int count = 0;
        for (int i = (int)chunk * CHUNK; i < n && i < ((int)chunk + 1) * CHUNK; i++)
            if (i >= LENGTH - 1 && memcmp(&text[i - LENGTH + 1], pattern, LENGTH) == 0) count++;
        return count;
    }));
}
