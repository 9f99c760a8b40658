// The cosine of the angle between each of n rows of one matrix and the same row of another, 2500
// columns each. A block has a row; three sums are reduced in dynamic shared memory.
//
//     nvcc -O2 -o cosine_rows cosine_rows.cu && ./cosine_rows 1000

#include "../host.h"

#define COLUMNS 2500

#pragma cutune kernel cosine_rows data(rows) block(x: 32, 64, 128, 256, 512, 1024) grid(keep) \
    shared(12 * x)
__global__ void cosine_rows(int rows, const float *a, const float *b, float *cosine) {
    extern __shared__ float sums[];
    float *products = sums, *norms_a = sums + blockDim.x, *norms_b = sums + 2 * blockDim.x;
    const int row = blockIdx.x, t = threadIdx.x;
    if (row >= rows) return;
    const float *own_a = a + (size_t)row * COLUMNS, *own_b = b + (size_t)row * COLUMNS;
    float product = 0.0f, norm_a = 0.0f, norm_b = 0.0f;
    for (int i = t; i < COLUMNS; i += blockDim.x) {
        const float x = own_a[i], y = own_b[i];
        product += x * y;
        norm_a += x * x;
        norm_b += y * y;
    }
    products[t] = product;
    norms_a[t] = norm_a;
    norms_b[t] = norm_b;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (t < half) {
            products[t] += products[t + half];
            norms_a[t] += norms_a[t + half];
            norms_b[t] += norms_b[t + half];
        }
        __syncthreads();
    }
    if (t == 0) cosine[row] = products[0] * rsqrtf(fmaxf(norms_a[0] * norms_b[0], 1e-12f));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 8, 1 << 19);
    const size_t count = (size_t)n * COLUMNS;
    const std::vector<float> a = quick_values(count, 1), b = quick_values(count, 2);
    const float *d_a = to_device(a), *d_b = to_device(b);
    float *d_cosine = device_zeros<float>(n);

    const int threads = 256;
    cosine_rows<<<n, threads, 3 * threads * sizeof(float)>>>(n, d_a, d_b, d_cosine);
    finish_launches();

    return verdict(sampled_error(from_device(d_cosine, n), [&](size_t row) {
        double product = 0.0, norm_a = 0.0, norm_b = 0.0;
        for (size_t i = row * COLUMNS; i < (row + 1) * COLUMNS; i++) {
            product += (double)a[i] * b[i];
            norm_a += (double)a[i] * a[i];
            norm_b += (double)b[i] * b[i];
        }
        return product / sqrt(norm_a * norm_b);
    }));
}
