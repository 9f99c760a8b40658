// Vessels in a medical volume of n x n x (n / 2) numbers by Frangi's filter: second derivatives
// from 19 points, the eigenvalues of their matrix, and how much they look like a tube's.
//
//     nvcc -O2 -o frangi3d frangi3d.cu && ./frangi3d 128

#include "../host.h"

// How much a symmetric matrix looks like that of a bright tube.
__host__ __device__ inline float vesselness(float xx, float yy, float zz, float xy, float xz,
                                            float yz) {
    const float mean = (xx + yy + zz) / 3.0f, a = xx - mean, b = yy - mean, c = zz - mean;
    const float off = xy * xy + xz * xz + yz * yz;
    const float p = sqrtf((a * a + b * b + c * c + 2.0f * off) / 6.0f) + 1e-12f;
    const float det = a * (b * c - yz * yz) - xy * (xy * c - yz * xz) + xz * (xy * yz - b * xz);
    const float r = fminf(fmaxf(det / (2.0f * p * p * p), -1.0f), 1.0f);
    const float angle = acosf(r) / 3.0f;
    const float e1 = mean + 2.0f * p * cosf(angle);
    const float e3 = mean + 2.0f * p * cosf(angle + 2.0943951f);
    const float e2 = 3.0f * mean - e1 - e3;
    // By magnitude.
    float l1 = e1, l2 = e2, l3 = e3, swap;
    if (fabsf(l1) > fabsf(l2)) swap = l1, l1 = l2, l2 = swap;
    if (fabsf(l2) > fabsf(l3)) swap = l2, l2 = l3, l3 = swap;
    if (fabsf(l1) > fabsf(l2)) swap = l1, l1 = l2, l2 = swap;
    if (l2 >= 0.0f || l3 >= 0.0f) return 0.0f;
    const float plate = l2 / l3, blob = l1 * l1 / (l2 * l3);
    const float size = l1 * l1 + l2 * l2 + l3 * l3;
    return (1.0f - expf(-2.0f * plate * plate)) * expf(-2.0f * blob) * (1.0f - expf(-2.0f * size));
}

__host__ __device__ inline float vessel_at(const float *v, size_t at, size_t row, size_t slice) {
    const float own = 2.0f * v[at];
    const float xx = v[at + 1] - own + v[at - 1];
    const float yy = v[at + row] - own + v[at - row];
    const float zz = v[at + slice] - own + v[at - slice];
    const float xy = 0.25f * (v[at + row + 1] - v[at + row - 1] - v[at - row + 1] +
                              v[at - row - 1]);
    const float xz = 0.25f * (v[at + slice + 1] - v[at + slice - 1] - v[at - slice + 1] +
                              v[at - slice - 1]);
    const float yz = 0.25f * (v[at + slice + row] - v[at + slice - row] - v[at - slice + row] +
                              v[at - slice - row]);
    return vesselness(xx, yy, zz, xy, xz, yz);
}

__global__ void frangi3d(const float *__restrict__ volume, float *__restrict__ out, int nx, int ny,
                         int nz) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
    const size_t row = nx, slice = (size_t)nx * ny, at = z * slice + y * row + x;
    out[at] = vessel_at(volume, at, row, slice);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 16, 1200), depth = n / 2;
    const size_t slice = (size_t)n * n, count = slice * depth;
    std::vector<float> volume = quick_values(count, 1), wave(n);
    for (int i = 0; i < n; i++) wave[i] = sinf(0.35f * i);
    for (size_t e = 0; e < count; e++) {
        const int x = (int)(e % n), y = (int)(e / n % n), z = (int)(e / slice);
        volume[e] = 0.3f * volume[e] + 2.0f * wave[x] * wave[y] + wave[z];
    }
    const float *d_volume = to_device(volume);
    float *d_out = device_zeros<float>(count);

    dim3 block(8, 8, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y,
              (depth + block.z - 1) / block.z);
    frangi3d<<<grid, block>>>(d_volume, d_out, n, n, depth);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, count), [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n % n), z = (int)(e / slice);
        if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= depth - 1) return 0.0f;
        return vessel_at(volume.data(), e, n, slice);
    }));
}
