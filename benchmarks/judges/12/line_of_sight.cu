// What n observers see of a terrain of 2048 x 2048 heights, each along one line of 1024 places: a
// place is visible if it appears higher than all before it. A block has a line and takes it in
// pieces, with a scan of maxima in dynamic shared memory.
//
//     nvcc -O2 -o line_of_sight line_of_sight.cu && ./line_of_sight 1000

#include "../host.h"

#define SIDE 2048
#define STEPS 1024

// Begin and direction in 65536ths of a place; the terrain repeats itself.
struct Line {
    int x, y, dx, dy;
};

__host__ __device__ inline float slope_at(const float *heights, Line line, int step) {
    const int x = (line.x + step * line.dx) >> 16 & (SIDE - 1);
    const int y = (line.y + step * line.dy) >> 16 & (SIDE - 1);
    const int x0 = line.x >> 16 & (SIDE - 1), y0 = line.y >> 16 & (SIDE - 1);
    return (heights[y * SIDE + x] - heights[y0 * SIDE + x0]) / (float)step;
}

#pragma cutune kernel line_of_sight data(lines) block(x: 32, 64, 128, 256, 512, 1024) grid(keep) \
    shared(4 * x)
__global__ void line_of_sight(int lines, const float *__restrict__ heights,
                              const Line *__restrict__ line, unsigned char *__restrict__ visible) {
    extern __shared__ float highest[];
    const int t = threadIdx.x, number = blockIdx.x;
    if (number >= lines) return;
    const Line own = line[number];
    float before = -1e30f;
    for (int start = 0; start < STEPS; start += blockDim.x) {
        const float slope = slope_at(heights, own, start + t + 1);
        highest[t] = slope;
        __syncthreads();
        for (int reach = 1; reach < blockDim.x; reach *= 2) {
            const float other = t >= reach ? highest[t - reach] : -1e30f;
            __syncthreads();
            highest[t] = fmaxf(highest[t], other);
            __syncthreads();
        }
        const float limit = fmaxf(before, t > 0 ? highest[t - 1] : -1e30f);
        visible[(size_t)number * STEPS + start + t] = slope > limit;
        before = fmaxf(before, highest[blockDim.x - 1]);
        __syncthreads();
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 16, 1000000);
    std::vector<float> heights = quick_values(SIDE * SIDE, 1);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            heights[y * SIDE + x] = 20.0f * heights[y * SIDE + x] + 0.4f * ((x ^ y) & 255);
    std::vector<Line> lines(n);
    for (int i = 0; i < n; i++) {
        const double angle = 6.2831853 * (mixed(i) & 4095) / 4096.0;
        lines[i] = {(int)(mixed(2 * i + 1) & 0x7ffffff), (int)(mixed(2 * i + 2) & 0x7ffffff),
                    (int)(65536 * cos(angle)), (int)(65536 * sin(angle))};
    }
    const float *d_heights = to_device(heights);
    const Line *d_lines = to_device(lines);
    unsigned char *d_visible = device_zeros<unsigned char>((size_t)n * STEPS);

    const int threads = 256;
    line_of_sight<<<n, threads, threads * sizeof(float)>>>(n, d_heights, d_lines, d_visible);
    finish_launches();

    return verdict(sampled_error(from_device(d_visible, (size_t)n * STEPS), [&](size_t e) {
        const Line own = lines[e / STEPS];
        const int last = (int)(e % STEPS) + 1;
        const float slope = slope_at(heights.data(), own, last);
        for (int step = 1; step < last; step++)
            if (slope_at(heights.data(), own, step) >= slope) return 0;
        return 1;
    }));
}
