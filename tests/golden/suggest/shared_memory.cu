// How dynamic shared memory follows the block is proposed where the launch shows it.
__global__ void sums(int n, const float *a, float *b) {
    extern __shared__ float tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) tile[threadIdx.x] += tile[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(b, tile[0]);
}
__global__ void turned(int n, const float *a, float *b) {
    extern __shared__ float tile[];
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    tile[threadIdx.y * (blockDim.x + 1) + threadIdx.x] = a[y * n + x];
    __syncthreads();
    b[x * n + y] = tile[threadIdx.y * (blockDim.x + 1) + threadIdx.x];
}
void run(int n, const float *a, float *b) {
    const int threads = 256;
    const int blocks = (n + threads - 1) / threads;
    sums<<<blocks, threads, threads * sizeof(float)>>>(n, a, b);  // expect CT284: kernel 'sums' adds up rounded numbers in an order that its block decides; where any order will do, write '#pragma cutune kernel sums associative' before it, or give --associative-math
    dim3 block(32, 8), grid(n / block.x, n / block.y);
    size_t bytes = (block.x + 1) * block.y * sizeof(*b);
    turned<<<grid, block, bytes>>>(n, a, b);  // expect CT211: kernel 'turned' uses shared memory, which may depend on the block's shape: 'tile' has a place for each threadIdx.y
    bytes = (block.x + 1) * block.y * sizeof(float);
    turned<<<grid, block, bytes>>>(n, a, b);  // expect CT211: kernel 'turned' uses shared memory, which may depend on the block's shape: 'tile' has a place for each threadIdx.y
}
