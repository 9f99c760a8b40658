// What an annotation would settle, and what it would not.
__global__ void absent(int *a); __global__ void tiled(const float *a, float *b, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = a[y * n + x];
    __syncthreads();
    b[y * n + x] = tile[threadIdx.y][threadIdx.x];
}
template <class T>
__global__ void waits(T *a) {
    a[blockIdx.x * blockDim.x + threadIdx.x] = 0;
    __syncthreads();
}
__global__ void late(int n, int *a) {
    int i = blockIdx.x * blockDim.x;
    if (n) i += threadIdx.x;
    if (i < n) a[i] = 0;
}
__global__ void dynamic(float *a) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = a[blockIdx.x * blockDim.x + threadIdx.x];
}
__global__ void warp(int *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = __shfl_xor_sync(0xffffffff, a[i], 1);
}
__global__ void fine(int *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = 0; }
__global__ void set(int *a, int value = 0 * 1) { a[blockIdx.x * blockDim.x + threadIdx.x] = value; }

void run(int *a, float *f, int n) {
    tiled<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(f, f, n);  // expect CT211: kernel 'tiled' uses shared memory, which may depend on the block's shape: 'tile' has a place for each threadIdx.x and threadIdx.y
    tiled<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(f, f, n);  // expect CT211: kernel 'tiled' uses shared memory, which may depend on the block's shape: 'tile' has a place for each threadIdx.x and threadIdx.y
    waits<float><<<n, 256>>>(f);
    late<<<n, 256>>>(n, a);  // expect CT217: kernel 'late' uses blockIdx.x and blockDim.x in an address other than as blockIdx.x * blockDim.x + threadIdx.x
    dynamic<<<n, 256, 1024>>>(f);  // expect CT211: kernel 'dynamic' uses shared memory, which may depend on the block's shape: 'tile' has a place for each threadIdx.x
    warp<<<n, 256>>>(a);
    set<<<n++, 256>>>(a);  // expect CT206: '++' in the launch may have a side effect; store its value in a variable first
    void (*pointer)(int *) = fine;
    pointer<<<n, 256>>>(a);  // expect CT208: 'pointer' is not the name of a kernel; launch the kernel by its name
    if (n, fine<<<n, 256>>>(a), n) return;  // expect CT205: the launch is part of a larger statement; make it a statement of its own
    absent<<<n, 256>>>(a);  // expect CT201: the definition of kernel 'absent' was not found; where another source of the program has it, name that source too
    fine<<<n, 256>>>(a);
#pragma cutune ignore
    fine<<<n, 256>>>(a);  // expect CT207: left alone by #pragma cutune ignore; remove it to have the launch tuned
}
