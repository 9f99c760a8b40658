/* String matching: where a pattern of 12 bases begins in a text of n; hits are flagged and counted.
 * Homework, part 1: brute force, a position per thread.
 *
 *     nvcc -O2 -o find_pattern find_pattern.cu && ./find_pattern 2000000
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "summed.h"

#define PATTERN_LENGTH 12

__constant__ char pattern[PATTERN_LENGTH];

__global__ void naive_match(const char *text, unsigned char *found, int *matches, int n) {
    int pos = blockIdx.x * blockDim.x + threadIdx.x;
    if (pos > n - PATTERN_LENGTH) return;
    int j = 0;
    while (j < PATTERN_LENGTH && text[pos + j] == pattern[j]) j++;
    if (j == PATTERN_LENGTH) {
        found[pos] = 1;
        atomicAdd(matches, 1);
    }
}

int main(int argc, char **argv) {
    int n = size_argument(argc, argv, 5000, 900000000);
    const char *wanted = "ACGTTGACCATG";
    char *text = (char *)malloc((size_t)n);
    for (int i = 0; i < n; i++) text[i] = "ACGT"[mixed((unsigned)i * 7u + 5u) >> 30];
    for (long long i = 100; i + PATTERN_LENGTH <= n; i += 1009)
        memcpy(text + i, wanted, PATTERN_LENGTH);

    char *d_text;
    unsigned char *d_found = device_zeros<unsigned char>(n);
    int *d_matches = device_zeros<int>(1);
    CHECK(cudaMalloc((void **)&d_text, n));
    CHECK(cudaMemcpy(d_text, text, n, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbol(pattern, wanted, PATTERN_LENGTH));

    naive_match<<<(n + 511) / 512, 512>>>(d_text, d_found, d_matches, n);
    finish_launches();

    int matches, expected = 0;
    CHECK(cudaMemcpy(&matches, d_matches, sizeof(int), cudaMemcpyDeviceToHost));
    std::vector<unsigned char> found = from_device(d_found, n);
    say_sum("flags", found);
    for (int i = 0; i + PATTERN_LENGTH <= n; i++)
        expected += text[i] == wanted[0] && memcmp(text + i, wanted, PATTERN_LENGTH) == 0;
    printf("%d matches, %d expected\n", matches, expected);
    free(text);
    return verdict(matches != expected);
}
