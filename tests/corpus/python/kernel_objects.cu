namespace space {
__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
}
__global__ void ranks(int *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = threadIdx.x;
}
// Adds what the row below has, of two rows of 16 threads that are a warp.
__global__ void pairs(const int *from, int *to, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int own = x < width && y < height ? from[y * width + x] : 0;
    int other = __shfl_xor_sync(0xffffffffu, own, 16);
    if (x < width && y < height) to[y * width + x] = own + other;
}
