// What annotations change, and what they cannot.
#define TILE 16

// Restricts a kernel that is proven anyway, and takes the place of its guard and sizes.
#pragma cutune kernel proven data(ni) block(x: 32..256, y: 1, 2, 3) where(x * y <= 256)
__global__ void proven(int ni, int nj, float *a) {
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < ni && j < nj) a[i * nj + j] = 0;
}
#pragma cutune kernel bounded grid(ceil((n - 2) / x))
__global__ void bounded(int n, int m, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < m) a[i] = n;
}
// Impure only because of shared memory, barriers, or built-ins.
#pragma cutune kernel tiled data(n) block(x: 8..32, y: 8..32) where(x == y) grid(n / x, n / y)
__global__ void tiled(const float *a, float *b, int n) {
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = a[y * n + x];
    __syncthreads();
    b[y * n + x] = tile[threadIdx.y][threadIdx.x];
}
#pragma cutune kernel waits grid(ceil(n / x))
__global__ void waits(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 0;
    __syncthreads();
}
#pragma cutune kernel spelled block(x: 32..1024)
__global__ void spelled(float *a) {
    int i = blockIdx.x * blockDim.x;
    i += threadIdx.x;
    a[i] = 0;
}
// KLARAPTOR's: the second parameter is the size, blocks have one dimension.
#pragma kernel_info_size_param_idx_old = 1;
#pragma kernel_info_dim_old = 1;
__global__ void old(float *a, int n) {
    __shared__ float last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    last = a[i];
    if (i < n) a[i] = 0;
}
// The blocks stay, their size varies.
#pragma cutune kernel rows data(n) block(x: 64, 128, 256) grid(keep)
__global__ void rows(float *a, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) a[blockIdx.x * n + i] *= 2;
}
#pragma cutune kernel columns data(keep) block(x: 8..32, y: 1..32) grid(ceil(keep / x), keep)
__global__ void columns(float *a, int keep) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < keep)
        for (int j = threadIdx.y; j < keep; j += blockDim.y) a[j * keep + i] += blockIdx.y;
}
// Warp-level code, where each warp keeps its threads; what calls it has shared memory, too.
#pragma cutune kernel warp block(x: 32..1024)
__global__ void warp(int *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = __shfl_xor_sync(0xffffffff, a[i], 1);
}
__device__ int together(int x) { return __shfl_down_sync(0xffffffff, x, 1); }
#pragma cutune kernel reduces block(x: 16, 32, 48, 64)  // expect CT292: blocks of width 16, 48 are left out: kernel 'reduces' holds warp-level code, so that its warps stay whole; name multiples of 32
__global__ void reduces(int *a) {
    __shared__ int sums[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x / 32] = together(a[i]);
    __syncthreads();
    a[i] = sums[0];
}
// What nobody can assert.
#pragma cutune kernel partial block(x: 16, 48)  // expect CT249: annotation ignored: kernel 'partial' holds warp-level code, and none of its candidates has whole warps in x; name multiples of 32
__global__ void partial(int *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = __shfl_xor_sync(0xffffffff, a[i], 1);
}
#pragma cutune kernel queue data(n) block(x: 32..1024)  // expect CT248: annotation ignored: kernel 'queue' uses the result of atomicAdd, which depends on the order of threads; write the kernel without that result, which no annotation can settle
__global__ void queue(int n, int *a) { a[1 + atomicAdd(a, n)] = threadIdx.x; }
struct shape { int n; };
__global__ void wrong(shape p, int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 0;
}

void run(float *a, float *b, int *c, int n, shape p) {
    proven<<<dim3(n, n), dim3(32, 8)>>>(n, n, a);
    bounded<<<n, 256>>>(n, n, a);
    tiled<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, n);
    tiled<<<dim3(n / 16, n / 16), dim3(16, 16), 0>>>(a, b, n);
    tiled<<<dim3(n / 16, n / 16), dim3(16, 16), n>>>(a, b, n);  // expect CT238: the launch asks for dynamic shared memory, and its dependence on the thread block is not known; compute it from the variables that define its block, or annotate it with shared(bytes as a formula of x, y, z) or shared(keep)
    waits<<<n, 256>>>(n, a);
    spelled<<<n, 256>>>(a);
    old<<<n, 256>>>(a, n);
    warp<<<n, 256>>>(c);
    reduces<<<n, 64>>>(c);
    partial<<<n, 256>>>(c);
    queue<<<n, 256>>>(n, c);  // expect CT216: kernel 'queue' uses the result of atomicAdd, which depends on the order of threads; write the kernel without that result
    wrong<<<n, 256>>>(p, n, a);
    rows<<<n, 256>>>(a, n);
    columns<<<dim3((n + 15) / 16, 4), dim3(16, 16)>>>(a, n);
}
