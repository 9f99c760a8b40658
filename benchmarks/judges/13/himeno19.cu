// The step of the Himeno benchmark: a Jacobi iteration for pressure on n x (n / 2) x (n / 2) points
// with 19 neighbours, ten arrays of coefficients, a source and a mask.
//
//     nvcc -O2 -o himeno19 himeno19.cu && ./himeno19 128

#include "../host.h"

// Coefficients lie one array behind the other: four in a, three in b and in c.
__global__ void jacobi19(const float *__restrict__ a, const float *__restrict__ b,
                         const float *__restrict__ c, const float *__restrict__ p,
                         const float *__restrict__ source, const float *__restrict__ mask,
                         float *__restrict__ next, int nx, int ny, int nz, float omega) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
    const int sy = nx, sz = nx * ny, all = nx * ny * nz, i = z * sz + y * sy + x;
    const float sum =
        a[i] * p[i + sz] + a[i + all] * p[i + sy] + a[i + 2 * all] * p[i + 1] +
        b[i] * (p[i + sz + sy] - p[i + sz - sy] - p[i - sz + sy] + p[i - sz - sy]) +
        b[i + all] * (p[i + sy + 1] - p[i - sy + 1] - p[i + sy - 1] + p[i - sy - 1]) +
        b[i + 2 * all] * (p[i + sz + 1] - p[i - sz + 1] - p[i + sz - 1] + p[i - sz - 1]) +
        c[i] * p[i - sz] + c[i + all] * p[i - sy] + c[i + 2 * all] * p[i - 1] + source[i];
    const float change = (sum * a[i + 3 * all] - p[i]) * mask[i];
    next[i] = p[i] + omega * change;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 24, 1000);
    const int nx = n, ny = n / 2 + 2, nz = n / 2 + 2;
    const size_t count = (size_t)nx * ny * nz, sy = nx, sz = (size_t)nx * ny;
    const std::vector<float> a = quick_values(4 * count, 1), b = quick_values(3 * count, 2);
    const std::vector<float> c = quick_values(3 * count, 3), p = quick_values(count, 4);
    const std::vector<float> source = quick_values(count, 5);
    const std::vector<float> mask(count, 1.0f);
    const float *d_a = to_device(a), *d_b = to_device(b), *d_c = to_device(c), *d_p = to_device(p);
    const float *d_source = to_device(source), *d_mask = to_device(mask);
    float *d_next = device_zeros<float>(count);
    const float omega = 0.8f;

    dim3 block(32, 4, 2);
    dim3 grid((nx + block.x - 1) / block.x, (ny + block.y - 1) / block.y,
              (nz + block.z - 1) / block.z);
    jacobi19<<<grid, block>>>(d_a, d_b, d_c, d_p, d_source, d_mask, d_next, nx, ny, nz, omega);
    finish_launches();

    return verdict(sampled_error(from_device(d_next, count), [&](size_t i) {
        const int x = (int)(i % sy), y = (int)(i % sz / sy), z = (int)(i / sz);
        if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return 0.0;
        double sum = source[i] + (double)a[i] * p[i + sz] + (double)a[i + count] * p[i + sy] +
                     (double)a[i + 2 * count] * p[i + 1] + (double)c[i] * p[i - sz] +
                     (double)c[i + count] * p[i - sy] + (double)c[i + 2 * count] * p[i - 1];
        auto cross = [&](size_t s, size_t t) {
            return (double)p[i + s + t] - p[i - s + t] - p[i + s - t] + p[i - s - t];
        };
        sum += b[i] * cross(sz, sy) + b[i + count] * cross(sy, 1) +
               b[i + 2 * count] * cross(sz, 1);
        return p[i] + omega * ((sum * a[i + 3 * count] - p[i]) * mask[i]);
    }));
}
