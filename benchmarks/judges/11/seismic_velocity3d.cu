// The velocities' half of a step of a seismic wave in an elastic solid, on a staggered grid of
// n x n x (n / 2 + 4) points with differences of fourth order: three velocities in place from six
// stresses and a buoyancy. The two outermost points at each side stay as they are.
//
//     nvcc -O2 -o seismic_velocity3d seismic_velocity3d.cu && ./seismic_velocity3d 100

#include "../host.h"

#define NEAR 1.125f
#define FAR (-1.0f / 24.0f)

struct Stresses {
    const float *xx, *yy, *zz, *xy, *xz, *yz;
};

// The difference between the point and the one before it, and half a step further on.
__host__ __device__ inline float before(const float *f, size_t at, size_t step) {
    return NEAR * (f[at] - f[at - step]) + FAR * (f[at + step] - f[at - 2 * step]);
}

__host__ __device__ inline float after(const float *f, size_t at, size_t step) {
    return NEAR * (f[at + step] - f[at]) + FAR * (f[at + 2 * step] - f[at - step]);
}

__host__ __device__ inline float push_x(const Stresses &s, size_t at, size_t row, size_t plane) {
    return after(s.xx, at, 1) + before(s.xy, at, row) + before(s.xz, at, plane);
}

__host__ __device__ inline float push_y(const Stresses &s, size_t at, size_t row, size_t plane) {
    return before(s.xy, at, 1) + after(s.yy, at, row) + before(s.yz, at, plane);
}

__host__ __device__ inline float push_z(const Stresses &s, size_t at, size_t row, size_t plane) {
    return before(s.xz, at, 1) + before(s.yz, at, row) + after(s.zz, at, plane);
}

__global__ void seismic_velocity3d(float *__restrict__ vx, float *__restrict__ vy,
                                   float *__restrict__ vz, Stresses s,
                                   const float *__restrict__ buoyancy, float step, int nx, int ny,
                                   int nz) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 2 || y < 2 || z < 2 || x >= nx - 2 || y >= ny - 2 || z >= nz - 2) return;
    const size_t row = nx, plane = (size_t)nx * ny;
    const size_t at = z * plane + y * row + x;
    const float here = buoyancy[at];
    vx[at] += step * 0.5f * (here + buoyancy[at + 1]) * push_x(s, at, row, plane);
    vy[at] += step * 0.5f * (here + buoyancy[at + row]) * push_y(s, at, row, plane);
    vz[at] += step * 0.5f * (here + buoyancy[at + plane]) * push_z(s, at, row, plane);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 700);
    const int nz = n / 2 + 4;
    const size_t row = n, plane = (size_t)n * n, count = plane * nz;
    std::vector<float> fields[10];
    float *d[10];
    for (int f = 0; f < 10; f++) {
        fields[f] = quick_values(count, 1 + f);
        d[f] = to_device(fields[f]);
    }
    const Stresses d_stresses = {d[3], d[4], d[5], d[6], d[7], d[8]};

    const float step = 0.3f;
    dim3 block(32, 4, 4);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y,
              (nz + block.z - 1) / block.z);
    seismic_velocity3d<<<grid, block>>>(d[0], d[1], d[2], d_stresses, d[9], step, n, n, nz);
    finish_launches();

    const Stresses s = {fields[3].data(), fields[4].data(), fields[5].data(),
                        fields[6].data(), fields[7].data(), fields[8].data()};
    const auto outside = [](size_t at, size_t size) { return at < 2 || at >= size - 2; };
    double error = 0.0;
    for (int axis = 0; axis < 3; axis++)
        error += sampled_error(from_device(d[axis], count), [&](size_t at) {
            const float old = fields[axis][at];
            if (outside(at % n, n) || outside(at / n % n, n) || outside(at / plane, nz)) return old;
            const size_t next = axis == 0 ? 1 : axis == 1 ? row : plane;
            const float light = 0.5f * (fields[9][at] + fields[9][at + next]);
            const float push = axis == 0   ? push_x(s, at, row, plane)
                               : axis == 1 ? push_y(s, at, row, plane)
                                           : push_z(s, at, row, plane);
            return old + step * light * push;
        });
    return verdict(error);
}
