// Running sums along the rows of an n x n image, the first half of a summed-area table. A block
// takes rows in strides of the grid, and scans as many pixels of a row at a time as it has threads.
//
//     nvcc -O2 -o scan_rows scan_rows.cu && ./scan_rows 1000

#include "../judge.h"

#pragma cutune kernel scan_rows data(rows, columns) block(x: 32..1024)
__global__ void scan_rows(int rows, int columns, const unsigned char *image, unsigned *sums) {
    __shared__ unsigned scanned[2][1024];
    const int t = threadIdx.x;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        unsigned before = 0;
        for (int start = 0; start < columns; start += blockDim.x) {
            const int column = start + t;
            int now = 0;
            scanned[0][t] = column < columns ? image[row * columns + column] : 0;
            __syncthreads();
            for (int reach = 1; reach < (int)blockDim.x; reach *= 2) {
                scanned[1 - now][t] = scanned[now][t] + (t >= reach ? scanned[now][t - reach] : 0);
                now = 1 - now;
                __syncthreads();
            }
            if (column < columns) sums[row * columns + column] = before + scanned[now][t];
            before += scanned[now][blockDim.x - 1];
            __syncthreads();
        }
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200);
    const size_t count = (size_t)n * n;
    const std::vector<int> numbers = fixed_integers(count, 256, 1);
    const std::vector<unsigned char> image(numbers.begin(), numbers.end());
    unsigned char *device_image = to_device(image);
    unsigned *device_sums = to_device(std::vector<unsigned>(count));

    const int blocks = n < 2048 ? n : 2048;
    scan_rows<<<blocks, 256>>>(n, n, device_image, device_sums);
    finish_launches();

    return verdict(sampled_error(from_device(device_sums, count), [&](size_t e) {
        unsigned sum = 0;
        for (size_t i = e / n * n; i <= e; i++) sum += image[i];
        return sum;
    }));
}
