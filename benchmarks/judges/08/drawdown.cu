// How far each of n series of 5000 prices is below its highest so far, and the largest such loss of
// a series. A series per block: the highest price so far is a scan in dynamic shared memory.
//
//     nvcc -O2 -o drawdown drawdown.cu && ./drawdown 500

#include "../host.h"

#define DAYS 5000

#pragma cutune kernel drawdown data(series) block(x: 32, 64, 128, 256, 512, 1024) grid(keep) \
    shared(8 * x)
__global__ void drawdown(int series, const float *prices, float *losses, float *worst) {
    extern __shared__ float buffers[];
    const int t = threadIdx.x, threads = blockDim.x;
    if ((int)blockIdx.x >= series) return;
    const float *price = prices + (size_t)blockIdx.x * DAYS;
    float *loss = losses + (size_t)blockIdx.x * DAYS;
    float highest = 0.0f, largest = 0.0f;
    for (int start = 0; start < DAYS; start += threads) {
        float *from = buffers, *to = buffers + threads;
        const bool inside = start + t < DAYS;
        const float mine = inside ? price[start + t] : 0.0f;
        from[t] = fmaxf(mine, highest);
        __syncthreads();
        for (int reach = 1; reach < threads; reach *= 2) {
            to[t] = t >= reach ? fmaxf(from[t], from[t - reach]) : from[t];
            __syncthreads();
            float *swapped = from;
            from = to;
            to = swapped;
        }
        if (inside) {
            const float below = 1.0f - mine / from[t];
            loss[start + t] = below;
            largest = fmaxf(largest, below);
        }
        highest = from[threads - 1];
        __syncthreads();
    }
    buffers[t] = largest;
    __syncthreads();
    for (int half = threads / 2; half > 0; half /= 2) {
        if (t < half) buffers[t] = fmaxf(buffers[t], buffers[t + half]);
        __syncthreads();
    }
    if (t == 0) worst[blockIdx.x] = buffers[0];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 8, 1 << 18);
    const size_t count = (size_t)n * DAYS;
    // They rise, and fall on bad days.
    std::vector<float> prices = quick_values(count, 1);
    for (size_t e = 0; e < count; e++)
        prices[e] = 1.0f + 0.0002f * (float)(e % DAYS) + 0.2f * prices[e] * prices[e];
    const float *d_prices = to_device(prices);
    float *d_losses = device_zeros<float>(count), *d_worst = device_zeros<float>(n);

    const int threads = 128;
    drawdown<<<n, threads, 2 * threads * sizeof(float)>>>(n, d_prices, d_losses, d_worst);
    finish_launches();

    const auto loss_at = [&](size_t e) {
        float highest = 0.0f;
        for (size_t i = e / DAYS * DAYS; i <= e; i++) highest = fmaxf(highest, prices[i]);
        return 1.0f - prices[e] / highest;
    };
    const double error = sampled_error(from_device(d_losses, count), loss_at);
    return verdict(error + sampled_error(from_device(d_worst, n), [&](size_t row) {
        float highest = 0.0f, largest = 0.0f;
        for (size_t i = row * DAYS; i < (row + 1) * DAYS; i++) {
            highest = fmaxf(highest, prices[i]);
            largest = fmaxf(largest, 1.0f - prices[i] / highest);
        }
        return largest;
    }));
}
