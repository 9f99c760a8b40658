// Light that passes two black holes, for a quick preview: n x n rays, each followed by twelve steps
// of Runge and Kutta's method. The directions in which they leave make a picture of the sky.
//
//     nvcc -O2 -o schwarzschild_rays schwarzschild_rays.cu && ./schwarzschild_rays 600

#include "../host.h"

#define STEPS 12

struct Vector {
    float x, y, z;
};

struct Hole {
    Vector place;
    float radius;
};

__host__ __device__ inline Vector operator+(Vector a, Vector b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}

__host__ __device__ inline Vector operator-(Vector a, Vector b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}

__host__ __device__ inline Vector operator*(float factor, Vector a) {
    return {factor * a.x, factor * a.y, factor * a.z};
}

__host__ __device__ inline float dot(Vector a, Vector b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

// The pull on light, by its angular momentum about the hole.
__host__ __device__ inline Vector pull(Hole hole, Vector place, Vector motion) {
    const Vector away = place - hole.place;
    const float square = dot(away, away), along = dot(away, motion);
    const float momentum = square * dot(motion, motion) - along * along;
    return (-1.5f * hole.radius * momentum / (square * square * sqrtf(square))) * away;
}

__host__ __device__ inline Vector bent(Hole a, Hole b, float step, Vector place, Vector motion) {
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        const Vector k1 = pull(a, place, motion) + pull(b, place, motion);
        const Vector m2 = motion + 0.5f * step * k1, p2 = place + 0.5f * step * motion;
        const Vector k2 = pull(a, p2, m2) + pull(b, p2, m2);
        const Vector m3 = motion + 0.5f * step * k2, p3 = place + 0.5f * step * m2;
        const Vector k3 = pull(a, p3, m3) + pull(b, p3, m3);
        const Vector m4 = motion + step * k3, p4 = place + step * m3;
        const Vector k4 = pull(a, p4, m4) + pull(b, p4, m4);
        place = place + (step / 6.0f) * (motion + 2.0f * m2 + 2.0f * m3 + m4);
        motion = motion + (step / 6.0f) * (k1 + 2.0f * k2 + 2.0f * k3 + k4);
    }
    return motion;
}

// All rays pass above both holes, at a distance at which none is caught.
__host__ __device__ inline Vector start(int n, int column, int row) {
    return {10.0f * (column + 0.5f) / n - 5.0f, 5.0f + 10.0f * (row + 0.5f) / n, -20.0f};
}

__global__ void schwarzschild_rays(int n, Hole first, Hole second, float step, float *sky_x,
                                   float *sky_y) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= n) return;
    const Vector ahead = {0.0f, 0.0f, 1.0f};
    const Vector motion = bent(first, second, step, start(n, column, row), ahead);
    sky_x[row * n + column] = motion.x / motion.z;
    sky_y[row * n + column] = motion.y / motion.z;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 60, 20000);
    const size_t count = (size_t)n * n;
    const Hole first = {{-1.5f, 0.0f, 0.0f}, 0.6f}, second = {{2.0f, -0.5f, 1.0f}, 0.4f};
    const float step = 40.0f / STEPS;
    float *sky_x = device_zeros<float>(count), *sky_y = device_zeros<float>(count);

    const dim3 block(16, 16);
    const dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    schwarzschild_rays<<<grid, block>>>(n, first, second, step, sky_x, sky_y);
    finish_launches();

    auto motion = [&](size_t e) {
        return bent(first, second, step, start(n, (int)(e % n), (int)(e / n)), {0.0f, 0.0f, 1.0f});
    };
    const double error_x = sampled_error(from_device(sky_x, count), [&](size_t e) {
        return motion(e).x / motion(e).z;
    });
    const double error_y = sampled_error(from_device(sky_y, count), [&](size_t e) {
        return motion(e).y / motion(e).z;
    });
    return verdict(fmax(error_x, error_y));
}
