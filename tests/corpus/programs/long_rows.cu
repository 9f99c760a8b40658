// A row per block of 256 threads. Without the barrier a first thread may write its sum where threads
// of other warps still read the largest number, as those have elements only in rows of more than 32.
#include <cmath>
#include <cstdio>
#include <cstdlib>

__global__ void apart(float *to, const float *from, int rows, int columns)
{
    extern __shared__ float kept[];
    int row = blockIdx.x * columns;
    float most = 0, sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        most = fmaxf(most, from[row + i]);
    kept[threadIdx.x] = most;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            kept[threadIdx.x] = fmaxf(kept[threadIdx.x], kept[threadIdx.x + half]);
        __syncthreads();
    }
    most = kept[0];
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        to[row + i] = from[row + i] - most;
        sum += to[row + i];
    }
    kept[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            kept[threadIdx.x] += kept[threadIdx.x + half];
        __syncthreads();
    }
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        to[row + i] /= kept[0];
}

__global__ void wrong_apart(float *to, const float *from, int rows, int columns)
{
    extern __shared__ float kept[];
    int row = blockIdx.x * columns;
    float most = 0, sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        most = fmaxf(most, from[row + i]);
    kept[threadIdx.x] = most;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            kept[threadIdx.x] = fmaxf(kept[threadIdx.x], kept[threadIdx.x + half]);
        __syncthreads();
    }
    most = kept[0];
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        to[row + i] = from[row + i] - most;
        sum += to[row + i];
    }
    kept[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            kept[threadIdx.x] += kept[threadIdx.x + half];
        __syncthreads();
    }
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        to[row + i] /= kept[0];
}

int main(int argc, char **argv)
{
    int rows = atoi(argv[1]), columns = 100;
    float *from, *to;
    cudaMallocManaged(&from, rows * columns * sizeof(float));
    cudaMallocManaged(&to, rows * columns * sizeof(float));
    for (int i = 0; i < rows * columns; i++)
        from[i] = i % 37;
    apart<<<rows, 256, 256 * sizeof(float)>>>(to, from, rows, columns);
    wrong_apart<<<rows, 256, 256 * sizeof(float)>>>(to, from, rows, columns);
    cudaDeviceSynchronize();
    printf("%.8g %.8g\n", to[1], to[rows * columns - 1]);
}
