// Micromagnetics: a step of the Landau-Lifshitz-Gilbert equation in n x n x n cells, with
// exchange between neighbours, an easy axis and an outer field. The components are arrays of
// their own, in structures that are passed by value; spins stay of length one.
//
//     nvcc -O2 -o llg_step llg_step.cu && ./llg_step 256

#include "../host.h"

struct Spins {
    float *x, *y, *z;
};

struct Material {
    float exchange, anisotropy, damping;
    float3 outer;
    float dt;
};

__host__ __device__ inline float3 cross(float3 a, float3 b) {
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

__host__ __device__ inline float3 spin_at(const Spins &spins, size_t i) {
    return make_float3(spins.x[i], spins.y[i], spins.z[i]);
}

// Beyond the border a spin is like the one at the border.
__host__ __device__ inline float3 advanced(const Spins &spins, const Material &m, int n, int x,
                                           int y, int z) {
    const size_t row = n, plane = (size_t)n * n, i = z * plane + y * row + x;
    const size_t around[6] = {x > 0 ? i - 1 : i,     x < n - 1 ? i + 1 : i,
                              y > 0 ? i - row : i,   y < n - 1 ? i + row : i,
                              z > 0 ? i - plane : i, z < n - 1 ? i + plane : i};
    const float3 s = spin_at(spins, i);
    float3 field = m.outer;
    for (int k = 0; k < 6; k++) {
        const float3 other = spin_at(spins, around[k]);
        field.x += m.exchange * (other.x - s.x);
        field.y += m.exchange * (other.y - s.y);
        field.z += m.exchange * (other.z - s.z);
    }
    field.z += m.anisotropy * s.z;
    const float3 torque = cross(s, field), damped = cross(s, torque);
    const float factor = -m.dt / (1.0f + m.damping * m.damping);
    float3 next = make_float3(s.x + factor * (torque.x + m.damping * damped.x),
                              s.y + factor * (torque.y + m.damping * damped.y),
                              s.z + factor * (torque.z + m.damping * damped.z));
    const float scale = 1.0f / sqrtf(next.x * next.x + next.y * next.y + next.z * next.z);
    return make_float3(next.x * scale, next.y * scale, next.z * scale);
}

__global__ void llg_step(Spins now, Spins next, Material material, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= n || y >= n || z >= n) return;
    const float3 spin = advanced(now, material, n, x, y, z);
    const size_t i = ((size_t)z * n + y) * n + x;
    next.x[i] = spin.x;
    next.y[i] = spin.y;
    next.z[i] = spin.z;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 16, 600);
    const size_t count = (size_t)n * n * n;
    const Material material = {1.3f, 0.4f, 0.1f, {0.2f, 0.0f, -0.5f}, 0.02f};
    std::vector<float> x = quick_values(count, 151), y = quick_values(count, 152), z(count);
    for (size_t i = 0; i < count; i++) {
        x[i] = 1.4f * x[i] - 0.7f;
        y[i] = 1.4f * y[i] - 0.7f;
        z[i] = sqrtf(1.0f - x[i] * x[i] - y[i] * y[i]);
    }
    const Spins now = {to_device(x), to_device(y), to_device(z)};
    const Spins next = {device_zeros<float>(count), device_zeros<float>(count),
                        device_zeros<float>(count)};

    dim3 block(32, 4, 4);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y,
              (n + block.z - 1) / block.z);
    llg_step<<<grid, block>>>(now, next, material, n);
    finish_launches();

    const Spins here = {x.data(), y.data(), z.data()};
    const auto expected = [&](size_t e) {
        return advanced(here, material, n, (int)(e % n), (int)(e / n % n), (int)(e / n / n));
    };
    const double errors[3] = {
        sampled_error(from_device(next.x, count), [&](size_t e) { return expected(e).x; }),
        sampled_error(from_device(next.y, count), [&](size_t e) { return expected(e).y; }),
        sampled_error(from_device(next.z, count), [&](size_t e) { return expected(e).z; })};
    return verdict(fmax(errors[0], fmax(errors[1], errors[2])));
}
