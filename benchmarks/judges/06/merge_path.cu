// Merges two sorted arrays, of n and of 3/4 n numbers: a step of merge sort. A thread finds by
// bisection where its eight numbers begin in both, and takes them one after the other.
//
//     nvcc -O2 -o merge_path merge_path.cu && ./merge_path 1000000

#include <algorithm>

#include "../host.h"

#define PER_THREAD 8

__global__ void merge_path(const int *a, int a_count, const int *b, int b_count, int *merged,
                           int threads) {
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= threads) return;

    int diagonal = tid * PER_THREAD;
    int low = max(0, diagonal - b_count), high = min(diagonal, a_count);
    while (low < high) {
        int middle = (low + high) / 2;
        if (a[middle] <= b[diagonal - 1 - middle])
            low = middle + 1;
        else
            high = middle;
    }
    int i = low, j = diagonal - low;
    int end = min(diagonal + PER_THREAD, a_count + b_count);
    for (int at = diagonal; at < end; at++) {
        if (j >= b_count || (i < a_count && a[i] <= b[j]))
            merged[at] = a[i++];
        else
            merged[at] = b[j++];
    }
}

static std::vector<int> sorted_numbers(size_t count, uint32_t seed, uint32_t most) {
    std::vector<int> numbers(count);
    int number = 0;
    for (size_t i = 0; i < count; i++) {
        number += (int)(mixed(seed + (uint32_t)i) % most);
        numbers[i] = number;
    }
    return numbers;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 5000, 1 << 28);
    const std::vector<int> a = sorted_numbers(n, 1, 7), b = sorted_numbers(n / 4 * 3, 1u << 30, 9);
    const size_t count = a.size() + b.size();
    const int *d_a = to_device(a), *d_b = to_device(b);
    int *d_merged = device_zeros<int>(count);

    const int threads = (int)((count + PER_THREAD - 1) / PER_THREAD);
    dim3 block(256);
    dim3 grid((threads + block.x - 1) / block.x);
    merge_path<<<grid, block>>>(d_a, (int)a.size(), d_b, (int)b.size(), d_merged, threads);
    finish_launches();

    std::vector<int> expected(count);
    std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin());
    return verdict(from_device(d_merged, count) == expected ? 0.0 : 1.0);
}
