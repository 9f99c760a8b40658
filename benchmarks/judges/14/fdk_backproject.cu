// Cone beam tomography: back projection of 60 X-ray pictures of 3n/2 x 3n/2 pixels into n x n x n
// voxels. A voxel is mapped onto each picture by a 3 x 4 matrix and takes what lies between the
// four pixels there.
//
//     nvcc -O2 -o fdk_backproject fdk_backproject.cu && ./fdk_backproject 90

#include "../host.h"

#define ANGLES 60

struct Projection {
    float m[12];
};

__constant__ Projection projections[ANGLES];

// What one picture adds to a voxel.
__host__ __device__ inline float seen_at(const Projection &p, const float *picture, int size, int x,
                                         int y, int z) {
    const float scale = 1.0f / (p.m[8] * x + p.m[9] * y + p.m[10] * z + p.m[11]);
    const float u = (p.m[0] * x + p.m[1] * y + p.m[2] * z + p.m[3]) * scale;
    const float v = (p.m[4] * x + p.m[5] * y + p.m[6] * z + p.m[7]) * scale;
    const int column = (int)floorf(u), row = (int)floorf(v);
    if (column < 0 || row < 0 || column + 1 >= size || row + 1 >= size) return 0.0f;
    const float fu = u - column, fv = v - row;
    const float *pixel = picture + (size_t)row * size + column;
    const float upper = pixel[0] + fu * (pixel[1] - pixel[0]);
    const float lower = pixel[size] + fu * (pixel[size + 1] - pixel[size]);
    return (upper + fv * (lower - upper)) * scale * scale;
}

__global__ void backproject(const float *__restrict__ pictures, float *__restrict__ volume, int n,
                            int size) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= n || y >= n || z >= n) return;
    float sum = 0.0f;
    for (int a = 0; a < ANGLES; a++)
        sum += seen_at(projections[a], pictures + (size_t)a * size * size, size, x, y, z);
    volume[((size_t)z * n + y) * n + x] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 16, 1000);
    const int size = 3 * n / 2 + 2;
    const size_t count = (size_t)n * n * n;
    const std::vector<float> pictures = quick_values((size_t)ANGLES * size * size, 51);

    // The source is three volume widths away; depth 1 is the middle of the volume.
    std::vector<Projection> matrices(ANGLES);
    const float middle = 0.5f * (n - 1), centre = 0.5f * (size - 1), far = 3.0f * n;
    for (int a = 0; a < ANGLES; a++) {
        const float angle = 6.2831853f * a / ANGLES, c = cosf(angle), s = sinf(angle);
        const float depth[4] = {s / far, -c / far, 0.0f, 1.0f - middle * (s - c) / far};
        const float across[4] = {c, s, 0.0f, -middle * (c + s)};
        const float up[4] = {0.0f, 0.0f, 1.0f, -middle};
        for (int k = 0; k < 4; k++) {
            matrices[a].m[k] = 0.95f * across[k] + centre * depth[k];
            matrices[a].m[4 + k] = 0.95f * up[k] + centre * depth[k];
            matrices[a].m[8 + k] = depth[k];
        }
    }
    CHECK(cudaMemcpyToSymbol(projections, matrices.data(), ANGLES * sizeof(Projection)));
    const float *d_pictures = to_device(pictures);
    float *d_volume = device_zeros<float>(count);

    dim3 block(16, 4, 4);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y,
              (n + block.z - 1) / block.z);
    backproject<<<grid, block>>>(d_pictures, d_volume, n, size);
    finish_launches();

    const std::vector<float> volume = from_device(d_volume, count);
    return verdict(sampled_error(volume, [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n % n), z = (int)(e / n / n);
        float sum = 0.0f;
        for (int a = 0; a < ANGLES; a++)
            sum += seen_at(matrices[a], pictures.data() + (size_t)a * size * size, size, x, y, z);
        return sum;
    }));
}
