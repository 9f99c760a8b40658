// The vorticity of a flow on n x n x n points: the curl of three components by central
// differences, and its square. Zero on the surface.
//
//     nvcc -O2 -o curl3d curl3d.cu && ./curl3d 100

#include "../host.h"

struct Field {
    float *x, *y, *z;
};

__global__ void curl(Field u, Field w, float *enstrophy, int n, float scale) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < 1 || j < 1 || k < 1 || i >= n - 1 || j >= n - 1 || k >= n - 1) return;
    const int at = (k * n + j) * n + i, dj = n, dk = n * n;

    const float wx = scale * ((u.z[at + dj] - u.z[at - dj]) - (u.y[at + dk] - u.y[at - dk]));
    const float wy = scale * ((u.x[at + dk] - u.x[at - dk]) - (u.z[at + 1] - u.z[at - 1]));
    const float wz = scale * ((u.y[at + 1] - u.y[at - 1]) - (u.x[at + dj] - u.x[at - dj]));
    w.x[at] = wx;
    w.y[at] = wy;
    w.z[at] = wz;
    enstrophy[at] = 0.5f * (wx * wx + wy * wy + wz * wz);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20, 1000);
    const size_t count = (size_t)n * n * n;
    const float scale = 1.5f;
    const std::vector<float> ux = quick_values(count, 1), uy = quick_values(count, 2);
    const std::vector<float> uz = quick_values(count, 3);
    const Field u = {to_device(ux), to_device(uy), to_device(uz)};
    const Field w = {device_zeros<float>(count), device_zeros<float>(count),
                     device_zeros<float>(count)};
    float *enstrophy = device_zeros<float>(count);

    dim3 block(8, 8, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y,
              (n + block.z - 1) / block.z);
    curl<<<grid, block>>>(u, w, enstrophy, n, scale);
    finish_launches();

    const auto component = [&](size_t e, int which) {
        const int place[3] = {(int)(e % n), (int)(e / n % n), (int)(e / n / n)};
        for (int p : place)
            if (p == 0 || p == n - 1) return 0.0f;
        const size_t stride[3] = {1, (size_t)n, (size_t)n * n};
        const std::vector<float> *axes[3] = {&ux, &uy, &uz};
        const int a = (which + 1) % 3, b = (which + 2) % 3;
        const float first = (*axes[b])[e + stride[a]] - (*axes[b])[e - stride[a]];
        return scale * (first - ((*axes[a])[e + stride[b]] - (*axes[a])[e - stride[b]]));
    };
    double error = sampled_error(from_device(enstrophy, count), [&](size_t e) {
        float sum = 0.0f;
        for (int c = 0; c < 3; c++) sum += component(e, c) * component(e, c);
        return 0.5f * sum;
    });
    const float *parts[3] = {w.x, w.y, w.z};
    for (int c = 0; c < 3; c++)
        error += sampled_error(from_device(parts[c], count),
                               [&](size_t e) { return component(e, c); });
    return verdict(error);
}
