// Features of n regions of an image, as of a detector of objects: 64 channels of 100 x 152 numbers,
// averaged over 7 x 7 bins per region, from one to 16 interpolated samples per bin by its size.
//
//     nvcc -O2 -o roi_align roi_align.cu && ./roi_align 500

#include "../host.h"

#define CHANNELS 64
#define HEIGHT 100
#define WIDTH 152
#define BINS 7

__host__ __device__ inline float interpolated(const float *map, float y, float x) {
    if (y < -1.0f || y > HEIGHT || x < -1.0f || x > WIDTH) return 0.0f;
    y = fmaxf(y, 0.0f);
    x = fmaxf(x, 0.0f);
    int top = (int)y, left = (int)x, bottom = top + 1, right = left + 1;
    if (top >= HEIGHT - 1) {
        top = bottom = HEIGHT - 1;
        y = (float)top;
    }
    if (left >= WIDTH - 1) {
        left = right = WIDTH - 1;
        x = (float)left;
    }
    const float v = y - (float)top, u = x - (float)left;
    return (1.0f - v) * ((1.0f - u) * map[top * WIDTH + left] + u * map[top * WIDTH + right]) +
           v * ((1.0f - u) * map[bottom * WIDTH + left] + u * map[bottom * WIDTH + right]);
}

// What bin `index` of all regions, channels, rows and columns holds.
__host__ __device__ inline float pooled(const float *maps, const float4 *regions, int index) {
    const int column = index % BINS, row = index / BINS % BINS;
    const int channel = index / (BINS * BINS) % CHANNELS;
    const float4 region = regions[index / (BINS * BINS * CHANNELS)];
    const float *map = maps + channel * HEIGHT * WIDTH;
    const float wide = (region.z - region.x) * (1.0f / BINS);
    const float high = (region.w - region.y) * (1.0f / BINS);
    const int across = (int)ceilf(wide), down = (int)ceilf(high);
    float sum = 0.0f;
    for (int j = 0; j < down; j++) {
        const float y = region.y + high * ((float)row + ((float)j + 0.5f) / (float)down);
        for (int i = 0; i < across; i++) {
            const float x = region.x + wide * ((float)column + ((float)i + 0.5f) / (float)across);
            sum += interpolated(map, y, x);
        }
    }
    return sum / (float)(across * down);
}

__global__ void roi_align(int count, const float *__restrict__ maps,
                          const float4 *__restrict__ regions, float *__restrict__ out) {
    for (int index = blockIdx.x * blockDim.x + threadIdx.x; index < count;
         index += blockDim.x * gridDim.x)
        out[index] = pooled(maps, regions, index);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100, 1 << 18);
    const int count = n * CHANNELS * BINS * BINS;
    const std::vector<float> maps = quick_values(CHANNELS * HEIGHT * WIDTH, 1);
    std::vector<float> regions = quick_values((size_t)n * 4, 2);
    for (int r = 0; r < n; r++) {
        float *box = regions.data() + (size_t)r * 4;
        box[0] *= WIDTH - 10;
        box[1] *= HEIGHT - 10;
        box[2] = box[0] + 2.0f + 24.0f * box[2] * box[2];
        box[3] = box[1] + 2.0f + 24.0f * box[3] * box[3];
    }
    const float *d_maps = to_device(maps), *d_regions = to_device(regions);
    float *d_out = device_zeros<float>(count);

    const int threads = 512;
    const int blocks = (int)std::min(4096u, blocks_for(count, threads));
    roi_align<<<blocks, threads>>>(count, d_maps, (const float4 *)d_regions, d_out);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, count), [&](size_t index) {
        return pooled(maps.data(), (const float4 *)regions.data(), (int)index);
    }));
}
