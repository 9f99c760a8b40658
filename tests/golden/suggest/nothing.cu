// All is well.
__global__ void fine(int *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = 0; }
void run(int *a, int n) { fine<<<n, 256>>>(a); }
