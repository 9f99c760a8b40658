// A step of the bending of a plate of n x n points towards rest: the biharmonic operator of 13
// points. Two points at each border are held where they are.
//
//     nvcc -O2 -o plate_bending plate_bending.cu && ./plate_bending 1000

#include "../host.h"

__host__ __device__ inline float bend(const float *w, size_t at, size_t n, float rate) {
    const float near = w[at - 1] + w[at + 1] + w[at - n] + w[at + n];
    const float diagonal = w[at - n - 1] + w[at - n + 1] + w[at + n - 1] + w[at + n + 1];
    const float far = w[at - 2] + w[at + 2] + w[at - 2 * n] + w[at + 2 * n];
    return w[at] - rate * (20.0f * w[at] - 8.0f * near + 2.0f * diagonal + far);
}

__global__ void plate_bending(const float *w, float *w_new, int width, int height, float rate) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col >= width || row >= height) return;
    size_t at = (size_t)row * width + col;
    if (col >= 2 && row >= 2 && col < width - 2 && row < height - 2)
        w_new[at] = bend(w, at, width, rate);
    else
        w_new[at] = w[at];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64);
    const size_t count = (size_t)n * n;
    const float rate = 0.01f;
    const std::vector<float> w = quick_values(count, 1);
    const float *d_w = to_device(w);
    float *d_new = device_zeros<float>(count);

    dim3 threads(32, 8);
    dim3 blocks((n + threads.x - 1) / threads.x, (n + threads.y - 1) / threads.y);
    plate_bending<<<blocks, threads>>>(d_w, d_new, n, n, rate);
    finish_launches();

    return verdict(sampled_error(from_device(d_new, count), [&](size_t e) {
        const size_t x = e % n, y = e / n, size = n;
        const bool inside = x >= 2 && y >= 2 && x + 2 < size && y + 2 < size;
        return inside ? bend(w.data(), e, n, rate) : w[e];
    }));
}
