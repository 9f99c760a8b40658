// Mean and variance of each of n channels of a batch of 16 images of 20 x 20 pixels, as batch
// normalization needs them. A block has a channel; threads follow Welford's method, and their
// triples of count, mean and sum of squares are joined in dynamic shared memory.
//
//     nvcc -O2 -o batch_norm_stats batch_norm_stats.cu && ./batch_norm_stats 500

#include "../host.h"

#define IMAGES 16
#define PIXELS 400

__device__ inline float3 combine(float3 a, float3 b) {
    const float count = a.x + b.x;
    if (count == 0.0f) return a;
    const float delta = b.y - a.y, share = b.x / count;
    return make_float3(count, a.y + delta * share, a.z + b.z + delta * delta * a.x * share);
}

#pragma cutune kernel batch_norm_stats data(channels) \
    block(x: 32, 64, 128, 256, 512, 1024) grid(keep) shared(12 * x)
__global__ void batch_norm_stats(const float *images, float *mean, float *variance,
                                 int channels) {
    extern __shared__ float3 partial[];
    const int channel = blockIdx.x, t = threadIdx.x;
    float3 mine = make_float3(0.0f, 0.0f, 0.0f);
    for (int i = t; i < IMAGES * PIXELS; i += blockDim.x) {
        const int image = i / PIXELS, pixel = i % PIXELS;
        const float value = images[((size_t)image * channels + channel) * PIXELS + pixel];
        mine.x += 1.0f;
        const float delta = value - mine.y;
        mine.y += delta / mine.x;
        mine.z += delta * (value - mine.y);
    }
    partial[t] = mine;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (t < half) partial[t] = combine(partial[t], partial[t + half]);
        __syncthreads();
    }
    if (t == 0) {
        mean[channel] = partial[0].y;
        variance[channel] = partial[0].z / partial[0].x;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20, 1 << 17);
    const std::vector<float> images = quick_values((size_t)IMAGES * n * PIXELS, 1);
    const float *d_images = to_device(images);
    float *d_mean = device_zeros<float>(n), *d_variance = device_zeros<float>(n);

    const int threads = 256;
    batch_norm_stats<<<n, threads, threads * sizeof(float3)>>>(d_images, d_mean, d_variance, n);
    finish_launches();

    // The mean of the values of a channel, or of their squares.
    const auto moment = [&](size_t channel, int power) {
        double sum = 0.0;
        for (size_t image = 0; image < IMAGES; image++)
            for (size_t pixel = 0; pixel < PIXELS; pixel++) {
                const double value = images[(image * n + channel) * PIXELS + pixel];
                sum += power == 1 ? value : value * value;
            }
        return sum / (IMAGES * PIXELS);
    };
    const double error = sampled_error(from_device(d_mean, n),
                                       [&](size_t channel) { return moment(channel, 1); });
    return verdict(error + sampled_error(from_device(d_variance, n), [&](size_t channel) {
        const double middle = moment(channel, 1);
        return moment(channel, 2) - middle * middle;
    }));
}
