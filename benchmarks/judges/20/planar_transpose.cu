// Signal processing: n x n complex numbers are transposed, and their parts go to two arrays. A
// tile of 32 x 32 in shared memory, eight rows of threads.
//
//     nvcc -O2 -o planar_transpose planar_transpose.cu && ./planar_transpose 1000

#include "../host.h"

constexpr int TILE = 32;
constexpr int THREAD_ROWS = 8;

__global__ void turn_and_split(const float2 *numbers, float *reals, float *imaginaries, int width,
                               int height) {
    __shared__ float2 tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int row = 0; row < TILE; row += THREAD_ROWS)
        if (x < width && y + row < height)
            tile[threadIdx.y + row][threadIdx.x] = numbers[(size_t)(y + row) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int row = 0; row < TILE; row += THREAD_ROWS)
        if (x < height && y + row < width) {
            const float2 number = tile[threadIdx.x][threadIdx.y + row];
            reals[(size_t)(y + row) * height + x] = number.x;
            imaginaries[(size_t)(y + row) * height + x] = number.y;
        }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 50, 14000);
    const size_t count = (size_t)n * n;
    const std::vector<float> numbers = quick_values(2 * count, 2201);
    const float *d_numbers = to_device(numbers);
    float *d_reals = device_zeros<float>(count), *d_imaginaries = device_zeros<float>(count);

    dim3 block(TILE, THREAD_ROWS);
    dim3 grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
    turn_and_split<<<grid, block>>>((const float2 *)d_numbers, d_reals, d_imaginaries, n, n);
    finish_launches();

    const std::vector<float> reals = from_device(d_reals, count);
    const std::vector<float> imaginaries = from_device(d_imaginaries, count);
    const auto from = [&](size_t e) { return 2 * (e % n * n + e / n); };
    const double real_error = sampled_error(reals, [&](size_t e) { return numbers[from(e)]; });
    return verdict(fmax(real_error, sampled_error(imaginaries, [&](size_t e) {
        return numbers[from(e) + 1];
    })));
}
