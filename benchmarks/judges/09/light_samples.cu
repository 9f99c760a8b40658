// Samples of tabulated distributions, as of the rows of an environment map: a block sums up a row
// of 1500 densities by a scan in dynamic shared memory, each thread a piece of neighbours; then a
// thread per sample finds its place in the row by bisection.
//
//     nvcc -O2 -o light_samples light_samples.cu && ./light_samples 1000

#include "../host.h"

#define BINS 1500

#pragma cutune kernel sum_rows data(rows) block(x: 32, 64, 128, 256, 512, 1024) grid(keep) \
    shared(4 * x)
__global__ void sum_rows(int rows, const float *__restrict__ density, float *__restrict__ upto) {
    extern __shared__ float pieces[];
    const int row = blockIdx.x, t = threadIdx.x;
    if (row >= rows) return;
    const int length = (BINS + blockDim.x - 1) / blockDim.x;
    const int first = min(t * length, BINS), last = min(first + length, BINS);
    const float *own = density + (size_t)row * BINS;
    float sum = 0.0f;
    for (int i = first; i < last; i++) sum += own[i];
    pieces[t] = sum;
    __syncthreads();
    for (int reach = 1; reach < (int)blockDim.x; reach *= 2) {
        const float before = t >= reach ? pieces[t - reach] : 0.0f;
        __syncthreads();
        pieces[t] += before;
        __syncthreads();
    }
    float running = t > 0 ? pieces[t - 1] : 0.0f;
    for (int i = first; i < last; i++) {
        running += own[i];
        upto[(size_t)row * BINS + i] = running;
    }
}

// Where in its row the sample lies, in bins, for a random number in [0, 1).
__host__ __device__ inline float place(const float *upto, float random) {
    const float wanted = random * upto[BINS - 1];
    int low = 0, high = BINS - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (upto[middle] > wanted)
            high = middle;
        else
            low = middle + 1;
    }
    const float before = low > 0 ? upto[low - 1] : 0.0f;
    return (float)low + (wanted - before) / (upto[low] - before);
}

__global__ void sample_rows(const float *__restrict__ upto, const float *__restrict__ random,
                            float *__restrict__ samples, int count) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < count) samples[s] = place(upto + (size_t)(s / BINS) * BINS, random[s]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 8, 1 << 19);
    const int count = n * BINS;
    std::vector<float> density = quick_values(count, 1);
    const std::vector<float> random = quick_values(count, 2);
    for (float &value : density) value = 0.1f + value * value;
    const float *d_density = to_device(density), *d_random = to_device(random);
    float *d_upto = device_zeros<float>(count), *d_samples = device_zeros<float>(count);

    const int threads = 256;
    sum_rows<<<n, threads, threads * sizeof(float)>>>(n, d_density, d_upto);
    sample_rows<<<(count + threads - 1) / threads, threads>>>(d_upto, d_random, d_samples, count);
    finish_launches();

    return verdict(sampled_error(from_device(d_samples, count), [&](size_t s) {
        std::vector<float> upto(BINS);
        double running = 0.0;
        for (int i = 0; i < BINS; i++)
            upto[i] = (float)(running += density[s / BINS * BINS + i]);
        return place(upto.data(), random[s]);
    }));
}
