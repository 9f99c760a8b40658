// Games: n drops of a fountain move for a step of time, once as an array of structures and once as
// a structure of arrays.
//
//     nvcc -O2 -o fountain fountain.cu && ./fountain 150000

#include "summed.h"

struct Vec3 {
    float x, y, z;
    __host__ __device__ Vec3 operator+(const Vec3 &o) const { return {x + o.x, y + o.y, z + o.z}; }
    __host__ __device__ Vec3 operator*(float s) const { return {x * s, y * s, z * s}; }
};

struct Drop {
    Vec3 position, velocity;
    float age, size;
};

struct Drops {
    float *px, *py, *pz, *vx, *vy, *vz, *age, *size;
};

__host__ __device__ inline void move(Drop &d, float dt) {
    const float drag = 1.0f - 0.1f * dt / d.size;
    d.velocity = d.velocity * drag + Vec3{0.0f, -9.81f * dt, 0.0f};
    d.position = d.position + d.velocity * dt;
    d.age += dt;
    if (d.position.y < 0.0f) {
        d.position.y = -d.position.y;
        d.velocity.y *= -0.5f;
    }
    if (d.age > 4.0f) {
        d.position = {0.0f, 0.0f, 0.0f};
        d.velocity = {d.velocity.z, 8.0f, d.velocity.x};
        d.age = 0.0f;
    }
}

__global__ void move_structures(Drop *drops, int n, float dt) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Drop d = drops[i];
        move(d, dt);
        drops[i] = d;
    }
}

__global__ void move_arrays(Drops drops, int n, float dt) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Drop d = {{drops.px[i], drops.py[i], drops.pz[i]},
              {drops.vx[i], drops.vy[i], drops.vz[i]},
              drops.age[i],
              drops.size[i]};
    move(d, dt);
    drops.px[i] = d.position.x;
    drops.py[i] = d.position.y;
    drops.pz[i] = d.position.z;
    drops.vx[i] = d.velocity.x;
    drops.vy[i] = d.velocity.y;
    drops.vz[i] = d.velocity.z;
    drops.age[i] = d.age;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 30000000);
    const float dt = 0.02f;
    std::vector<float> arrays[8];
    for (int k = 0; k < 8; k++) arrays[k] = quick_values(n, 2380 + k);
    std::vector<Drop> drops(n);
    for (int i = 0; i < n; i++) {
        arrays[6][i] *= 4.1f;
        arrays[7][i] += 0.2f;
        drops[i] = {{arrays[0][i], arrays[1][i], arrays[2][i]},
                    {arrays[3][i], arrays[4][i], arrays[5][i]},
                    arrays[6][i],
                    arrays[7][i]};
    }
    Drop *d_drops = to_device(drops);
    Drops d_arrays = {to_device(arrays[0]), to_device(arrays[1]), to_device(arrays[2]),
                      to_device(arrays[3]), to_device(arrays[4]), to_device(arrays[5]),
                      to_device(arrays[6]), to_device(arrays[7])};

    const int block = 256, grid = (n + block - 1) / block;
    move_structures<<<grid, block>>>(d_drops, n, dt);
    move_arrays<<<grid, block>>>(d_arrays, n, dt);
    finish_launches();

    const std::vector<Drop> moved = from_device(d_drops, n);
    std::vector<float> heights(n);
    for (int i = 0; i < n; i++) heights[i] = moved[i].position.y;
    const std::vector<float> others = from_device(d_arrays.py, n);
    say_sum("heights", heights);
    say_sum("other heights", others);
    auto expected = [&](size_t e) {
        Drop d = drops[e];
        move(d, dt);
        return d.position.y;
    };
    return verdict(fmax(sampled_error(heights, expected), sampled_error(others, expected)));
}
