// Norms of a gradient of n floats, as before it is clipped: sum of squares by shuffles, and the
// largest magnitude, exactly, as whole numbers of the same order.
//
//     nvcc -O2 -o gradient_norms gradient_norms.cu && ./gradient_norms 20000000

#include <algorithm>

#include "checksum.h"

__global__ void sum_of_squares(const float *__restrict__ gradient, float *__restrict__ total,
                               int n) {
    __shared__ float slots[32];
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float g = gradient[i];
        sum += g * g;
    }
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    if (lane == 0) slots[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = lane < blockDim.x / warpSize ? slots[lane] : 0.0f;
        for (int offset = warpSize / 2; offset > 0; offset /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, offset);
        if (lane == 0) atomicAdd(total, sum);
    }
}

__global__ void max_abs(const float *__restrict__ gradient, int *__restrict__ largest, int n) {
    extern __shared__ float magnitudes[];
    float magnitude = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        magnitude = fmaxf(magnitude, fabsf(gradient[i]));
    magnitudes[threadIdx.x] = magnitude;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s)
            magnitudes[threadIdx.x] = fmaxf(magnitudes[threadIdx.x], magnitudes[threadIdx.x + s]);
        __syncthreads();
    }
    // Floats that are not negative have the order of their bits.
    if (threadIdx.x == 0) atomicMax(largest, __float_as_int(magnitudes[0]));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1500000000);
    std::vector<float> gradient = quick_values(n, 1810);
    for (float &g : gradient) g = 3.0f * g - 2.0f;
    const float *d_gradient = to_device(gradient);
    float *d_total = device_zeros<float>(1);
    int *d_largest = device_zeros<int>(1);

    int multiprocessors = 0;
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    const int threads = 512;
    const int blocks = std::min((n + threads - 1) / threads, 4 * multiprocessors);
    sum_of_squares<<<blocks, threads>>>(d_gradient, d_total, n);
    max_abs<<<blocks, threads, threads * sizeof(float)>>>(d_gradient, d_largest, n);
    finish_launches();

    const float total = from_device(d_total, 1)[0];
    const int bits = from_device(d_largest, 1)[0];
    float largest, wanted_largest = 0.0f;
    memcpy(&largest, &bits, sizeof(largest));
    double wanted = 0.0;
    for (float g : gradient) {
        wanted += (double)g * g;
        wanted_largest = fmaxf(wanted_largest, fabsf(g));
    }
    printf("largest %.9g\n", largest);
    return report(total, largest == wanted_largest ? relative_difference(total, wanted) : INFINITY);
}
