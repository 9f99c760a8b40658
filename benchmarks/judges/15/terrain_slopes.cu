// Maps of a terrain of n x n heights: slope, aspect, curvature and ruggedness, each from the eight
// neighbours of a point (Horn's and Riley's formulas).
//
//     nvcc -O2 -o terrain_slopes terrain_slopes.cu && ./terrain_slopes 4000

#include "../host.h"

__global__ void terrain_slopes(int n, float cell, const float *height, float *slope, float *aspect,
                               float *curvature, float *ruggedness) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
    const int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (x >= n - 1 || y >= n - 1) return;
    const int at = y * n + x, up = at - n, down = at + n;
    const float east = (height[up + 1] + 2.0f * height[at + 1] + height[down + 1] -
                        height[up - 1] - 2.0f * height[at - 1] - height[down - 1]) /
                       (8.0f * cell);
    const float south = (height[down - 1] + 2.0f * height[down] + height[down + 1] -
                         height[up - 1] - 2.0f * height[up] - height[up + 1]) /
                        (8.0f * cell);
    slope[at] = sqrtf(east * east + south * south);
    aspect[at] = atan2f(south, -east);
    curvature[at] = (height[at - 1] + height[at + 1] + height[up] + height[down] -
                     4.0f * height[at]) /
                    (cell * cell);
    float squares = 0.0f;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            const float step = height[at + dy * n + dx] - height[at];
            squares += step * step;
        }
    ruggedness[at] = sqrtf(squares);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200, 20000);
    const size_t count = (size_t)n * n;
    const std::vector<float> height = quick_values(count, 1);
    const float cell = 2.0f;
    float *device_height = to_device(height), *slope = device_zeros<float>(count);
    float *aspect = device_zeros<float>(count), *curvature = device_zeros<float>(count);
    float *ruggedness = device_zeros<float>(count);

    const dim3 block(16, 16);
    const dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    terrain_slopes<<<grid, block>>>(n, cell, device_height, slope, aspect, curvature, ruggedness);
    finish_launches();

    auto inside = [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        return x >= 1 && y >= 1 && x < n - 1 && y < n - 1;
    };
    auto near = [&](size_t e, int dx, int dy) { return (double)height[e + dy * (long)n + dx]; };
    const double error_slope = sampled_error(from_device(slope, count), [&](size_t e) {
        double east = 0.0, south = 0.0;
        if (!inside(e)) return 0.0;
        for (int side = -1; side <= 1; side++) {
            const int weight = 2 - abs(side);
            east += weight * (near(e, 1, side) - near(e, -1, side));
            south += weight * (near(e, side, 1) - near(e, side, -1));
        }
        return sqrt(east * east + south * south) / (8.0 * cell);
    });
    const double error_rugged = sampled_error(from_device(ruggedness, count), [&](size_t e) {
        double squares = 0.0;
        for (int place = 0; place < 9 && inside(e); place++)
            squares += pow(near(e, place % 3 - 1, place / 3 - 1) - height[e], 2);
        return sqrt(squares);
    });
    return verdict(fmax(error_slope, error_rugged));
}
