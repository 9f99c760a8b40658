// Light by path tracing in a scene of ten spheres, mirrors and matt ones: n x (3 n / 4) pixels with
// four paths each, which end at the light, outside, by chance or after eight reflections.
//
//     nvcc -O2 -o path_spheres path_spheres.cu && ./path_spheres 640

#include "../host.h"

#define SPHERES 10
#define PATHS 4
#define REFLECTIONS 8

struct Sphere {
    float x, y, z, radius, colour, light;
    int mirror;
};

__constant__ Sphere scene[SPHERES];

__host__ __device__ inline float next_random(uint32_t &state) {
    state = state * 1664525u + 1013904223u;
    return (float)(mixed(state) >> 8) * (1.0f / 16777216.0f);
}

__host__ __device__ inline float3 sum(float3 a, float3 b) {
    return make_float3(a.x + b.x, a.y + b.y, a.z + b.z);
}

__host__ __device__ inline float3 times(float3 a, float by) {
    return make_float3(a.x * by, a.y * by, a.z * by);
}

__host__ __device__ inline float dot(float3 a, float3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

__host__ __device__ inline float3 unit(float3 a) { return times(a, 1.0f / sqrtf(dot(a, a))); }

// How far along a ray the sphere is, or a negative number.
__host__ __device__ inline float distance_to(const Sphere &sphere, float3 from, float3 along) {
    const float3 centre = make_float3(sphere.x - from.x, sphere.y - from.y, sphere.z - from.z);
    const float b = dot(centre, along);
    const float square = b * b - dot(centre, centre) + sphere.radius * sphere.radius;
    if (square < 0.0f) return -1.0f;
    const float root = sqrtf(square);
    return b - root > 1e-2f ? b - root : b + root > 1e-2f ? b + root : -1.0f;
}

__host__ __device__ inline float light_along(const Sphere *spheres, float3 from, float3 along,
                                             uint32_t &state) {
    float weight = 1.0f, light = 0.0f;
    for (int r = 0; r < REFLECTIONS; r++) {
        float nearest = 1e30f;
        int hit = -1;
        for (int s = 0; s < SPHERES; s++) {
            const float distance = distance_to(spheres[s], from, along);
            if (distance > 0.0f && distance < nearest) {
                nearest = distance;
                hit = s;
            }
        }
        if (hit < 0) return light + weight * 0.1f * (1.0f + along.y);
        const Sphere &sphere = spheres[hit];
        light += weight * sphere.light;
        if (sphere.light > 0.0f || next_random(state) > sphere.colour) return light;
        from = sum(from, times(along, nearest));
        const float3 outward = make_float3(from.x - sphere.x, from.y - sphere.y, from.z - sphere.z);
        float3 normal = times(outward, 1.0f / sphere.radius);
        const float cosine = dot(normal, along);
        if (sphere.mirror) {
            along = unit(sum(along, times(normal, -2.0f * cosine)));
        } else {
            if (cosine > 0.0f) normal = times(normal, -1.0f);
            const float height = 2.0f * next_random(state) - 1.0f;
            const float angle = 6.2831853f * next_random(state);
            const float flat = sqrtf(1.0f - height * height);
            const float3 point = make_float3(flat * cosf(angle), flat * sinf(angle), height);
            along = unit(sum(times(normal, 1.001f), point));
        }
    }
    return light;
}

__host__ __device__ inline float pixel(const Sphere *spheres, int x, int y, int width, int height) {
    uint32_t state = mixed((uint32_t)(y * width + x));
    float light = 0.0f;
    for (int p = 0; p < PATHS; p++) {
        const float u = ((float)x + next_random(state)) / (float)width - 0.5f;
        const float v = ((float)(height - y) - next_random(state)) / (float)width - 0.375f;
        light += light_along(spheres, make_float3(0.0f, 1.0f, -8.0f),
                             unit(make_float3(u, v, 0.8f)), state);
    }
    return light * (1.0f / PATHS);
}

__global__ void path_spheres(float *image, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) image[y * width + x] = pixel(scene, x, y, width, height);
}

int main(int argc, char **argv) {
    const int width = size_argument(argc, argv, 32, 20000), height = width * 3 / 4;
    const size_t count = (size_t)width * height;
    const Sphere spheres[SPHERES] = {
        {0, -100, 0, 98, 0.7f, 0, 0},         {0, 0, 110, 100, 0.6f, 0, 0},
        {0, 9, 0, 3, 0, 5, 0},                {-3, -1, 2, 1, 0.9f, 0, 1},
        {0, -0.8f, 1, 1.2f, 0.8f, 0, 0},      {2.8f, -1, 0, 1, 0.95f, 0, 1},
        {-1.5f, -1.5f, -2, 0.5f, 0.5f, 0, 0}, {1.4f, -1.6f, -2.5f, 0.4f, 0.9f, 0, 1},
        {1.2f, 2, 3, 1, 0.7f, 0, 0},          {-2, 2.5f, 4, 1.4f, 0.9f, 0, 1}};
    CHECK(cudaMemcpyToSymbol(scene, spheres, sizeof spheres));
    float *d_image = device_zeros<float>(count);

    dim3 block(16, 16);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    path_spheres<<<grid, block>>>(d_image, width, height);
    finish_launches();

    // A path that is rounded otherwise may hit another sphere: a few pixels may differ.
    const std::vector<float> image = from_device(d_image, count);
    const size_t step = count / 1000 + 1;
    size_t samples = 0, different = 0;
    for (size_t e = 0; e < count; e += step, samples++) {
        const float wanted = pixel(spheres, (int)(e % width), (int)(e / width), width, height);
        if (!(fabsf(image[e] - wanted) < 1e-2f)) different++;
    }
    return verdict(50 * different > samples ? 1.0 : 0.0);
}
