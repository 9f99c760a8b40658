// A flow on n x n x n points: the strain rates and the vorticity, nine fields of the velocity's
// central differences, each written where its formula stands.
//
//     nvcc -O2 -o strain_rates strain_rates.cu && ./strain_rates 200

#include "../host.h"

#define ALONG(field, stride) (half * (field[at + (stride)] - field[at - (stride)]))

__global__ void strain_rates(int n, float half, const float *u, const float *v, const float *w,
                             float *sxx, float *syy, float *szz, float *sxy, float *sxz,
                             float *syz, float *wx, float *wy, float *wz) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1) return;
    const int plane = n * n, at = z * plane + y * n + x;
    sxx[at] = ALONG(u, 1);
    syy[at] = ALONG(v, n);
    szz[at] = ALONG(w, plane);
    sxy[at] = 0.5f * (ALONG(u, n) + ALONG(v, 1));
    sxz[at] = 0.5f * (ALONG(u, plane) + ALONG(w, 1));
    syz[at] = 0.5f * (ALONG(v, plane) + ALONG(w, n));
    wx[at] = ALONG(w, n) - ALONG(v, plane);
    wy[at] = ALONG(u, plane) - ALONG(w, 1);
    wz[at] = ALONG(v, 1) - ALONG(u, n);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 800);
    const size_t count = (size_t)n * n * n;
    const float half = 0.5f * n;
    std::vector<float> velocity[3];
    const float *in[3];
    float *out[9];
    for (int i = 0; i < 3; i++) in[i] = to_device(velocity[i] = quick_values(count, i + 1));
    for (float *&field : out) field = device_zeros<float>(count);

    const dim3 block(32, 4, 2);
    const dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y), blocks_for(n, block.z));
    strain_rates<<<grid, block>>>(n, half, in[0], in[1], in[2], out[0], out[1], out[2], out[3],
                                  out[4], out[5], out[6], out[7], out[8]);
    finish_launches();

    auto inside = [&](size_t e) {
        for (const size_t place : {e % n, e / n % n, e / n / n})
            if (place < 1 || place + 1 >= (size_t)n) return false;
        return true;
    };
    auto along = [&](int component, int axis, size_t e) {
        const size_t stride = axis == 0 ? 1 : axis == 1 ? n : (size_t)n * n;
        return (double)half * (velocity[component][e + stride] - velocity[component][e - stride]);
    };
    const double error_xz = sampled_error(from_device(out[4], count), [&](size_t e) {
        return inside(e) ? 0.5 * (along(0, 2, e) + along(2, 0, e)) : 0.0;
    });
    const double error_wx = sampled_error(from_device(out[6], count), [&](size_t e) {
        return inside(e) ? along(2, 1, e) - along(1, 2, e) : 0.0;
    });
    return verdict(fmax(error_xz, error_wx));
}
