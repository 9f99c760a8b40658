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
        cutune_launch(1, (n + block - 1) / block, block, 0, stream) ? (void)0 : cutune_call(scale)(n, 2.0f, data);
    else
        cutune_launch(2, dim3((n + block - 1) / block), dim3(block)) ? (void)0 : cutune_call(scale) // one block per 256 elements
(
            n, 1.0f, data);
    reverse<<<1, block>>>(256, data);
    for (int i = 0; i < 3; ++i) cutune_launch(4, (n + block - 1) / block, block) ? (void)0 : cutune_call(scale)(n, 0.5f, data + i);
}
