#include <stdlib.h>
__global__ void add(int n, int m, const float *a, float *b) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < m) b[y * n + x] += a[x];
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    float *a, *b;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * n * sizeof(float));
    add<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(n, n, a, b);
    return cudaDeviceSynchronize() != cudaSuccess;
}
