// The sums of absolute differences between each of n descriptors of 100 numbers and each of
// n / 2 + 5 others. A block keeps 16 numbers at a time of its rows and columns in dynamic shared
// memory.
//
//     nvcc -O2 -o l1_distances l1_distances.cu && ./l1_distances 1000

#include "../host.h"

#define LENGTH 100
#define CHUNK 16
#define PITCH (CHUNK + 1)

#pragma cutune kernel l1_distances data(rows, columns) \
    block(x: 8, 16, 32, 64, y: 4, 8, 16, 32) where(x * y <= 1024) \
    grid(ceil(columns / x), ceil(rows / y)) shared(68 * (x + y))
__global__ void l1_distances(const float *__restrict__ a, const float *__restrict__ b,
                             float *__restrict__ distances, int rows, int columns) {
    extern __shared__ float tiles[];
    float *tile_a = tiles, *tile_b = tiles + PITCH * blockDim.y;
    const int top = blockIdx.y * blockDim.y, left = blockIdx.x * blockDim.x;
    const int rank = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
    float sum = 0.0f;
    for (int start = 0; start < LENGTH; start += CHUNK) {
        for (int e = rank; e < CHUNK * (int)blockDim.y; e += threads) {
            const int row = top + e / CHUNK, k = start + e % CHUNK;
            const bool inside = row < rows && k < LENGTH;
            tile_a[e / CHUNK * PITCH + e % CHUNK] = inside ? a[(size_t)row * LENGTH + k] : 0.0f;
        }
        for (int e = rank; e < CHUNK * (int)blockDim.x; e += threads) {
            const int column = left + e / CHUNK, k = start + e % CHUNK;
            const bool inside = column < columns && k < LENGTH;
            tile_b[e / CHUNK * PITCH + e % CHUNK] = inside ? b[(size_t)column * LENGTH + k] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < CHUNK; k++)
            sum += fabsf(tile_a[threadIdx.y * PITCH + k] - tile_b[threadIdx.x * PITCH + k]);
        __syncthreads();
    }
    const int row = top + threadIdx.y, column = left + threadIdx.x;
    if (row < rows && column < columns) distances[(size_t)row * columns + column] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64);
    const int rows = n, columns = n / 2 + 5;
    const size_t count = (size_t)rows * columns;
    const std::vector<float> a = quick_values((size_t)rows * LENGTH, 1);
    const std::vector<float> b = quick_values((size_t)columns * LENGTH, 2);
    const float *d_a = to_device(a), *d_b = to_device(b);
    float *d_distances = device_zeros<float>(count);

    dim3 block(16, 16);
    dim3 grid((columns + block.x - 1) / block.x, (rows + block.y - 1) / block.y);
    size_t shared_bytes = (block.x + block.y) * PITCH * sizeof(float);
    l1_distances<<<grid, block, shared_bytes>>>(d_a, d_b, d_distances, rows, columns);
    finish_launches();

    return verdict(sampled_error(from_device(d_distances, count), [&](size_t e) {
        const size_t row = e / columns, column = e % columns;
        double sum = 0.0;
        for (int k = 0; k < LENGTH; k++)
            sum += fabs((double)a[row * LENGTH + k] - b[column * LENGTH + k]);
        return sum;
    }));
}
