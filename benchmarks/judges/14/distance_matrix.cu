// Nearest neighbours, first part: squared distances between n queries and n references of 48
// features, all by all. Features are stored one after another, as rows of n.
//
//     nvcc -O2 -o distance_matrix distance_matrix.cu && ./distance_matrix 1500

#include "../host.h"

#define FEATURES 48

__global__ void distances(const float *__restrict__ references, const float *__restrict__ queries,
                          float *__restrict__ out, int reference_count, int query_count,
                          int features) {
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    const int q = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= reference_count || q >= query_count) return;
    float sum = 0.0f;
    for (int k = 0; k < features; k++) {
        const float d = references[(size_t)k * reference_count + r] -
                        queries[(size_t)k * query_count + q];
        sum += d * d;
    }
    out[(size_t)q * reference_count + r] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 30000);
    const std::vector<float> references = quick_values((size_t)n * FEATURES, 131);
    const std::vector<float> queries = quick_values((size_t)n * FEATURES, 132);
    const float *d_references = to_device(references);
    const float *d_queries = to_device(queries);
    float *d_out = device_zeros<float>((size_t)n * n);

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    distances<<<grid, block>>>(d_references, d_queries, d_out, n, n, FEATURES);
    finish_launches();

    const std::vector<float> out = from_device(d_out, (size_t)n * n);
    return verdict(sampled_error(out, [&](size_t e) {
        float sum = 0.0f;
        for (int k = 0; k < FEATURES; k++) {
            const float d = references[(size_t)k * n + e % n] - queries[(size_t)k * n + e / n];
            sum += d * d;
        }
        return sum;
    }));
}
