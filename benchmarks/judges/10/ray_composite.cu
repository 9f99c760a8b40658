// Volume rendering of n rays, as of a radiance field: a block walks along the 384 samples of a ray,
// scans the optical depth in dynamic shared memory, a sample per thread and what came before
// carried along, and adds up the colours that are left.
//
//     nvcc -O2 -o ray_composite ray_composite.cu && ./ray_composite 1000

#include "../host.h"

#define SAMPLES 384
#define SPACING 0.01f

#pragma cutune kernel composite data(rays) block(x: 32, 64, 128, 256, 512) grid(keep) \
    shared(12 * x)
__global__ void composite(int rays, const float *__restrict__ density,
                          const float *__restrict__ red, const float *__restrict__ green,
                          const float *__restrict__ blue, float *__restrict__ colours) {
    extern __shared__ float parts[];
    const int ray = blockIdx.x, t = threadIdx.x, threads = blockDim.x;
    if (ray >= rays) return;
    float carried = 0.0f, r = 0.0f, g = 0.0f, b = 0.0f;
    for (int start = 0; start < SAMPLES; start += threads) {
        const bool own = start + t < SAMPLES;
        const size_t sample = (size_t)ray * SAMPLES + start + t;
        const float depth = own ? density[sample] * SPACING : 0.0f;
        parts[t] = depth;
        __syncthreads();
        for (int reach = 1; reach < threads; reach *= 2) {
            const float before = t >= reach ? parts[t - reach] : 0.0f;
            __syncthreads();
            parts[t] += before;
            __syncthreads();
        }
        if (own) {
            const float left = expf(-(carried + parts[t] - depth));
            const float weight = left * (1.0f - expf(-depth));
            r += weight * red[sample];
            g += weight * green[sample];
            b += weight * blue[sample];
        }
        carried += parts[threads - 1];
        __syncthreads();
    }
    parts[t] = r;
    parts[threads + t] = g;
    parts[2 * threads + t] = b;
    __syncthreads();
    for (int half = threads / 2; half > 0; half /= 2) {
        if (t < half)
            for (int c = 0; c < 3; c++) parts[c * threads + t] += parts[c * threads + t + half];
        __syncthreads();
    }
    if (t < 3) colours[3 * ray + t] = parts[t * threads];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 8, 1 << 22);
    const size_t count = (size_t)n * SAMPLES;
    std::vector<float> density = quick_values(count, 1);
    for (float &value : density) value *= 2.0f;
    const std::vector<float> red = quick_values(count, 2), green = quick_values(count, 3);
    const std::vector<float> blue = quick_values(count, 4);
    const float *d_density = to_device(density), *d_red = to_device(red);
    const float *d_green = to_device(green), *d_blue = to_device(blue);
    float *d_colours = device_zeros<float>(3 * (size_t)n);

    const int threads = 128;
    const size_t shared_bytes = 3 * threads * sizeof(float);
    composite<<<n, threads, shared_bytes>>>(n, d_density, d_red, d_green, d_blue, d_colours);
    finish_launches();

    return verdict(sampled_error(from_device(d_colours, 3 * (size_t)n), [&](size_t e) {
        const std::vector<float> &colour = e % 3 == 0 ? red : e % 3 == 1 ? green : blue;
        double before = 0.0, sum = 0.0;
        for (size_t s = e / 3 * SAMPLES; s < e / 3 * SAMPLES + SAMPLES; s++) {
            const double depth = (double)density[s] * SPACING;
            sum += exp(-before) * (1.0 - exp(-depth)) * colour[s];
            before += depth;
        }
        return sum;
    }));
}
