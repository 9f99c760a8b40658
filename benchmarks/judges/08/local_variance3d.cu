// The variance of 3 x 3 x 3 points around each of n x n x n. A block keeps its points and those
// around them in dynamic shared memory; outside, the nearest point counts.
//
//     nvcc -O2 -o local_variance3d local_variance3d.cu && ./local_variance3d 100

#include "../host.h"

__host__ __device__ inline int nearest(int at, int n) { return at < 0 ? 0 : at < n ? at : n - 1; }

#pragma cutune kernel local_variance data(nx, ny, nz) \
    block(x: 4, 8, 16, 32, 64, y: 2, 4, 8, 16, z: 1, 2, 4, 8, 16) where(x * y * z <= 1024) \
    grid(ceil(nx / x), ceil(ny / y), ceil(nz / z)) shared(4 * (x + 2) * (y + 2) * (z + 2))
__global__ void local_variance(const float *values, float *variance, int nx, int ny, int nz) {
    extern __shared__ float tile[];
    const int tx = blockDim.x + 2, ty = blockDim.y + 2, tz = blockDim.z + 2;
    const int left = blockIdx.x * blockDim.x - 1, top = blockIdx.y * blockDim.y - 1;
    const int front = blockIdx.z * blockDim.z - 1;
    const int rank = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    for (int e = rank; e < tx * ty * tz; e += blockDim.x * blockDim.y * blockDim.z) {
        const int i = nearest(left + e % tx, nx), j = nearest(top + e / tx % ty, ny);
        const int k = nearest(front + e / (tx * ty), nz);
        tile[e] = values[(k * ny + j) * nx + i];
    }
    __syncthreads();

    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= nx || j >= ny || k >= nz) return;
    const float *corner = &tile[(threadIdx.z * ty + threadIdx.y) * tx + threadIdx.x];
    const float middle = corner[(ty + 1) * tx + 1];
    float sum = 0.0f, squares = 0.0f;
    for (int dk = 0; dk < 3; dk++)
        for (int dj = 0; dj < 3; dj++)
            for (int di = 0; di < 3; di++) {
                const float difference = corner[(dk * ty + dj) * tx + di] - middle;
                sum += difference;
                squares += difference * difference;
            }
    variance[(k * ny + j) * nx + i] = (squares - sum * sum / 27.0f) / 26.0f;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20, 1200);
    const size_t count = (size_t)n * n * n;
    const std::vector<float> values = quick_values(count, 1);
    const float *d_values = to_device(values);
    float *d_variance = device_zeros<float>(count);

    dim3 block(8, 8, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y,
              (n + block.z - 1) / block.z);
    size_t bytes = sizeof(float) * (block.x + 2) * (block.y + 2) * (block.z + 2);
    local_variance<<<grid, block, bytes>>>(d_values, d_variance, n, n, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_variance, count), [&](size_t e) {
        const int i = (int)(e % n), j = (int)(e / n % n), k = (int)(e / n / n);
        double sum = 0.0, squares = 0.0;
        for (int d = 0; d < 27; d++) {
            const size_t plane = nearest(k + d / 9 - 1, n), row = nearest(j + d / 3 % 3 - 1, n);
            const double value = values[(plane * n + row) * n + nearest(i + d % 3 - 1, n)];
            sum += value;
            squares += value * value;
        }
        return (squares - sum * sum / 27.0) / 26.0;
    }));
}
