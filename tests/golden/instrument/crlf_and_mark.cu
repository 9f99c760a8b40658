// A byte order mark and CR LF line ends stay.
__global__ void fill(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1.0f;
}

void run(int n, float *x) {
    fill<<<(n + 255) / 256,  // blocks
           256>>>(n, x);
}
