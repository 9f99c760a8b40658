// Energies of n sound frames in 64 overlapping bands of one width, as for cepstral features: each
// band adds up its part of the power spectrum in place, weighted by a triangle, and ends as a
// logarithm.
//
//     nvcc -O2 -o filter_bank filter_bank.cu && ./filter_bank 10000

#include "../host.h"

#define BANDS 64
#define HOP 16
#define WIDTH 64
#define BINS (HOP * (BANDS - 1) + WIDTH)

__global__ void filter_bank(int frames, const float *power, const float *triangle,
                            float *energies) {
    const int band = blockIdx.x * blockDim.x + threadIdx.x;
    const int frame = blockIdx.y * blockDim.y + threadIdx.y;
    if (band >= BANDS || frame >= frames) return;
    const int at = frame * BANDS + band;
    energies[at] = 1e-6f;
    for (int k = 0; k < WIDTH; k++)
        energies[at] += triangle[k] * power[frame * BINS + band * HOP + k];
    energies[at] = logf(energies[at]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 200000);
    const std::vector<float> power = quick_values((size_t)n * BINS, 1);
    std::vector<float> triangle(WIDTH);
    for (int k = 0; k < WIDTH; k++) triangle[k] = 1.0f - fabsf((k + 0.5f) / (WIDTH / 2) - 1.0f);
    float *device_power = to_device(power), *device_triangle = to_device(triangle);
    float *energies = device_zeros<float>((size_t)n * BANDS);

    const dim3 block(32, 8);
    const dim3 grid(blocks_for(BANDS, block.x), blocks_for(n, block.y));
    filter_bank<<<grid, block>>>(n, device_power, device_triangle, energies);
    finish_launches();

    return verdict(sampled_error(from_device(energies, (size_t)n * BANDS), [&](size_t e) {
        const float *bins = &power[e / BANDS * BINS + e % BANDS * HOP];
        double sum = 1e-6;
        for (int k = 0; k < WIDTH; k++) sum += triangle[k] * bins[k];
        return log(sum);
    }));
}
