// Grids of which the launch does not tell what they follow: one variable is given as several sizes, or none is.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define SIDE 16

// A grid whose x follows the second size, and whose y follows the first.
__global__ void turned(const float *in, float *out, int rows, int columns) {
    __shared__ float tile[SIDE][SIDE + 1];
    int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
    if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
    __syncthreads();
    x = blockIdx.y * SIDE + threadIdx.x, y = blockIdx.x * SIDE + threadIdx.y;
    if (x < rows && y < columns) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}

// One of three sizes is no extent at all.
__global__ void product(int m, int n, int k, const float *a, const float *b, float *c) {
    __shared__ float as[SIDE][SIDE], bs[SIDE][SIDE];
    const int row = blockIdx.y * SIDE + threadIdx.y, column = blockIdx.x * SIDE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < k; t += SIDE) {
        as[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : 0;
        bs[threadIdx.y][threadIdx.x] = column < n && t + threadIdx.y < k ? b[(t + threadIdx.y) * n + column] : 0;
        __syncthreads();
        for (int e = 0; e < SIDE; ++e) sum += as[threadIdx.y][e] * bs[e][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

// A block for each page of numbers: no argument tells how many there are.
__global__ void sums_of_pages(const int *in, int *out) {
    __shared__ int sums[2][SIDE * SIDE];
    int side = 0, i = blockIdx.x * SIDE * SIDE + threadIdx.x;
    sums[0][threadIdx.x] = in[i];
    __syncthreads();
    for (int step = 1; step < SIDE * SIDE; step *= 2) {
        int sum = sums[side][threadIdx.x];
        if (threadIdx.x >= step) sum += sums[side][threadIdx.x - step];
        side ^= 1;
        sums[side][threadIdx.x] = sum;
        __syncthreads();
    }
    out[i] = sums[side][threadIdx.x];
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 70;
    const int page = SIDE * SIDE;
    const size_t bytes = sizeof(float) * n * n;
    std::vector<float> host(size_t(n) * n);
    for (size_t i = 0; i < host.size(); ++i) host[i] = float(i % 7);
    float *a, *b, *c;
    cudaMalloc(&a, bytes);
    cudaMalloc(&b, bytes);
    cudaMalloc(&c, bytes);
    cudaMemcpy(a, host.data(), bytes, cudaMemcpyHostToDevice);
    const dim3 block(SIDE, SIDE), grid((n + SIDE - 1) / SIDE, (n + SIDE - 1) / SIDE);
    turned<<<grid, block>>>(a, b, n, n);
    product<<<grid, block>>>(n, n, n, a, b, c);
    cudaMemcpy(host.data(), c, bytes, cudaMemcpyDeviceToHost);
    std::vector<int> pages(n * page, 3);
    int *d, *e;
    cudaMalloc(&d, n * page * sizeof(int));
    cudaMalloc(&e, n * page * sizeof(int));
    cudaMemcpy(d, pages.data(), n * page * sizeof(int), cudaMemcpyHostToDevice);
    sums_of_pages<<<n, SIDE * SIDE>>>(d, e);
    cudaMemcpy(pages.data(), e, n * page * sizeof(int), cudaMemcpyDeviceToHost);
    double sum = pages[n * page - 1];
    for (size_t i = 0; i < host.size(); ++i) sum += host[i] * (i % 5);
    printf("%.6g\n", sum);
}
