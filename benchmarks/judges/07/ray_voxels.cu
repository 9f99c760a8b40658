// n x n rays through a cloud of 96 x 96 x 96 voxels, from a camera at its side: a ray goes from
// voxel to voxel by the way of Amanatides and Woo, collects light, and ends where the cloud before
// it is opaque. How many voxels that takes depends on the cloud.
//
//     nvcc -O2 -o ray_voxels ray_voxels.cu && ./ray_voxels 500

#include "../host.h"

#define SIDE 96

__host__ __device__ inline float light(const float *density, float3 from, float3 to) {
    const float origin[3] = {from.x, from.y, from.z}, direction[3] = {to.x, to.y, to.z};
    int voxel[3], step[3];
    float next[3], delta[3], enter = 0.0f, leave = 1e30f;
    for (int a = 0; a < 3; a++) {
        const float inverse = 1.0f / direction[a];
        const float low = -origin[a] * inverse, high = (SIDE - origin[a]) * inverse;
        enter = fmaxf(enter, fminf(low, high));
        leave = fminf(leave, fmaxf(low, high));
        delta[a] = fabsf(inverse);
    }
    if (enter >= leave) return 0.0f;
    for (int a = 0; a < 3; a++) {
        const int place = (int)floorf(origin[a] + enter * direction[a]);
        voxel[a] = place < 0 ? 0 : place >= SIDE ? SIDE - 1 : place;
        step[a] = direction[a] > 0.0f ? 1 : -1;
        next[a] = (voxel[a] + (step[a] > 0) - origin[a]) / direction[a];
    }

    float at = enter, collected = 0.0f, through = 1.0f;
    while (through > 1e-5f) {
        const float here = density[(voxel[2] * SIDE + voxel[1]) * SIDE + voxel[0]];
        const int a = next[0] < next[1] ? (next[0] < next[2] ? 0 : 2)
                                        : (next[1] < next[2] ? 1 : 2);
        if (here > 0.0f) {
            const float kept = expf(-here * fmaxf(next[a] - at, 0.0f));
            collected += through * (1.0f - kept) * (0.5f + here);
            through *= kept;
        }
        at = next[a];
        next[a] += delta[a];
        voxel[a] += step[a];
        if (voxel[a] < 0 || voxel[a] >= SIDE) break;
    }
    return collected;
}

__host__ __device__ inline float3 view(int x, int y, int n) {
    return make_float3((x + 0.5f) / n - 0.4987f, (y + 0.5f) / n - 0.5013f, 1.0f);
}

__global__ void render(const float *density, float *image, int n, float3 camera) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n) image[y * n + x] = light(density, camera, view(x, y, n));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 48);
    const size_t count = (size_t)n * n;
    std::vector<float> density(SIDE * SIDE * SIDE);
    for (size_t e = 0; e < density.size(); e++) {
        const float x = (float)(e % SIDE), y = (float)(e / SIDE % SIDE);
        const float z = (float)(e / SIDE / SIDE);
        const float cloud = sinf(0.11f * x) * sinf(0.09f * y + 1.0f) * sinf(0.13f * z + 0.5f);
        density[e] = cloud > 0.1f ? cloud * (0.5f + mixed((uint32_t)e) * 0x1p-32f) : 0.0f;
    }
    const float *d_density = to_device(density);
    float *d_image = device_zeros<float>(count);

    const float3 camera = make_float3(47.3f, 48.9f, -60.0f);
    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    render<<<grid, block>>>(d_density, d_image, n, camera);
    finish_launches();

    return verdict(sampled_error(from_device(d_image, count), [&](size_t e) {
        return light(density.data(), camera, view((int)(e % n), (int)(e / n), n));
    }));
}
