// Gaussian splatting, first part: n Gaussians in space, structures of 44 bytes, become ellipses in
// the picture, structures of 32 bytes. Those behind the camera get a radius of zero.
//
//     nvcc -O2 -o splat_project splat_project.cu && ./splat_project 1500000

#include "../host.h"

struct Gaussian {
    float mean[3];
    float scale[3];
    float rotation[4];
    float opacity;
};

struct Splat {
    float x, y, depth;
    float conic[3];
    float opacity;
    float radius;
};

struct Camera {
    float view[12];
    float focal_x, focal_y, centre_x, centre_y;
};

__host__ __device__ inline Splat project(const Gaussian &g, const Camera &camera) {
    Splat splat = {};
    float t[3];
    for (int i = 0; i < 3; i++)
        t[i] = camera.view[4 * i] * g.mean[0] + camera.view[4 * i + 1] * g.mean[1] +
               camera.view[4 * i + 2] * g.mean[2] + camera.view[4 * i + 3];
    if (t[2] < 0.2f) return splat;

    // The three axes of the Gaussian, in the camera's view.
    const float *q = g.rotation;
    const float scale = 1.0f / sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    const float w = q[0] * scale, x = q[1] * scale, y = q[2] * scale, z = q[3] * scale;
    const float xx = x * x, yy = y * y, zz = z * z;
    const float axes[9] = {1 - 2 * (yy + zz),   2 * (x * y - w * z), 2 * (x * z + w * y),
                           2 * (x * y + w * z), 1 - 2 * (xx + zz),   2 * (y * z - w * x),
                           2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (xx + yy)};
    const float near = 1.0f / t[2];
    float a = 0.3f, b = 0.0f, c = 0.3f;
    for (int k = 0; k < 3; k++) {
        float v[3];
        for (int i = 0; i < 3; i++)
            v[i] = (camera.view[4 * i] * axes[k] + camera.view[4 * i + 1] * axes[3 + k] +
                    camera.view[4 * i + 2] * axes[6 + k]) *
                   g.scale[k];
        const float px = camera.focal_x * near * (v[0] - t[0] * near * v[2]);
        const float py = camera.focal_y * near * (v[1] - t[1] * near * v[2]);
        a += px * px;
        b += px * py;
        c += py * py;
    }
    const float determinant = a * c - b * b, middle = 0.5f * (a + c);
    const float spread = sqrtf(fmaxf(0.1f, middle * middle - determinant));
    splat.x = camera.focal_x * t[0] * near + camera.centre_x;
    splat.y = camera.focal_y * t[1] * near + camera.centre_y;
    splat.depth = t[2];
    splat.conic[0] = c / determinant;
    splat.conic[1] = -b / determinant;
    splat.conic[2] = a / determinant;
    splat.opacity = g.opacity;
    splat.radius = ceilf(3.0f * sqrtf(middle + spread));
    return splat;
}

__global__ void project_all(const Gaussian *__restrict__ gaussians, Splat *__restrict__ splats,
                            Camera camera, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) splats[i] = project(gaussians[i], camera);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 60000000);
    std::vector<Gaussian> gaussians(n);
    for (int i = 0; i < n; i++) {
        Gaussian &g = gaussians[i];
        const uint32_t bits = mixed(i + 151u), more = mixed(bits);
        for (int k = 0; k < 3; k++) {
            g.mean[k] = (float)(bits >> 10 * k & 1023) * (8.0f / 1024) - 4.0f;
            g.scale[k] = 0.05f + 0.001f * (float)(more >> 8 * k & 127);
        }
        for (int k = 0; k < 4; k++) g.rotation[k] = (float)((bits ^ more) >> 7 * k & 127) - 63.5f;
        g.opacity = (float)(more >> 24) * (1.0f / 256);
    }
    // Three units before the middle, turned by 30 degrees about the vertical.
    const Camera camera = {{0.8660254f, 0.0f, -0.5f, 0.1f, 0.0f, 1.0f, 0.0f, -0.2f, 0.5f, 0.0f,
                            0.8660254f, 3.0f},
                           1100.0f, 1100.0f, 960.0f, 540.0f};
    const Gaussian *d_gaussians = to_device(gaussians);
    Splat *d_splats = device_zeros<Splat>(n);

    const int threads = 256;
    project_all<<<(n + threads - 1) / threads, threads>>>(d_gaussians, d_splats, camera, n);
    finish_launches();

    // Small differences of large numbers, and radii, which are rounded up, may be a little off.
    const std::vector<float> out = from_device((const float *)d_splats, (size_t)n * 8);
    return verdict(sampled_error(out, [&](size_t e) {
        const Splat splat = project(gaussians[e / 8], camera);
        const float *fields = (const float *)&splat;
        const float expected = fields[e % 8];
        float slack = 0.02f;
        if (e % 8 >= 3) slack = 1e-4f * (splat.conic[0] + splat.conic[2]);
        if (e % 8 == 7) slack = 1.0f;
        return fabsf(out[e] - expected) <= slack ? out[e] : expected;
    }));
}
