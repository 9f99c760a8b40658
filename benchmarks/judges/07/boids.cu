// How n birds of a flock turn: each looks at all others and heeds those that are near, keeps away
// from the nearest, goes where they go and towards their middle. All pairs with a condition.
//
//     nvcc -O2 -o boids boids.cu && ./boids 10000

#include "../host.h"

struct Rules {
    float sight, distance, avoid, align, cohere;
};

__host__ __device__ inline float3 steer(int i, int n, const float4 *place, const float4 *speed,
                                        Rules rules) {
    const float4 own = place[i], heading = speed[i];
    const float sight2 = rules.sight * rules.sight, near2 = rules.distance * rules.distance;
    float3 away = make_float3(0.0f, 0.0f, 0.0f), along = away, towards = away;
    float seen = 0.0f;
    for (int j = 0; j < n; j++) {
        const float4 other = place[j];
        const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
        const float d2 = dx * dx + dy * dy + dz * dz;
        if (d2 < sight2 && j != i) {
            const float weight = 1.0f - d2 / sight2;
            const float4 v = speed[j];
            along.x += weight * v.x;
            along.y += weight * v.y;
            along.z += weight * v.z;
            towards.x += weight * dx;
            towards.y += weight * dy;
            towards.z += weight * dz;
            seen += weight;
            if (d2 < near2) {
                const float push = 1.0f - d2 / near2;
                away.x -= push * dx;
                away.y -= push * dy;
                away.z -= push * dz;
            }
        }
    }
    const float scale = 1.0f / (1.0f + seen);
    const float align = rules.align * scale, cohere = rules.cohere * scale;
    return make_float3(
        rules.avoid * away.x + align * (along.x - seen * heading.x) + cohere * towards.x,
        rules.avoid * away.y + align * (along.y - seen * heading.y) + cohere * towards.y,
        rules.avoid * away.z + align * (along.z - seen * heading.z) + cohere * towards.z);
}

__global__ void flock(int n, const float4 *__restrict__ place, const float4 *__restrict__ speed,
                      float3 *__restrict__ turn, Rules rules) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) turn[i] = steer(i, n, place, speed, rules);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200, 10000000);
    const Rules rules = {0.25f, 0.1f, 2.0f, 0.5f, 0.3f};
    std::vector<float4> place(n), speed(n);
    const std::vector<float> random = quick_values(6 * (size_t)n, 1);
    for (int i = 0; i < n; i++) {
        const float *r = &random[6 * (size_t)i];
        place[i] = make_float4(r[0], r[1], r[2], 0.0f);
        speed[i] = make_float4(r[3] - 0.5f, r[4] - 0.5f, r[5] - 0.5f, 0.0f);
    }
    const float4 *d_place = to_device(place), *d_speed = to_device(speed);
    float3 *d_turn = device_zeros<float3>(n);

    int threadsPerBlock = 128;
    int blocksPerGrid = (n + threadsPerBlock - 1) / threadsPerBlock;
    flock<<<blocksPerGrid, threadsPerBlock>>>(n, d_place, d_speed, d_turn, rules);
    finish_launches();

    const std::vector<float> found = from_device((const float *)d_turn, 3 * (size_t)n);
    return verdict(sampled_error(found, [&](size_t e) {
        const float3 turn = steer((int)(e / 3), n, place.data(), speed.data(), rules);
        return e % 3 == 0 ? turn.x : e % 3 == 1 ? turn.y : turn.z;
    }));
}
