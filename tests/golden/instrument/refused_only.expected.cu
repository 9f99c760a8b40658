// A launch that may not be tuned stays as it was, byte for byte.
__global__ void reduce(float *x) {
    __shared__ float part[256];
    part[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) x[blockIdx.x] = part[0] + part[255];
}

void run(float *x) { reduce<<<16, 256>>>(x); }
