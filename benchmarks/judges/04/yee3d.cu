// A time step of Maxwell's equations on n x n x n cells by Yee's scheme: the magnetic field from
// the electric one, then the electric field from the new magnetic one.
//
//     nvcc -O2 -o yee3d yee3d.cu && ./yee3d 100

#include "../judge.h"

struct Field {
    float *x, *y, *z;
};

__global__ void update_magnetic(int n, float factor, Field e, Field h) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= n - 1 || j >= n - 1 || k >= n - 1) return;
    const int at = (k * n + j) * n + i, right = at + 1, below = at + n, behind = at + n * n;
    const float ex = e.x[at], ey = e.y[at], ez = e.z[at];
    h.x[at] += factor * ((e.y[behind] - ey) - (e.z[below] - ez));
    h.y[at] += factor * ((e.z[right] - ez) - (e.x[behind] - ex));
    h.z[at] += factor * ((e.x[below] - ex) - (e.y[right] - ey));
}

__global__ void update_electric(int n, float factor, Field h, Field e) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i == 0 || j == 0 || k == 0 || i >= n || j >= n || k >= n) return;
    const int at = (k * n + j) * n + i, left = at - 1, above = at - n, before = at - n * n;
    const float hx = h.x[at], hy = h.y[at], hz = h.z[at];
    e.x[at] += factor * ((hz - h.z[above]) - (hy - h.y[before]));
    e.y[at] += factor * ((hx - h.x[before]) - (hz - h.z[left]));
    e.z[at] += factor * ((hy - h.y[left]) - (hx - h.x[above]));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 24, 800);
    const size_t count = (size_t)n * n * n, plane = (size_t)n * n;
    const float factor = 0.3f;
    const std::vector<float> ex = fixed_values(count, 1), ey = fixed_values(count, 2);
    const std::vector<float> ez = fixed_values(count, 3), hx = fixed_values(count, 4);
    const std::vector<float> hy = fixed_values(count, 5), hz = fixed_values(count, 6);
    const Field e = {to_device(ex), to_device(ey), to_device(ez)};
    const Field h = {to_device(hx), to_device(hy), to_device(hz)};

    const dim3 block(8, 8, 4);
    const dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y), blocks_for(n, block.z));
    update_magnetic<<<grid, block>>>(n, factor, e, h);
    update_electric<<<grid, block>>>(n, factor, h, e);
    finish_launches();

    const auto inside = [&](size_t at) {
        const size_t last = n - 1;
        return at % n < last && at / n % n < last && at / plane < last;
    };
    const auto new_hx = [&](size_t at) {
        if (!inside(at)) return hx[at];
        return hx[at] + factor * ((ey[at + plane] - ey[at]) - (ez[at + n] - ez[at]));
    };
    const auto new_hy = [&](size_t at) {
        if (!inside(at)) return hy[at];
        return hy[at] + factor * ((ez[at + 1] - ez[at]) - (ex[at + plane] - ex[at]));
    };
    return verdict(sampled_error(from_device(e.z, count), [&](size_t at) {
        if (at % n == 0 || at / n % n == 0 || at / plane == 0) return ez[at];
        const float curl = (new_hy(at) - new_hy(at - 1)) - (new_hx(at) - new_hx(at - n));
        return ez[at] + factor * curl;
    }));
}
