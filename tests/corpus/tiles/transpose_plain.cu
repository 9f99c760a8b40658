// Many matrices of doubles transposed, one per layer of the grid, through a tile without padding.
//
//     nvcc -O2 -o transpose_plain transpose_plain.cu && ./transpose_plain 10 130 75

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

constexpr int TILE = 32;
constexpr int ROWS = 8;
static_assert(TILE % ROWS == 0, "a tile is read in whole steps");

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t error = (call);                                                              \
        if (error != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));       \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

__global__ void transpose_batch(const double *__restrict__ in, double *__restrict__ out, int rows,
                                int columns) {
    __shared__ double tile[TILE][TILE];
    const size_t matrix = (size_t)blockIdx.z * rows * columns;
    const int left = blockIdx.x * TILE, top = blockIdx.y * TILE;

    for (int i = threadIdx.y; i < TILE; i += ROWS) {
        const int row = top + i, column = left + threadIdx.x;
        if (row < rows && column < columns)
            tile[i][threadIdx.x] = in[matrix + (size_t)row * columns + column];
    }
    __syncthreads();
    for (int i = threadIdx.y; i < TILE; i += ROWS) {
        const int row = left + i, column = top + threadIdx.x;
        if (row < columns && column < rows)
            out[matrix + (size_t)row * rows + column] = tile[threadIdx.x][i];
    }
}

static void launch_transpose(const double *in, double *out, int batch, int rows, int columns) {
    const dim3 threads(TILE, ROWS);
    const dim3 blocks((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE, batch);
    transpose_batch<<<blocks, threads>>>(in, out, rows, columns);
    CHECK(cudaGetLastError());
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s MATRICES ROWS COLUMNS\n", argv[0]);
        return 2;
    }
    const int batch = atoi(argv[1]), rows = atoi(argv[2]), columns = atoi(argv[3]);
    const size_t area = (size_t)rows * columns, count = batch * area;

    std::vector<double> in(count), out(count);
    uint64_t state = 88172645463325252ull;
    for (double &value : in) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        value = (double)(state >> 40);
    }
    double *d_in, *d_out;
    CHECK(cudaMalloc(&d_in, count * sizeof(double)));
    CHECK(cudaMalloc(&d_out, count * sizeof(double)));
    CHECK(cudaMemcpy(d_in, in.data(), count * sizeof(double), cudaMemcpyHostToDevice));

    launch_transpose(d_in, d_out, batch, rows, columns);

    CHECK(cudaMemcpy(out.data(), d_out, count * sizeof(double), cudaMemcpyDeviceToHost));
    bool right = true;
    if (count <= 1 << 20)
        for (size_t i = 0; i < count; i++) {
            const size_t matrix = i / area * area, row = i % area / columns, column = i % columns;
            right = right && out[matrix + column * rows + row] == in[matrix + row * columns + column];
        }
    uint64_t checksum = 0;
    for (size_t i = 0; i < count; i++) checksum = checksum * 31 + (uint64_t)out[i];
    printf("%d matrices of %d x %d: %016llx\n", batch, rows, columns,
           (unsigned long long)checksum);
    printf("%s\n", right ? "PASS" : "FAIL");
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    return right ? 0 : 1;
}
