// Kernels without a guard, whose size has to be a multiple of what blocks cover. `right_…`: a block
// may do what several blocks do; `wrong_…`: it may not.
#include <cstdio>
#include <cstdlib>

#define SIDE 16

__global__ void right_product(const float *a, const float *b, float *c, int n)
{
    __shared__ float s[SIDE][SIDE], t[SIDE][SIDE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * SIDE + y, column = blockIdx.x * SIDE + x;
    float sum = 0;
    for (int k = 0; k < n / SIDE; k++) {
        s[y][x] = a[row * n + k * SIDE + x];
        t[y][x] = b[(k * SIDE + y) * n + column];
        __syncthreads();
        for (int i = 0; i < SIDE; i++)
            sum += s[y][i] * t[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// Blocks of a column add to the same rows.
__global__ void wrong_rows(const float *a, const float *b, float *c, int n)
{
    __shared__ float s[SIDE][SIDE], t[SIDE][SIDE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * SIDE + y, column = blockIdx.x * SIDE + x;
    float sum = 0;
    for (int k = 0; k < n / SIDE; k++) {
        s[y][x] = a[row * n + k * SIDE + x];
        t[y][x] = b[(k * SIDE + y) * n + column];
        __syncthreads();
        for (int i = 0; i < SIDE; i++)
            sum += s[y][i] * t[i][x];
        __syncthreads();
    }
    c[y * n + column] += sum;
}

// A block reads what the one below may have written.
__global__ void wrong_below(const float *a, const float *b, float *c, int n)
{
    __shared__ float s[SIDE][SIDE], t[SIDE][SIDE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * SIDE + y, column = blockIdx.x * SIDE + x;
    float sum = c[(row + SIDE) % n * n + column];
    for (int k = 0; k < n / SIDE; k++) {
        s[y][x] = a[row * n + k * SIDE + x];
        t[y][x] = b[(k * SIDE + y) * n + column];
        __syncthreads();
        for (int i = 0; i < SIDE; i++)
            sum += s[y][i] * t[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 64;
    size_t bytes = n * n * sizeof(float);
    float *a, *b, *c, *host = (float *)malloc(bytes);
    cudaMalloc(&a, bytes);
    cudaMalloc(&b, bytes);
    cudaMalloc(&c, bytes);
    for (int i = 0; i < n * n; i++)
        host[i] = i * 37 % 101 / 64.0f;
    cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(b, host, bytes, cudaMemcpyHostToDevice);
    cudaMemset(c, 0, bytes);
    dim3 block(SIDE, SIDE), grid(n / SIDE, n / SIDE);
    right_product<<<grid, block>>>(a, b, c, n);
    cudaMemcpy(host, c, bytes, cudaMemcpyDeviceToHost);
    double sum = 0;
    for (int i = 0; i < n * n; i++)
        sum += host[i] * (i % 5 + 1);
    printf("%.17g\n", sum);
    wrong_rows<<<grid, block>>>(a, b, c, n);
    wrong_below<<<grid, block>>>(a, b, c, n);
}
