// Kernels of pycuda_tuned.py, which may have any block.
__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void blur(float *to, const float *from, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 2 * from[y * width + x];
    if (x > 0) sum += from[y * width + x - 1];
    if (y + 1 < height) sum += from[(y + 1) * width + x];
    to[y * width + x] = sum;
}
