// Nothing to complain about: global ids, guards in many spellings, sizes told from counters.
__global__ void add(int n, const float *a, float *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] += a[i];
}

__global__ void early_return(unsigned n, float *a) {
    const unsigned i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i >= n) return;
    a[i] = 0.0f;
}

__global__ void interior(int rows, int columns, float *a) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < columns - 1 && y <= rows - 2) a[y * columns + x] = 1.0f;
}

__global__ void shifted(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (!(i >= n)) a[i] = a[i - 1];
}

__global__ void strided(int n, float *a) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        a[i] *= 2.0f;
}

__global__ void unguarded(float *a, int pitch) {
    long row = (long)blockIdx.y * blockDim.y + threadIdx.y;
    a[row * pitch + blockIdx.x * blockDim.x + threadIdx.x] = 0.0f;
}

__global__ void step(int n, int nk, float *a, int t, int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j > k && j < n) {
        for (int m = 0; m < nk; m++) a[m * n + j] -= a[m * n + k];
        a[j] += a[t];
    }
}

__device__ int global_id() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ float square(float x) { return x * x; }

__global__ void helped(int n, float *a) {
    int i = global_id();
    if (i < n) a[i] = square(a[i]) + fmaxf(a[i], 0.0f);
}

__global__ void counted(int n, const int *a, int *sum) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, a[i]);
}

__global__ void not_launched(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2) a[i] = a[2 * i];
}

void run(int n, float *a, float *b, int *c) {
    dim3 block(16, 16), grid(n / 16, n / 16);
    add<<<(n + 255) / 256, 256>>>(n, a, b);
    early_return<<<(n + 255) / 256, 256>>>(n, a);
    interior<<<grid, block>>>(n, n, a);
    shifted<<<n / 64, 64>>>(n, a);
    strided<<<80, 256, 0, 0>>>(n, a);
    unguarded<<<grid, block>>>(a, n);
    for (int t = 0; t < 4; t++) step<<<n / 64, 64>>>(n, n, a, t, t + 1);
    helped<<<n / 64, 64>>>(n, a);
    counted<<<n / 64, 64>>>(n, c, c + n);
}
