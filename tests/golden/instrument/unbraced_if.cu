// A launch stays one statement: an if without braces and its else go on compiling.
__global__ void scale(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2.0f;
}

__global__ void shift(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1.0f;
}

void run(bool first, int n, float *x) {
    dim3 block(256);
    dim3 grid((n + 255) / 256);
    if (first)
        scale<<<grid, block>>>(n, x);
    else
        shift<<<grid, block>>>(n, x);
    for (int step = 0; step < 3; step++)
        if (step != 1) scale<<<grid, block, 0, 0>>>(n, x);
    switch (n) {
        case 1: shift<<<1, 32>>>(n, x); break;
        default: shift<<<grid, block>>>(n, x);
    }
    while (n-- > 4) shift<<<grid, block>>>(n, x);
}
