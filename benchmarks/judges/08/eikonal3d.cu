// A Jacobi step towards arrival times of a front on n x n x n points (the eikonal equation, after
// Godunov): the earlier neighbour of each axis, put in order, decides how many axes count.
//
//     nvcc -O2 -o eikonal3d eikonal3d.cu && ./eikonal3d 100

#include "../host.h"

// The arrival time next to points that the front reaches at a, b and c.
__host__ __device__ inline float arrival(float a, float b, float c, float slowness) {
    const float low = fminf(a, fminf(b, c)), high = fmaxf(a, fmaxf(b, c));
    const float middle = fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
    // All after the earliest of the three.
    const float second = middle - low, third = high - low;
    float delay = slowness;
    if (delay > second)
        delay = 0.5f * (second + sqrtf(2.0f * slowness * slowness - second * second));
    if (delay > third) {
        const float sum = second + third, squares = second * second + third * third;
        const float root = sum * sum - 3.0f * (squares - slowness * slowness);
        delay = (sum + sqrtf(fmaxf(root, 0.0f))) / 3.0f;
    }
    return low + delay;
}

__global__ void eikonal(const float *slowness, const float *before, float *after, int nx, int ny,
                        int nz) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= nx || j >= ny || k >= nz) return;
    const int at = (k * ny + j) * nx + i;
    const float here = before[at];
    float time = here;
    if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1 && k > 0 && k < nz - 1) {
        const float a = fminf(before[at - 1], before[at + 1]);
        const float b = fminf(before[at - nx], before[at + nx]);
        const float c = fminf(before[at - nx * ny], before[at + nx * ny]);
        time = fminf(here, arrival(a, b, c, slowness[at]));
    }
    after[at] = time;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20, 1000);
    const size_t count = (size_t)n * n * n;
    std::vector<float> slowness = quick_values(count, 1), before = quick_values(count, 2);
    for (float &s : slowness) s = 0.5f + s;
    // As far as the corner, more or less.
    for (size_t e = 0; e < count; e++)
        before[e] = 0.6f * (float)(e % n + e / n % n + e / n / n) + 1.5f * before[e];
    const float *d_slowness = to_device(slowness), *d_before = to_device(before);
    float *d_after = device_zeros<float>(count);

    dim3 block(8, 8, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y,
              (n + block.z - 1) / block.z);
    eikonal<<<grid, block>>>(d_slowness, d_before, d_after, n, n, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_after, count), [&](size_t e) {
        const size_t place[3] = {e % n, e / n % n, e / n / n};
        for (size_t p : place)
            if (p == 0 || p == (size_t)n - 1) return before[e];
        float earlier[3];
        size_t stride = 1;
        for (int axis = 0; axis < 3; axis++, stride *= n)
            earlier[axis] = fminf(before[e - stride], before[e + stride]);
        return fminf(before[e], arrival(earlier[0], earlier[1], earlier[2], slowness[e]));
    }));
}
