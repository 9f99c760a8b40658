// A matrix with two entries in each group of four, n x 256, times a dense one, 256 x (n / 2 + 3).
// The places of the entries are packed: four bits for a group, a word for 32 columns.
//
//     nvcc -O2 -o spmm_24 spmm_24.cu && ./spmm_24 1000

#include "../host.h"

#define DEPTH 256

__global__ void spmm_24(const float2 *__restrict__ entries, const unsigned *__restrict__ places,
                        const float *__restrict__ dense, float *__restrict__ product, int rows,
                        int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || column >= columns) return;
    float sum = 0.0f;
    for (int word = 0; word < DEPTH / 32; word++) {
        unsigned bits = places[row * (DEPTH / 32) + word];
        for (int group = 8 * word; group < 8 * word + 8; group++) {
            const float2 pair = entries[row * (DEPTH / 4) + group];
            const int first = 4 * group + (int)(bits & 3u);
            const int second = 4 * group + (int)(bits >> 2 & 3u);
            sum += pair.x * dense[first * columns + column];
            sum += pair.y * dense[second * columns + column];
            bits >>= 4;
        }
    }
    product[row * columns + column] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 40000);
    const int rows = n, columns = n / 2 + 3;
    const size_t count = (size_t)rows * columns;
    const std::vector<float> entries = quick_values((size_t)rows * DEPTH / 2, 1);
    const std::vector<float> dense = quick_values((size_t)DEPTH * columns, 2);
    const unsigned choices[6] = {4, 8, 12, 9, 13, 14};  // the lower place in the lower two bits
    std::vector<unsigned> places((size_t)rows * DEPTH / 32);
    for (size_t word = 0; word < places.size(); word++)
        for (uint32_t group = 0; group < 8; group++)
            places[word] |= choices[mixed((uint32_t)word * 8 + group) % 6] << 4 * group;
    const float2 *d_entries = (const float2 *)to_device(entries);
    const unsigned *d_places = to_device(places);
    const float *d_dense = to_device(dense);
    float *d_product = device_zeros<float>(count);

    dim3 block(32, 8);
    dim3 grid((columns + block.x - 1) / block.x, (rows + block.y - 1) / block.y);
    spmm_24<<<grid, block>>>(d_entries, d_places, d_dense, d_product, rows, columns);
    finish_launches();

    return verdict(sampled_error(from_device(d_product, count), [&](size_t e) {
        const size_t row = e / columns, column = e % columns;
        double sum = 0.0;
        for (size_t i = 0; i < DEPTH / 2; i++) {
            const unsigned word = places[row * (DEPTH / 32) + i / 16];
            const size_t place = i / 2 * 4 + (word >> 2 * (i % 16) & 3u);
            sum += (double)entries[row * (DEPTH / 2) + i] * dense[place * columns + column];
        }
        return sum;
    }));
}
