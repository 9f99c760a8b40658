// Seismics: Kirchhoff migration of one shot, recorded by 96 receivers of 1500 samples, into a
// picture of n places along the line and n depths. Depth is contiguous. Each point of the picture
// adds up what the receivers heard when an echo from there would have come.
//
//     nvcc -O2 -o kirchhoff kirchhoff.cu && ./kirchhoff 400

#include "../host.h"

#define RECEIVERS 96
#define SAMPLES 1500

// What one receiver adds to the point at `across` and `depth`; lengths in metres.
__host__ __device__ inline float echo(const float *trace, float across, float depth, float shot,
                                      float receiver) {
    const float squared = depth * depth;
    const float there = sqrtf(squared + (across - shot) * (across - shot));
    const float back = sqrtf(squared + (across - receiver) * (across - receiver));
    // 2500 metres per second, 500 samples per second.
    const float sample = (there + back) * 0.2f;
    const int first = (int)sample;
    if (first + 1 >= SAMPLES) return 0.0f;
    const float part = sample - first;
    return (trace[first] + part * (trace[first + 1] - trace[first])) * depth / (back * back);
}

__global__ void migrate(const float *__restrict__ traces, const float *__restrict__ receivers,
                        float *__restrict__ picture, float shot, float spacing, int n) {
    const int z = blockIdx.x * blockDim.x + threadIdx.x;
    const int x = blockIdx.y * blockDim.y + threadIdx.y;
    if (z >= n || x >= n) return;
    const float across = x * spacing, depth = (z + 1) * spacing;
    float sum = 0.0f;
    for (int r = 0; r < RECEIVERS; r++)
        sum += echo(traces + r * SAMPLES, across, depth, shot, receivers[r]);
    picture[(size_t)x * n + z] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 32, 20000);
    const std::vector<float> noise = quick_values(RECEIVERS * SAMPLES, 1602);
    // Swings that change slowly from sample to sample.
    std::vector<float> traces(noise.size());
    for (int i = 0; i < RECEIVERS * SAMPLES; i++)
        traces[i] = 1.0f + 0.5f * sinf(0.07f * (i % SAMPLES)) + 0.3f * noise[i];
    const float width = 4000.0f;
    std::vector<float> receivers(RECEIVERS);
    for (int r = 0; r < RECEIVERS; r++) receivers[r] = width * (r + 0.3f) / RECEIVERS;
    const float shot = 0.37f * width, spacing = width / n;
    const float *d_traces = to_device(traces);
    const float *d_receivers = to_device(receivers);
    float *d_picture = device_zeros<float>((size_t)n * n);

    dim3 block(64, 4);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    migrate<<<grid, block>>>(d_traces, d_receivers, d_picture, shot, spacing, n);
    finish_launches();

    const std::vector<float> picture = from_device(d_picture, (size_t)n * n);
    return verdict(sampled_error(picture, [&](size_t e) {
        const float across = (float)(e / n) * spacing, depth = (float)(e % n + 1) * spacing;
        float sum = 0.0f;
        for (int r = 0; r < RECEIVERS; r++)
            sum += echo(traces.data() + r * SAMPLES, across, depth, shot, receivers[r]);
        return sum;
    }));
}
