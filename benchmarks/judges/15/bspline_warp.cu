// Registration of medical images: a volume of n x n x n voxels is warped by a cubic B-spline on a
// grid of control points eight voxels apart, 64 of which move each voxel.
//
//     nvcc -O2 -o bspline_warp bspline_warp.cu && ./bspline_warp 160

#include "../host.h"

#include <algorithm>

#define SPACING 8

__host__ __device__ inline void spline_weights(float t, float *weights) {
    const float back = 1.0f - t;
    weights[0] = back * back * back / 6.0f;
    weights[1] = (3.0f * t * t * t - 6.0f * t * t + 4.0f) / 6.0f;
    weights[2] = (3.0f * back * back * back - 6.0f * back * back + 4.0f) / 6.0f;
    weights[3] = t * t * t / 6.0f;
}

__host__ __device__ inline float clamped(float value, int n) {
    return fminf(fmaxf(value, 0.0f), n - 1.001f);
}

__global__ void bspline_warp(int n, int points, const float *control, const float *volume,
                             float *warped) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= n || y >= n || z >= n) return;
    float along_x[4], along_y[4], along_z[4];
    spline_weights(x % SPACING / (float)SPACING, along_x);
    spline_weights(y % SPACING / (float)SPACING, along_y);
    spline_weights(z % SPACING / (float)SPACING, along_z);
    const int first = (z / SPACING * points + y / SPACING) * points + x / SPACING;
    float to_x = x, to_y = y, to_z = z;
#pragma unroll
    for (int k = 0; k < 4; k++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float weight = along_x[i] * along_y[j] * along_z[k];
                const int at = 3 * (first + (k * points + j) * points + i);
                to_x += weight * control[at];
                to_y += weight * control[at + 1];
                to_z += weight * control[at + 2];
            }
    to_x = clamped(to_x, n), to_y = clamped(to_y, n), to_z = clamped(to_z, n);
    const int left = (int)to_x, top = (int)to_y, front = (int)to_z;
    const float dx = to_x - left, dy = to_y - top, dz = to_z - front;
    float sum = 0.0f;
#pragma unroll
    for (int corner = 0; corner < 8; corner++) {
        const int i = corner & 1, j = corner >> 1 & 1, k = corner >> 2;
        sum += (i ? dx : 1.0f - dx) * (j ? dy : 1.0f - dy) * (k ? dz : 1.0f - dz) *
               volume[((front + k) * n + top + j) * n + left + i];
    }
    warped[(z * n + y) * n + x] = sum;
}

static double host_warp(int n, int points, const std::vector<float> &control, size_t e,
                        const std::vector<float> &volume) {
    const size_t place[3] = {e % n, e / n % n, e / n / n};
    float weights[3][4];
    double to[3], sum = 0.0;
    size_t corner[3];
    for (int axis = 0; axis < 3; axis++) {
        spline_weights(place[axis] % SPACING / (float)SPACING, weights[axis]);
        to[axis] = (double)place[axis];
    }
    for (int c = 0; c < 64; c++) {
        const int i = c % 4, j = c / 4 % 4, k = c / 16;
        const size_t at = ((place[2] / SPACING + k) * points + place[1] / SPACING + j) * points +
                          place[0] / SPACING + i;
        for (int axis = 0; axis < 3; axis++)
            to[axis] += weights[0][i] * weights[1][j] * weights[2][k] * control[3 * at + axis];
    }
    for (int axis = 0; axis < 3; axis++) {
        to[axis] = fmin(fmax(to[axis], 0.0), n - 1.001f);
        corner[axis] = (size_t)to[axis];
        to[axis] -= corner[axis];
    }
    for (size_t c = 0; c < 8; c++) {
        const size_t at = ((corner[2] + (c >> 2)) * n + corner[1] + (c >> 1 & 1)) * n +
                          corner[0] + (c & 1);
        double weight = 1.0;
        for (int axis = 0; axis < 3; axis++) weight *= c >> axis & 1 ? to[axis] : 1.0 - to[axis];
        sum += weight * volume[at];
    }
    return sum;
}

int main(int argc, char **argv) {
    const int n = std::max(2, size_argument(argc, argv, 40, 1000)), points = n / SPACING + 4;
    const size_t count = (size_t)n * n * n;
    std::vector<float> control = quick_values((size_t)points * points * points * 3, 1);
    std::vector<float> volume(count);
    for (float &value : control) value = 6.0f * (value - 0.5f);
    // A smooth volume, so that the rounding of a place hardly shows.
    for (size_t i = 0; i < count; i++)
        volume[i] = 1.0f + 0.01f * (i % n) + 0.02f * (i / n % n) + 0.015f * (i / n / n);
    float *device_control = to_device(control), *device_volume = to_device(volume);
    float *warped = device_zeros<float>(count);

    const dim3 block(8, 8, 4);
    const dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y), blocks_for(n, block.z));
    bspline_warp<<<grid, block>>>(n, points, device_control, device_volume, warped);
    finish_launches();

    return verdict(sampled_error(from_device(warped, count), [&](size_t e) {
        return host_warp(n, points, control, e, volume);
    }));
}
