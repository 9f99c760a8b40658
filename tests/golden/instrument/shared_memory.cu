// Dynamic shared memory as a formula of the block: the user's, or what the launch itself shows.
#define SIZE 128
#pragma cutune kernel said block(x: 32..1024, y: 1..8) shared(4 * max(x, 32) * y + 64)
__global__ void said(float *a) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = a[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    a[blockIdx.y * blockDim.y + threadIdx.y] = tile[threadIdx.x];
}
#pragma cutune kernel shown block(x: 32..1024)
__global__ void shown(float *a) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = a[blockIdx.x * blockDim.x + threadIdx.x];
}
#pragma cutune kernel sized block(x: 32..1024)
__global__ void sized(int n, float *a) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = a[blockIdx.x * blockDim.x + threadIdx.x];
}
__global__ void pure(float *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = 0; }

void run(int n, float *a, int threads) {
    said<<<n, dim3(32, 4), n>>>(a);
    shown<<<n, threads, threads * sizeof(float)>>>(a);
    shown<<<n, SIZE, 2 * SIZE * sizeof(double) + 16>>>(a);
    dim3 block(64);
    size_t bytes = (block.x + 1) * sizeof(int);
    shown<<<n, block, bytes>>>(a);
    const int width = 32 * n;
    shown<<<n, width, (width <= 64 ? 2 * width : width) << 2>>>(a);
    int rounded = 32;
    if (n > 3) rounded = 64;
    shown<<<n, rounded, 4 * rounded>>>(a);
    // Proven without shared memory: what is asked for stays.
    pure<<<n, threads, threads * 4>>>(a);
}

// Not certain, hence not changed.
void uncertain(int n, float *a, int threads) {
    shown<<<n, 256, 1024>>>(a);
    shown<<<n, 256, 256 * sizeof(float)>>>(a);
    shown<<<n, threads, n * sizeof(float)>>>(a);
    size_t before = threads * 4;
    threads = 64;
    shown<<<n, threads, before>>>(a);
    int other = 64;
    size_t early = other * 4;
    if (n > 3) other = 128;
    shown<<<n, other, early>>>(a);
    shown<<<n, threads, (size_t)(threads * 0.5)>>>(a);
    shown<<<n, threads, threads * sizeof(*a)>>>(a);
    shown<<<n, 2 * n, threads / n>>>(a);
    // 32 may be the block's, and so may a size that the kernel is given.
    sized<<<n, dim3(32, threads), 32 * threads * 4>>>(n, a);
    sized<<<n, threads, threads * 4>>>(threads, a);
    int doubled = 2 * n;
    sized<<<n, doubled, doubled * 4>>>(n, a);
}
