// How many letters must change to make a word of 24 letters from each of n others of 32 letters:
// the rows of a table, one after the other, in each thread's registers.
//
//     nvcc -O2 -o edit_distance edit_distance.cu && ./edit_distance 100000

#include "../judge.h"

#define LETTERS 24
#define LENGTH 32

__constant__ char wanted[LETTERS];

__host__ __device__ inline int least(int a, int b, int c) {
    const int smaller = a < b ? a : b;
    return smaller < c ? smaller : c;
}

__host__ __device__ inline int distance_from(const char *query, const char *word) {
    int row[LETTERS + 1];
#pragma unroll
    for (int j = 0; j <= LETTERS; j++) row[j] = j;
    for (int i = 0; i < LENGTH; i++) {
        const char letter = word[i];
        int diagonal = row[0];
        row[0] = i + 1;
#pragma unroll
        for (int j = 1; j <= LETTERS; j++) {
            const int change = diagonal + (letter != query[j - 1]);
            diagonal = row[j];
            row[j] = least(change, row[j] + 1, row[j - 1] + 1);
        }
    }
    return row[LETTERS];
}

__global__ void edit_distance(int n, const char *words, int *distances) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) distances[i] = distance_from(wanted, words + i * LENGTH);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 1 << 26);
    const std::vector<int> numbers = fixed_integers((size_t)n * LENGTH, 4, 1);
    const std::vector<char> words(numbers.begin(), numbers.end());
    const std::vector<int> letters = fixed_integers(LETTERS, 4, 2);
    const std::vector<char> query(letters.begin(), letters.end());
    CHECK(cudaMemcpyToSymbol(wanted, query.data(), LETTERS));
    const char *device_words = to_device(words);
    int *device_distances = to_device(std::vector<int>(n));

    const int threads = 128;
    const int blocks = (n + threads - 1) / threads;
    edit_distance<<<blocks, threads>>>(n, device_words, device_distances);
    finish_launches();

    return verdict(sampled_error(from_device(device_distances, n), [&](size_t i) {
        return distance_from(query.data(), &words[i * LENGTH]);
    }));
}
