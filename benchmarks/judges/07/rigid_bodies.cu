// A time step of n rigid bodies that turn: an array of structures of 80 bytes, in place, and forces
// and torques from two further arrays. Place, speed, orientation as a quaternion, and spin.
//
//     nvcc -O2 -o rigid_bodies rigid_bodies.cu && ./rigid_bodies 100000

#include "../host.h"

struct Body {
    float4 turned;  // quaternion
    float3 place, speed;
    float3 spin;  // about the body's own axes
    float3 inertia;
    float inverse_mass;
    int asleep;
};

__host__ __device__ inline Body moved(Body b, float3 force, float3 torque, float dt) {
    if (b.asleep) return b;
    const float push = dt * b.inverse_mass;
    b.speed.x += push * force.x;
    b.speed.y += push * force.y;
    b.speed.z += push * force.z - dt * 9.81f;
    b.place.x += dt * b.speed.x;
    b.place.y += dt * b.speed.y;
    b.place.z += dt * b.speed.z;

    const float3 w = b.spin, m = b.inertia;
    b.spin.x += dt * (torque.x + (m.y - m.z) * w.y * w.z) / m.x;
    b.spin.y += dt * (torque.y + (m.z - m.x) * w.z * w.x) / m.y;
    b.spin.z += dt * (torque.z + (m.x - m.y) * w.x * w.y) / m.z;
    const float4 q = b.turned;
    const float3 s = make_float3(0.5f * dt * b.spin.x, 0.5f * dt * b.spin.y, 0.5f * dt * b.spin.z);
    const float4 r = make_float4(q.x + q.w * s.x + q.y * s.z - q.z * s.y,
                                 q.y + q.w * s.y + q.z * s.x - q.x * s.z,
                                 q.z + q.w * s.z + q.x * s.y - q.y * s.x,
                                 q.w - q.x * s.x - q.y * s.y - q.z * s.z);
    const float unit = 1.0f / sqrtf(r.x * r.x + r.y * r.y + r.z * r.z + r.w * r.w);
    b.turned = make_float4(unit * r.x, unit * r.y, unit * r.z, unit * r.w);
    return b;
}

__global__ void integrate(Body *bodies, const float3 *force, const float3 *torque, int n,
                          float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) bodies[i] = moved(bodies[i], force[i], torque[i], dt);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 20000000);
    const float dt = 0.01f;
    std::vector<Body> bodies(n);
    std::vector<float3> force(n), torque(n);
    for (int i = 0; i < n; i++) {
        float r[24];
        for (int k = 0; k < 24; k++) r[k] = (mixed(24u * i + k) >> 8) * 0x1p-24f;
        bodies[i].place = make_float3(r[0], r[1], r[2]);
        bodies[i].speed = make_float3(r[3] - 0.5f, r[4] - 0.5f, r[5] - 0.5f);
        const float unit = 1.0f / sqrtf(1.0f + r[6] * r[6] + r[7] * r[7] + r[8] * r[8]);
        bodies[i].turned = make_float4(unit * r[6], unit * r[7], unit * r[8], unit);
        bodies[i].spin = make_float3(4.0f * r[9] - 2.0f, 4.0f * r[10] - 2.0f, 4.0f * r[11] - 2.0f);
        bodies[i].inertia = make_float3(0.5f + r[12], 0.5f + r[13], 0.5f + r[14]);
        bodies[i].inverse_mass = 0.2f + r[15];
        bodies[i].asleep = r[16] < 0.1f;
        force[i] = make_float3(r[17] - 0.5f, r[18] - 0.5f, r[19]);
        torque[i] = make_float3(r[20] - 0.5f, r[21] - 0.5f, r[22] - 0.5f);
    }
    Body *d_bodies = to_device(bodies);
    const float3 *d_force = to_device(force), *d_torque = to_device(torque);

    dim3 block(256);
    dim3 grid((n + block.x - 1) / block.x);
    integrate<<<grid, block>>>(d_bodies, d_force, d_torque, n, dt);
    finish_launches();

    // The first 13 numbers of a body are what changes: all of them, of 200 bodies.
    const std::vector<Body> found = from_device(d_bodies, n);
    const int step = n / 200 + 1;
    std::vector<float> numbers;
    for (int i = 0; i < n; i += step)
        for (int c = 0; c < 13; c++) numbers.push_back(((const float *)&found[i])[c]);
    return verdict(sampled_error(numbers, [&](size_t e) {
        const size_t i = e / 13 * step;
        const Body b = moved(bodies[i], force[i], torque[i], dt);
        return ((const float *)&b)[e % 13];
    }));
}
