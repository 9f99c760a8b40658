// Means per channel over a batch of n images of 256 channels of 14 x 14, a block per channel:
// pieces of 196 floats that lie 200 KB apart.
//
//     nvcc -O2 -o channel_means channel_means.cu && ./channel_means 256

#include "checksum.h"

#define CHANNELS 256
#define PIXELS 196

__global__ void channel_mean(const float *__restrict__ batch, float *__restrict__ means, int images,
                             int channels, int pixels) {
    __shared__ float sdata[256];
    const int channel = blockIdx.x;
    const int total = images * pixels;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < total; i += blockDim.x) {
        const int image = i / pixels, pixel = i % pixels;
        sum += batch[((size_t)image * channels + channel) * pixels + pixel];
    }
    sdata[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) sdata[threadIdx.x] += sdata[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) means[channel] = sdata[0] / total;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2, 40000);
    const size_t count = (size_t)n * CHANNELS * PIXELS;
    std::vector<float> batch = quick_values(count, 1825);
    for (size_t i = 0; i < count; i++) batch[i] += 0.01f * (float)(i / PIXELS % CHANNELS);
    const float *d_batch = to_device(batch);
    float *d_means = device_zeros<float>(CHANNELS);

    channel_mean<<<CHANNELS, 256>>>(d_batch, d_means, n, CHANNELS, PIXELS);
    finish_launches();

    const std::vector<float> means = from_device(d_means, CHANNELS);
    return report(checksum_of(means), sampled_error(means, [&](size_t channel) {
        double sum = 0.0;
        for (int image = 0; image < n; image++)
            for (int p = 0; p < PIXELS; p++)
                sum += batch[((size_t)image * CHANNELS + channel) * PIXELS + p];
        return sum / n / PIXELS;
    }));
}
