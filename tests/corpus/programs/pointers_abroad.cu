// Kernels for `pointers.cu`, one of which has the name of another one there.
__global__ void abroad(int n, float *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 7;
}
static __global__ void twice(int n, float *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1000;
}
void (*foreign())(int, float *) { return twice; }
