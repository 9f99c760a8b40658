// A product without a guard: right where sizes are multiples of the tile. Its loop has a round in each
// launch that there is.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define TILE 16

__global__ void right_product(const float *a, const float *b, float *c, int n) {
    __shared__ float s[TILE][TILE], t[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int m = 0; m < n / TILE; m++) {
        s[threadIdx.y][threadIdx.x] = a[row * n + m * TILE + threadIdx.x];
        t[threadIdx.y][threadIdx.x] = b[(m * TILE + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += s[threadIdx.y][k] * t[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

int main(int count, char **words) {
    const int n = count > 1 ? atoi(words[1]) : 64, all = n * n;
    std::vector<float> host(all);
    for (int i = 0; i < all; i++) host[i] = float(i % 13) - 6;
    float *a, *c;
    cudaMalloc(&a, all * 4);
    cudaMalloc(&c, all * 4);
    cudaMemcpy(a, host.data(), all * 4, cudaMemcpyHostToDevice);
    cudaMemset(c, 0, all * 4);
    right_product<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(a, a, c, n);
    cudaMemcpy(host.data(), c, all * 4, cudaMemcpyDeviceToHost);
    double sum = 0;
    for (int i = 0; i < all; i++) sum += double(host[i]) * (i % 7);
    printf("%.9g\n", sum);
    return cudaGetLastError() != cudaSuccess;
}
