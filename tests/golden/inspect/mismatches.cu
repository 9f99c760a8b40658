// Launches that are larger than 1 where the kernel has no index, however that is spelled.
#define WIDTH 32
#define HEIGHT 8
const int DEPTH = 4;
__global__ void line(int n, int *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 0;
}
__global__ void plane(int n, int *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) a[i * n + j] = 0;
}
int height(int n);
void change(int &n);

void certain(int n, int *a) {
    dim3 block(WIDTH, HEIGHT), grid((n + block.x - 1) / block.x, 1);
    line<<<grid, block>>>(n, a);  // expect CT230: kernel 'line' does not index y, but its block is 8 wide in y: 8 threads do the same work and race
    plane<<<grid, block>>>(n, a);
    dim3 later;
    later.x = 64;
    later.y = DEPTH;
    line<<<grid, later>>>(n, a);  // expect CT230: kernel 'line' does not index y, but its block is 4 wide in y: 4 threads do the same work and race
    int high = 2 * HEIGHT;
    dim3 copied = dim3(WIDTH, high);
    for (int k = 0; k < 3; ++k) {
        line<<<dim3(n / 32, 5),  // expect CT246: kernel 'line' does not index y, but its grid has 5 blocks in y: they all do the same work and race
               copied>>>(n, a);  // expect CT230: kernel 'line' does not index y, but its block is 16 wide in y: 16 threads do the same work and race
    }
    plane<<<n, dim3(16, 16, 4)>>>(n, a);  // expect CT230: kernel 'plane' does not index z, but its block is 4 wide in z: 4 threads do the same work and race
}

// Nothing is said where it is not certain.
void uncertain(int n, int *a, dim3 given) {
    dim3 block(32, 8);
    if (n < 8) block.y = 1;
    line<<<n, block>>>(n, a);
    dim3 changed(32, 8);
    for (int k = 0; k < 3; ++k) {
        line<<<n, changed>>>(n, a);
        changed.y = 1;
    }
    int rows = 8, passed = 8, pointed = 8;
    change(passed);
    int *pointer = &pointed;
    *pointer = 1;
    line<<<n, dim3(32, passed)>>>(n, a);
    line<<<n, dim3(32, pointed)>>>(n, a);
    if (n > 3)
        rows = 1;
    line<<<n, dim3(32, rows)>>>(n, a);
    line<<<n, dim3(32, height(n))>>>(n, a);
    line<<<n, given>>>(n, a);
    {
        dim3 block(64);
        line<<<n, block>>>(n, a);
    }
    switch (n) {
        case 1:
            rows = 8;
            break;
        default:
            line<<<n, dim3(32, rows)>>>(n, a);
    }
#ifdef NARROW
    dim3 compiled(32, 1);
#else
    dim3 compiled(32, 8);
#endif
    line<<<n, compiled>>>(n, a);
}
