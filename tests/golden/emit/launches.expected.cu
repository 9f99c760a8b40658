#line 1 "launches.cu"
// Launches that choose their block, and launches that stay as they are.
#include <cuda_runtime.h>

__global__ void scale(int n, float factor, float *data)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= factor;
}

__global__ void reverse(int n, float *data)
{
    __shared__ float tile[256];
    int i = threadIdx.x;
    if (i < n) tile[n - 1 - i] = data[i];
    __syncthreads();
    if (i < n) data[i] = tile[i];
}

void run(int n, float *data, cudaStream_t stream, bool twice)
{
    const int block = 256;
    if (twice)
        for (cutune_launch cutune_1(1, (n + block - 1) / block, block, 0, stream, n, 2.0f, data); cutune_1.next();) scale<<<cutune_1.grid, cutune_1.block, cutune_1.smem, cutune_1.stream>>>(n, 2.0f, data);
    else
        for (cutune_launch cutune_2(2, dim3((n + block - 1) / block), dim3(block), 0, 0, n, 1.0f, data); cutune_2.next();) scale<<<cutune_2.grid, // one block per 256 elements
                cutune_2.block, cutune_2.smem, cutune_2.stream>>>(
            n, 1.0f, data);
    reverse<<<1, block>>>(256, data);
    for (int i = 0; i < 3; ++i) for (cutune_launch cutune_4(4, (n + block - 1) / block, block, 0, 0, n, 0.5f, data + i); cutune_4.next();) scale<<<cutune_4.grid, cutune_4.block, cutune_4.smem, cutune_4.stream>>>(n, 0.5f, data + i);
}
