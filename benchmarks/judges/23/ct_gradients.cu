// Medical imaging: how steep a volume of n x n x (n/2 + 1) shorts is at each voxel, from central
// differences and the distances of voxels along three axes; one-sided at the six sides.
//
//     nvcc -O2 -o ct_gradients ct_gradients.cu && ./ct_gradients 100

#include "checked.h"

struct Volume {
    int nx, ny, nz;
    float sx, sy, sz;  // One divided by the distance of voxels.
};

__global__ void gradient_magnitude(Volume v, const short *__restrict__ density,
                                   float *__restrict__ steepness) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= v.nx || y >= v.ny || z >= v.nz) return;

    auto at = [&](int i, int j, int k) { return density[(k * v.ny + j) * v.nx + i]; };
    const int x0 = max(x - 1, 0), x1 = min(x + 1, v.nx - 1);
    const int y0 = max(y - 1, 0), y1 = min(y + 1, v.ny - 1);
    const int z0 = max(z - 1, 0), z1 = min(z + 1, v.nz - 1);
    const float gx = (at(x1, y, z) - at(x0, y, z)) * v.sx / (x1 - x0);
    const float gy = (at(x, y1, z) - at(x, y0, z)) * v.sy / (y1 - y0);
    const float gz = (at(x, y, z1) - at(x, y, z0)) * v.sz / (z1 - z0);
    steepness[(z * v.ny + y) * v.nx + x] = sqrtf(gx * gx + gy * gy + gz * gz);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 12, 860);
    const Volume v = {n, n, n / 2 + 1, 1.25f, 1.25f, 0.4f};
    const size_t plane = (size_t)n * n, count = plane * v.nz;
    std::vector<int16_t> density = quick_bits<int16_t>(count, 3151);
    for (size_t i = 0; i < count; i++)
        density[i] = (int16_t)(density[i] / 32 +
                               (i % n / 16 + i / n % n / 16 + i / plane / 16) % 5 * 400);
    const short *d_density = to_device(density);
    float *d_steepness = device_zeros<float>(count);

    const dim3 block(8, 8, 8);
    const dim3 grid((v.nx + 7) / 8, (v.ny + 7) / 8, (v.nz + 7) / 8);
    gradient_magnitude<<<grid, block>>>(v, d_density, d_steepness);
    finish_launches();

    const std::vector<float> steepness = from_device(d_steepness, count);
    say_sum("gradients", steepness);
    return verdict(sampled_error(steepness, [&](size_t e) {
        const size_t strides[3] = {1, (size_t)n, plane};
        const size_t sides[3] = {(size_t)n, (size_t)n, (size_t)v.nz};
        const double scales[3] = {v.sx, v.sy, v.sz};
        double squares = 0.0;
        for (int axis = 0; axis < 3; axis++) {
            const size_t place = e / strides[axis] % sides[axis];
            const size_t low = place > 0 ? e - strides[axis] : e;
            const size_t high = place + 1 < sides[axis] ? e + strides[axis] : e;
            const double steps = (double)((high - low) / strides[axis]);
            squares += pow((density[high] - density[low]) * scales[axis] / steps, 2);
        }
        return sqrt(squares);
    }));
}
