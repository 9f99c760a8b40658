// Decoding of n pages of 4096 numbers, each stored as the difference from the one before in a
// signed byte. A block has a page: every thread adds up a piece, a scan up and down a tree in
// shared memory says where the pieces begin, and the threads write the numbers.
//
//     nvcc -O2 -o delta_decode delta_decode.cu && ./delta_decode 1000

#include "../host.h"

#define PAGE 4096

#pragma cutune kernel delta_decode data(pages) block(x: 32, 64, 128, 256, 512, 1024) grid(keep) \
    shared(4 * x)
__global__ void delta_decode(int pages, const signed char *deltas, const int *first, int *numbers) {
    extern __shared__ int sums[];
    const int page = blockIdx.x;
    if (page >= pages) return;
    const int t = threadIdx.x, threads = blockDim.x, piece = PAGE / threads;
    const size_t start = (size_t)page * PAGE + t * piece;
    int own = 0;
    for (int i = 0; i < piece; i++) own += deltas[start + i];
    sums[t] = own;

    int reach = 1;
    for (int active = threads / 2; active > 0; active /= 2) {
        __syncthreads();
        if (t < active) {
            const int left = reach * (2 * t + 1) - 1, right = reach * (2 * t + 2) - 1;
            sums[right] += sums[left];
        }
        reach *= 2;
    }
    if (t == 0) sums[threads - 1] = 0;
    for (int active = 1; active < threads; active *= 2) {
        reach /= 2;
        __syncthreads();
        if (t < active) {
            const int left = reach * (2 * t + 1) - 1, right = reach * (2 * t + 2) - 1;
            const int kept = sums[left];
            sums[left] = sums[right];
            sums[right] += kept;
        }
    }
    __syncthreads();

    int number = first[page] + sums[t];
    for (int i = 0; i < piece; i++) {
        number += deltas[start + i];
        numbers[start + i] = number;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10, 1 << 20);
    const size_t count = (size_t)n * PAGE;
    const std::vector<signed char> deltas = quick_bits<signed char>(count, 1);
    const std::vector<int> first = fixed_integers(n, 1000, 2);
    const signed char *d_deltas = to_device(deltas);
    const int *d_first = to_device(first);
    int *d_numbers = device_zeros<int>(count);

    const int threads = 256;
    delta_decode<<<n, threads, threads * sizeof(int)>>>(n, d_deltas, d_first, d_numbers);
    finish_launches();

    return verdict(sampled_error(from_device(d_numbers, count), [&](size_t e) {
        int number = first[e / PAGE];
        for (size_t i = e / PAGE * PAGE; i <= e; i++) number += deltas[i];
        return number;
    }));
}
