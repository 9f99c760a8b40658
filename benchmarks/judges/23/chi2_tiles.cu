// Image search: how far n histograms of 64 bins are from each of 1000 known ones, by chi squared;
// tiles of both in shared memory, 16 bins at a time.
//
//     nvcc -O2 -o chi2_tiles chi2_tiles.cu && ./chi2_tiles 300

#include "checked.h"

template <int TILE>
__global__ void chi_squared(const float *queries, const float *known, float *distance, int n, int m,
                            int bins) {
    __shared__ float a[TILE][TILE + 1];
    __shared__ float b[TILE][TILE + 1];
    const int column = blockIdx.x * TILE + threadIdx.x;
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int loaded = blockIdx.x * TILE + threadIdx.y;
    float sum = 0.0f;
    for (int first = 0; first < bins; first += TILE) {
        const int bin = first + threadIdx.x;
        a[threadIdx.y][threadIdx.x] = row < n && bin < bins ? queries[row * bins + bin] : 0.0f;
        b[threadIdx.y][threadIdx.x] = loaded < m && bin < bins ? known[loaded * bins + bin] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++) {
            const float p = a[threadIdx.y][k], q = b[threadIdx.x][k];
            sum += __fdividef((p - q) * (p - q), p + q + 1e-6f);
        }
        __syncthreads();
    }
    if (row < n && column < m) distance[(size_t)row * m + column] = 0.5f * sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20, 60000), known_count = 1000, bins = 64;
    const std::vector<float> queries = quick_values((size_t)n * bins, 3201);
    const std::vector<float> known = quick_values((size_t)known_count * bins, 3202);
    const size_t count = (size_t)n * known_count;
    const float *d_queries = to_device(queries), *d_known = to_device(known);
    float *d_distance = device_zeros<float>(count);

    const dim3 block(16, 16);
    const dim3 grid((known_count + 15) / 16, (n + 15) / 16);
    chi_squared<16><<<grid, block>>>(d_queries, d_known, d_distance, n, known_count, bins);
    finish_launches();

    const std::vector<float> distance = from_device(d_distance, count);
    say_sum("distances", distance);
    return verdict(sampled_error(distance, [&](size_t e) {
        const float *p = queries.data() + e / known_count * bins;
        const float *q = known.data() + e % known_count * bins;
        double sum = 0.0;
        for (int k = 0; k < bins; k++)
            sum += pow((double)p[k] - q[k], 2) / ((double)p[k] + q[k] + 1e-6);
        return 0.5 * sum;
    }));
}
