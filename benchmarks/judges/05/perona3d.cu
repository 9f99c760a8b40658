// Denoising of a volume of n x n x n voxels by anisotropic diffusion (Perona and Malik): a step of
// explicit time, where steep differences conduct less.
//
//     nvcc -O2 -o perona3d perona3d.cu && ./perona3d 100

#include "../host.h"

__host__ __device__ inline float flow(float difference, float inverse_kappa) {
    const float steep = difference * inverse_kappa;
    return difference * expf(-steep * steep);
}

__global__ void perona_malik(const float *in, float *out, int3 dim, float inverse_kappa,
                             float lambda) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= dim.x || y >= dim.y || z >= dim.z) return;

    const int slice = dim.x * dim.y;
    const int idx = z * slice + y * dim.x + x;
    const float center = in[idx];
    // No flow through the outer faces.
    float sum = 0.0f;
    if (x > 0) sum += flow(in[idx - 1] - center, inverse_kappa);
    if (x < dim.x - 1) sum += flow(in[idx + 1] - center, inverse_kappa);
    if (y > 0) sum += flow(in[idx - dim.x] - center, inverse_kappa);
    if (y < dim.y - 1) sum += flow(in[idx + dim.x] - center, inverse_kappa);
    if (z > 0) sum += flow(in[idx - slice] - center, inverse_kappa);
    if (z < dim.z - 1) sum += flow(in[idx + slice] - center, inverse_kappa);
    out[idx] = center + lambda * sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20, 1000);
    const size_t count = (size_t)n * n * n;
    const float inverse_kappa = 2.5f, lambda = 0.14f;
    const std::vector<float> volume = quick_values(count, 1);
    const float *d_in = to_device(volume);
    float *d_out = device_zeros<float>(count);

    const dim3 block(8, 8, 8);
    const dim3 grid((n + 7) / 8, (n + 7) / 8, (n + 7) / 8);
    perona_malik<<<grid, block>>>(d_in, d_out, make_int3(n, n, n), inverse_kappa, lambda);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, count), [&](size_t e) {
        const size_t place[3] = {e % n, e / n % n, e / n / n};
        const size_t stride[3] = {1, (size_t)n, (size_t)n * n};
        float sum = 0.0f;
        for (int axis = 0; axis < 3; axis++) {
            if (place[axis] > 0)
                sum += flow(volume[e - stride[axis]] - volume[e], inverse_kappa);
            if (place[axis] < (size_t)n - 1)
                sum += flow(volume[e + stride[axis]] - volume[e], inverse_kappa);
        }
        return volume[e] + lambda * sum;
    }));
}
