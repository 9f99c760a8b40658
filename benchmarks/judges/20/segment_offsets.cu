// Databases: lengths of 2000 strings in each of n pages become the places where they begin. A
// block per page walks along in chunks as large as it is, with prefix sums in shared memory.
//
//     nvcc -O2 -o segment_offsets segment_offsets.cu && ./segment_offsets 1000

#include "../host.h"

#define CHUNK 256
#define STRINGS 2000

__global__ void offsets_of_pages(const int *__restrict__ lengths, int *__restrict__ offsets,
                                 int *__restrict__ sizes) {
    __shared__ int sums[2][CHUNK];
    const size_t page = (size_t)blockIdx.x * STRINGS;
    int before = 0;
    for (int start = 0; start < STRINGS; start += CHUNK) {
        const int i = start + threadIdx.x;
        const int own = i < STRINGS ? lengths[page + i] : 0;
        int side = 0;
        sums[side][threadIdx.x] = own;
        __syncthreads();
        for (int step = 1; step < CHUNK; step *= 2) {
            int sum = sums[side][threadIdx.x];
            if (threadIdx.x >= step) sum += sums[side][threadIdx.x - step];
            side ^= 1;
            sums[side][threadIdx.x] = sum;
            __syncthreads();
        }
        if (i < STRINGS) offsets[page + i] = before + sums[side][threadIdx.x] - own;
        before += sums[side][CHUNK - 1];
        __syncthreads();
    }
    if (threadIdx.x == 0) sizes[blockIdx.x] = before;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 5, 400000);
    const size_t count = (size_t)n * STRINGS;
    std::vector<int> lengths(count);
    for (size_t i = 0; i < count; i++) lengths[i] = (int)(mixed((uint32_t)i + 2221u) >> 26);
    const int *d_lengths = to_device(lengths);
    int *d_offsets = device_zeros<int>(count), *d_sizes = device_zeros<int>(n);

    offsets_of_pages<<<n, CHUNK>>>(d_lengths, d_offsets, d_sizes);
    finish_launches();

    const std::vector<int> offsets = from_device(d_offsets, count), sizes = from_device(d_sizes, n);
    int wrong = 0;
    for (int page = 0; page < n; page += n / 100 + 1) {
        int offset = 0;
        for (int i = 0; i < STRINGS; i++) {
            wrong += offsets[(size_t)page * STRINGS + i] != offset;
            offset += lengths[(size_t)page * STRINGS + i];
        }
        wrong += sizes[page] != offset;
    }
    return verdict(wrong);
}
