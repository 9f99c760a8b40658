// EXPECT: refused
#include "front.h"
__global__ void add(float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += 1; }
#line 100 "generated.dsl"
__global__ void mul(float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] *= 2; }
int main(int argc, char **argv) {
    int n = size_of(argc, argv); float *y = filled<float>(n);
#line 5
    add<<<(n + 255) / 256, 256>>>(y, n);
# 12 "c016_lines.cu"
    mul<<<(n + 255) / 256, 256>>>(y, n);
#ifdef NOPE
    broken( {
#endif
    printed("y", y, n);
}
