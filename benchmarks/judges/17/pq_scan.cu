// Vector search: the distances of n vectors, stored as 16 bytes by product quantisation, from
// one question. A block copies the table of 16 x 256 distances to shared memory, then its
// threads go through the vectors by the grid's stride.
//
//     nvcc -O2 -o pq_scan pq_scan.cu && ./pq_scan 5000000

#include "repeated.h"

#define PARTS 16
#define CODES 256

template <int COUNT>
__device__ inline float look_up(const float *table, uint32_t word) {
    float sum = 0.0f;
    for (int k = 0; k < COUNT; k++) sum += table[k * CODES + (word >> 8 * k & 255)];
    return sum;
}

__global__ void scan_codes(const uint4 *__restrict__ codes, const float *__restrict__ table,
                           float *__restrict__ distances, int n) {
    __shared__ float near[PARTS * CODES];
    for (int i = threadIdx.x; i < PARTS * CODES; i += blockDim.x) near[i] = table[i];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const uint4 code = codes[i];
        distances[i] = look_up<4>(near, code.x) + look_up<4>(near + 4 * CODES, code.y) +
                       look_up<4>(near + 8 * CODES, code.z) + look_up<4>(near + 12 * CODES, code.w);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 300000000);
    const size_t made = piece_of(n, 1 << 20);
    const std::vector<unsigned char> codes = quick_bits<unsigned char>(PARTS * made, 111);
    const std::vector<float> table = quick_values(PARTS * CODES, 112);
    const unsigned char *d_codes = repeated_on_device(codes, (size_t)PARTS * n);
    const float *d_table = to_device(table);
    float *d_distances = device_zeros<float>(n);

    const int threads = 256;
    int blocks = (n + threads - 1) / threads;
    if (blocks > 1056) blocks = 1056;
    scan_codes<<<blocks, threads>>>((const uint4 *)d_codes, d_table, d_distances, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_distances, n), [&](size_t i) {
        float sum = 0.0f;
        for (int part = 0; part < PARTS; part++)
            sum += table[part * CODES + codes[i % made * PARTS + part]];
        return sum;
    }));
}
