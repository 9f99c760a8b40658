// Which blocks are proposed: what the text of the kernel forbids is left out.
#define LONGEST 512
constexpr int TILE = 16;
// One block per row; its own text is not the place for blockIdx.x * blockDim.x.
__global__ void softmax(const float *a, float *b, int n) {
    __shared__ float cache[LONGEST];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += a[blockIdx.x * n + i];
    cache[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) cache[threadIdx.x] += cache[threadIdx.x + half];
        __syncthreads();
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x) b[blockIdx.x * n + i] = a[blockIdx.x * n + i] / cache[0];
}
__global__ void rows(float *a, int n) {
    __shared__ int last;
    const int row = blockIdx.y, width = blockDim.y;
    last = n;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = threadIdx.y; j < n; j += width) a[(row * n + j) * n + i] = last;
}
__global__ void warps(float *a, int n) {
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += a[blockIdx.x * n + i];
    sum += __shfl_xor_sync(0xffffffff, sum, 16);
    a[blockIdx.x] = sum;
}
// Shared arrays: as wide as their index allows, one thread more, by the name of a variable.
__global__ void scan(float *a) {
    __shared__ float first[LONGEST / 2], second[256 + 1];
    int tid = threadIdx.x, width = (int)blockDim.x, block = blockIdx.x;
    second[tid] = a[block * width + tid];
    __syncthreads();
    a[block * width + tid] = second[tid] + first[0];
}
__global__ void transposed(const float *a, float *b, int n) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = a[y * n + x];
    __syncthreads();
    b[x * n + y] = tile[threadIdx.y][threadIdx.x];
}
// One block alone.
__global__ void fixed(const float *a, float *b, int n) {
    __shared__ float tile[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    tile[threadIdx.x] = a[i];
    __syncthreads();
    b[i] = tile[TILE - 1 - threadIdx.x];
}
__global__ void narrow(float *a) {
    __shared__ float tile[TILE];
    tile[threadIdx.x] = a[blockIdx.x * blockDim.x + threadIdx.x];
}

void run(float *a, float *b, int n) {
    softmax<<<n, 256>>>(a, b, n);  // expect CT284: kernel 'softmax' adds up rounded numbers in an order that its block decides; where any order will do, write '#pragma cutune kernel softmax associative' before it, or give --associative-math
    rows<<<dim3(n / 32, 4), dim3(32, 8)>>>(a, n);  // expect CT211: kernel 'rows' uses shared memory, which may depend on the block's shape: threads of a block share 'last'
    warps<<<n, 256>>>(a, n);  // expect CT217: kernel 'warps' uses threadIdx.x, blockIdx.x and blockDim.x in an address other than as blockIdx.x * blockDim.x + threadIdx.x
    scan<<<n, 256>>>(a);  // expect CT211: kernel 'scan' uses shared memory, which may depend on the block's shape: 'second' has a place for each threadIdx.x
    transposed<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, n);  // expect CT211: kernel 'transposed' uses shared memory, which may depend on the block's shape: 'tile' has a place for each threadIdx.x and threadIdx.y
    fixed<<<n, TILE>>>(a, b, n);  // expect CT211: kernel 'fixed' uses shared memory, which may depend on the block's shape: 'tile' has a place for each threadIdx.x
    narrow<<<n, TILE>>>(a);  // expect CT221: kernel 'narrow' does not index its threads by blockIdx, blockDim and threadIdx, so that there is nothing to choose
}
