// Accelerations and their rates of change ("jerk") of n bodies, as a Hermite integrator of a star
// cluster needs them. Every thread sums over all bodies.
//
//     nvcc -O2 -o hermite_jerk hermite_jerk.cu && ./hermite_jerk 10000

#include "../host.h"

#define SOFTENING 1e-2f

struct Forces {
    float3 acceleration, jerk;
};

__host__ __device__ inline void add_body(Forces *sum, float4 from, float4 from_speed, float4 at,
                                         float4 speed) {
    const float dx = from.x - at.x, dy = from.y - at.y, dz = from.z - at.z;
    const float vx = from_speed.x - speed.x, vy = from_speed.y - speed.y,
                vz = from_speed.z - speed.z;
    const float square = dx * dx + dy * dy + dz * dz + SOFTENING;
    const float inverse = 1.0f / sqrtf(square);
    const float pull = from.w * inverse * inverse * inverse;
    const float rate = 3.0f * (dx * vx + dy * vy + dz * vz) * inverse * inverse;
    sum->acceleration.x += pull * dx;
    sum->acceleration.y += pull * dy;
    sum->acceleration.z += pull * dz;
    sum->jerk.x += pull * (vx - rate * dx);
    sum->jerk.y += pull * (vy - rate * dy);
    sum->jerk.z += pull * (vz - rate * dz);
}

__global__ void hermite_jerk(const float4 *__restrict__ place, const float4 *__restrict__ speed,
                             float3 *acceleration, float3 *jerk, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 own_place = place[i], own_speed = speed[i];
    Forces sum = {};
    for (int j = 0; j < n; j++) add_body(&sum, place[j], speed[j], own_place, own_speed);
    acceleration[i] = sum.acceleration;
    jerk[i] = sum.jerk;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 20);
    std::vector<float> places = quick_values(4 * (size_t)n, 1);
    std::vector<float> speeds = quick_values(4 * (size_t)n, 2);
    for (float &value : places) value *= 4.0f;
    const float *d_places = to_device(places), *d_speeds = to_device(speeds);
    float *d_acceleration = device_zeros<float>(3 * (size_t)n);
    float *d_jerk = device_zeros<float>(3 * (size_t)n);

    const int threads = 256;
    hermite_jerk<<<(n + threads - 1) / threads, threads>>>(
        (const float4 *)d_places, (const float4 *)d_speeds, (float3 *)d_acceleration,
        (float3 *)d_jerk, n);
    finish_launches();

    const float4 *place = (const float4 *)places.data(), *speed = (const float4 *)speeds.data();
    const auto expected = [&](int i) {
        Forces sum = {};
        for (int j = 0; j < n; j++) add_body(&sum, place[j], speed[j], place[i], speed[i]);
        return sum;
    };
    const std::vector<float> acceleration = from_device(d_acceleration, 3 * (size_t)n);
    const std::vector<float> jerk = from_device(d_jerk, 3 * (size_t)n);
    // A component of each of about 200 bodies.
    std::vector<float> found, wanted;
    for (int i = 0; i < n; i += n / 200 + 1) {
        const Forces sum = expected(i);
        found.push_back(acceleration[3 * (size_t)i + 1]);
        wanted.push_back(sum.acceleration.y);
        found.push_back(jerk[3 * (size_t)i + 2]);
        wanted.push_back(sum.jerk.z);
    }
    return verdict(relative_error(found, wanted));
}
