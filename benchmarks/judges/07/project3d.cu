// The end of a time step of a smoke simulation on n x n x n cells: the velocities on the sides of
// the cells lose the gradient of the pressure, and are zero where one of the two cells is solid.
// Three arrays are changed, and one and a mask of bytes read.
//
//     nvcc -O2 -o project3d project3d.cu && ./project3d 100

#include "../host.h"

#define INDEX(i, j, k, n) (((k) * (n) + (j)) * (n) + (i))

__global__ void project(int n, float *u, float *v, float *w, const float *p,
                        const unsigned char *solid, float scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= n || j >= n || k >= n) return;

    int c = INDEX(i, j, k, n);
    bool here = solid[c];
    float pressure = p[c];
    if (i > 0) {
        int left = INDEX(i - 1, j, k, n);
        if (here || solid[left]) u[c] = 0.0f;
        else u[c] -= scale * (pressure - p[left]);
    }
    if (j > 0) {
        int below = INDEX(i, j - 1, k, n);
        if (here || solid[below]) v[c] = 0.0f;
        else v[c] -= scale * (pressure - p[below]);
    }
    if (k > 0) {
        int behind = INDEX(i, j, k - 1, n);
        if (here || solid[behind]) w[c] = 0.0f;
        else w[c] -= scale * (pressure - p[behind]);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20, 1200);
    const size_t count = (size_t)n * n * n;
    const float scale = 0.8f;
    const std::vector<float> p = quick_values(count, 1);
    std::vector<unsigned char> solid(count);
    // A ball, and the floor.
    for (size_t e = 0; e < count; e++) {
        const float x = (float)(e % n) / n - 0.5f, y = (float)(e / n % n) / n - 0.5f;
        const float z = (float)(e / n / n) / n - 0.4f;
        solid[e] = x * x + y * y + z * z < 0.04f || e / n % n == 0;
    }
    const std::vector<float> velocity[3] = {quick_values(count, 2), quick_values(count, 3),
                                            quick_values(count, 4)};
    const float *d_p = to_device(p);
    const unsigned char *d_solid = to_device(solid);
    float *d_velocity[3];
    for (int a = 0; a < 3; a++) d_velocity[a] = to_device(velocity[a]);

    dim3 block(16, 4, 4);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y,
              (n + block.z - 1) / block.z);
    project<<<grid, block>>>(n, d_velocity[0], d_velocity[1], d_velocity[2], d_p, d_solid, scale);
    finish_launches();

    double error = 0.0;
    size_t stride = 1;
    for (int a = 0; a < 3; a++, stride *= n)
        error += sampled_error(from_device(d_velocity[a], count), [&](size_t e) {
            if (e / stride % n == 0) return velocity[a][e];
            if (solid[e] || solid[e - stride]) return 0.0f;
            return velocity[a][e] - scale * (p[e] - p[e - stride]);
        });
    return verdict(error);
}
