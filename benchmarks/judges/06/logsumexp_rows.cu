// log(sum(exp(x))) of each of 2000 rows of n numbers, a row per block: a thread keeps the largest
// number and the sum relative to it, and pairs of them are joined in dynamic shared memory.
//
//     nvcc -O2 -o logsumexp_rows logsumexp_rows.cu && ./logsumexp_rows 1000

#include "../host.h"

#define ROWS 2000

__device__ inline float2 join(float2 a, float2 b) {
    const float most = fmaxf(a.x, b.x);
    return make_float2(most, a.y * expf(a.x - most) + b.y * expf(b.x - most));
}

#pragma cutune kernel logsumexp data(columns) block(x: 32, 64, 128, 256, 512, 1024) grid(keep) \
    shared(8 * x)
__global__ void logsumexp(int columns, const float *numbers, float *result) {
    extern __shared__ float2 parts[];
    const float *row = numbers + (size_t)blockIdx.x * columns;
    float2 mine = make_float2(-1e30f, 0.0f);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        mine = join(mine, make_float2(row[i], 1.0f));
    parts[threadIdx.x] = mine;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half)
            parts[threadIdx.x] = join(parts[threadIdx.x], parts[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0) result[blockIdx.x] = parts[0].x + logf(parts[0].y);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20, 1 << 18);
    std::vector<float> numbers = quick_values((size_t)ROWS * n, 1);
    for (float &number : numbers) number = 20.0f * number - 10.0f;
    const float *d_numbers = to_device(numbers);
    float *d_result = device_zeros<float>(ROWS);

    const int threads = 256;
    logsumexp<<<ROWS, threads, threads * sizeof(float2)>>>(n, d_numbers, d_result);
    finish_launches();

    // Every seventh row.
    const std::vector<float> result = from_device(d_result, ROWS);
    std::vector<float> some;
    for (int row = 0; row < ROWS; row += 7) some.push_back(result[row]);
    return verdict(sampled_error(some, [&](size_t i) {
        double sum = 0.0;
        for (int c = 0; c < n; c++) sum += expf(numbers[i * 7 * n + c]);
        return log(sum);
    }));
}
