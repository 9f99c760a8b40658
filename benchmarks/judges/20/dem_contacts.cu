// Granular flow: n spheres that lie sorted by cells of a diameter's size. Each looks for the
// others that it touches in 27 cells, and adds up springs, dampers and friction.
//
//     nvcc -O2 -o dem_contacts dem_contacts.cu && ./dem_contacts 50000

#include "../host.h"

// The force of the sphere `b` on the sphere `a`, added to `force`; radii are the fourth components.
__host__ __device__ inline void touch(float4 a, float4 a_speed, float4 b, float4 b_speed,
                                      float4 &force) {
    const float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
    const float squared = dx * dx + dy * dy + dz * dz, reach = a.w + b.w;
    if (squared >= reach * reach || squared == 0.0f) return;
    const float distance = sqrtf(squared), overlap = reach - distance;
    const float nx = dx / distance, ny = dy / distance, nz = dz / distance;
    const float ux = a_speed.x - b_speed.x, uy = a_speed.y - b_speed.y, uz = a_speed.z - b_speed.z;
    const float normal = ux * nx + uy * ny + uz * nz;
    const float push = 40.0f * overlap * sqrtf(overlap) - 0.6f * normal;
    const float tx = ux - normal * nx, ty = uy - normal * ny, tz = uz - normal * nz;
    const float slide = sqrtf(tx * tx + ty * ty + tz * tz);
    const float friction = fminf(0.5f * fabsf(push), 2.0f * slide) / (slide + 1e-6f);
    force.x += push * nx - friction * tx;
    force.y += push * ny - friction * ty;
    force.z += push * nz - friction * tz;
    force.w += 1.0f;
}

__host__ __device__ inline float4 contacts_of(int i, const float4 *places, const float4 *speeds,
                                              const int *starts, int side) {
    const float4 own = places[i], speed = speeds[i];
    const int cx = (int)own.x, cy = (int)own.y, cz = (int)own.z;
    float4 force = make_float4(0.0f, 0.0f, -1.0f, 0.0f);
    for (int z = cz > 0 ? cz - 1 : 0; z <= cz + 1 && z < side; z++)
        for (int y = cy > 0 ? cy - 1 : 0; y <= cy + 1 && y < side; y++)
            for (int x = cx > 0 ? cx - 1 : 0; x <= cx + 1 && x < side; x++) {
                const int cell = (z * side + y) * side + x;
                for (int j = starts[cell]; j < starts[cell + 1]; j++)
                    if (j != i) touch(own, speed, places[j], speeds[j], force);
            }
    return force;
}

__global__ void contacts(const float4 *places, const float4 *speeds, const int *starts,
                         float4 *forces, int side, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) forces[i] = contacts_of(i, places, speeds, starts, side);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 20000000);
    const int side = (int)cbrt(n / 0.9) + 1;
    const size_t cells = (size_t)side * side * side;
    std::vector<int> starts(cells + 1);
    for (int i = 0; i < n; i++) starts[mixed(i + 2051u) % cells + 1]++;
    for (size_t cell = 0; cell < cells; cell++) starts[cell + 1] += starts[cell];
    const std::vector<float> noise = quick_values(7 * (size_t)n, 2052);
    std::vector<float4> places(n), speeds(n);
    for (size_t cell = 0; cell < cells; cell++)
        for (int i = starts[cell]; i < starts[cell + 1]; i++) {
            const float *own = noise.data() + 7 * (size_t)i;
            const size_t x = cell % side, y = cell / side % side, z = cell / side / side;
            places[i] = make_float4(x + 0.99f * own[0], y + 0.99f * own[1], z + 0.99f * own[2],
                                    0.3f + 0.2f * own[3]);
            speeds[i] = make_float4(own[4] - 0.5f, own[5] - 0.5f, own[6] - 0.5f, 0.0f);
        }
    const float4 *d_places = to_device(places), *d_speeds = to_device(speeds);
    const int *d_starts = to_device(starts);
    float *d_forces = device_zeros<float>(4 * (size_t)n);

    contacts<<<(n + 63) / 64, 64>>>(d_places, d_speeds, d_starts, (float4 *)d_forces, side, n);
    finish_launches();

    const std::vector<float> forces = from_device(d_forces, 4 * (size_t)n);
    return verdict(sampled_error(forces, [&](size_t e) {
        const float4 force =
            contacts_of((int)(e / 4), places.data(), speeds.data(), starts.data(), side);
        const float parts[4] = {force.x, force.y, force.z, force.w};
        return parts[e % 4];
    }));
}
