// Magnetic resonance imaging: diffusion tensors of n x n x n voxels, by least squares from 25
// pictures of 16 bits. A thread takes 25 logarithms and multiplies them by a 7 x 25 matrix in
// constant memory; voxels in the dark are left out.
//
//     nvcc -O2 -o tensor_fit tensor_fit.cu && ./tensor_fit 128

#include "repeated.h"

#define PICTURES 25
#define UNKNOWNS 7

struct Solver {
    float weight[UNKNOWNS][PICTURES];
};

struct Maps {
    float *anisotropy, *diffusivity;
};

__constant__ Solver solver;

// The fractional anisotropy of a voxel, and its mean diffusivity.
__host__ __device__ inline float2 fit(const Solver &with, const unsigned short *voxel,
                                      size_t stride) {
    float tensor[6] = {};
    for (int p = 0; p < PICTURES; p++) {
        const float signal = logf(fmaxf(voxel[p * stride], 1.0f));
        for (int k = 0; k < 6; k++) tensor[k] += with.weight[k][p] * signal;
    }
    const float mean = (tensor[0] + tensor[1] + tensor[2]) / 3.0f;
    const float off =
        2.0f * (tensor[3] * tensor[3] + tensor[4] * tensor[4] + tensor[5] * tensor[5]);
    float spread = off, size = off;
    for (int k = 0; k < 3; k++) {
        spread += (tensor[k] - mean) * (tensor[k] - mean);
        size += tensor[k] * tensor[k];
    }
    return make_float2(sqrtf(1.5f * spread / fmaxf(size, 1e-12f)), mean);
}

__global__ void fit_tensors(const unsigned short *__restrict__ pictures, Maps maps, int nx, int ny,
                            int nz, int threshold) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    const size_t voxel = ((size_t)z * ny + y) * nx + x, stride = (size_t)nx * ny * nz;
    if (pictures[voxel] < threshold) return;
    const float2 found = fit(solver, pictures + voxel, stride);
    maps.anisotropy[voxel] = found.x;
    maps.diffusivity[voxel] = found.y;
}

// The pseudo-inverse of the matrix whose rows are -b (xx, yy, zz, 2xy, 2xz, 2yz) and 1.
static Solver least_squares() {
    double rows[PICTURES][UNKNOWNS];
    for (int p = 0; p < PICTURES; p++) {
        const double b = p == 0 ? 0.0 : 1.0;
        const double z = 1.0 - 2.0 * (p + 0.5) / PICTURES, r = sqrt(1.0 - z * z);
        const double x = r * cos(2.3999632 * p), y = r * sin(2.3999632 * p);
        const double row[UNKNOWNS] = {-b * x * x,     -b * y * y,     -b * z * z, -2 * b * x * y,
                                      -2 * b * x * z, -2 * b * y * z, 1.0};
        for (int k = 0; k < UNKNOWNS; k++) rows[p][k] = row[k];
    }
    double normal[UNKNOWNS][UNKNOWNS + PICTURES] = {};
    for (int i = 0; i < UNKNOWNS; i++)
        for (int p = 0; p < PICTURES; p++) {
            for (int j = 0; j < UNKNOWNS; j++) normal[i][j] += rows[p][i] * rows[p][j];
            normal[i][UNKNOWNS + p] = rows[p][i];
        }
    for (int i = 0; i < UNKNOWNS; i++) {
        const double pivot = normal[i][i];
        for (double &value : normal[i]) value /= pivot;
        for (int k = 0; k < UNKNOWNS; k++) {
            const double factor = normal[k][i];
            for (int j = 0; k != i && j < UNKNOWNS + PICTURES; j++)
                normal[k][j] -= factor * normal[i][j];
        }
    }
    Solver result;
    for (int i = 0; i < UNKNOWNS; i++)
        for (int p = 0; p < PICTURES; p++) result.weight[i][p] = (float)normal[i][UNKNOWNS + p];
    return result;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 16, 480);
    const int threshold = 300;
    const size_t count = (size_t)n * n * n;
    // A prime, so that the pictures differ.
    const size_t made = piece_of(PICTURES * count, 1000003);
    std::vector<unsigned short> pictures = quick_bits<unsigned short>(made, 101);
    for (unsigned short &value : pictures) value = 100 + (value & 1023);
    const Solver with = least_squares();
    CHECK(cudaMemcpyToSymbol(solver, &with, sizeof(Solver)));
    const unsigned short *d_pictures = repeated_on_device(pictures, PICTURES * count);
    const Maps maps = {device_zeros<float>(count), device_zeros<float>(count)};

    dim3 block(8, 8, 4);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y,
              (n + block.z - 1) / block.z);
    fit_tensors<<<grid, block>>>(d_pictures, maps, n, n, n, threshold);
    finish_launches();

    const auto expected = [&](size_t voxel) {
        unsigned short seen[PICTURES];
        for (int p = 0; p < PICTURES; p++) seen[p] = pictures[(voxel + p * count) % made];
        return seen[0] < threshold ? make_float2(0.0f, 0.0f) : fit(with, seen, 1);
    };
    const double anisotropy_error =
        sampled_error(from_device(maps.anisotropy, count), [&](size_t e) { return expected(e).x; });
    const double diffusivity_error = sampled_error(from_device(maps.diffusivity, count),
                                                   [&](size_t e) { return expected(e).y; });
    return verdict(fmax(anisotropy_error, diffusivity_error));
}
