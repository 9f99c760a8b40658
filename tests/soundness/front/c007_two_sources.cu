// EXPECT: tunable
// FLAGS: -rdc=true
#include "front.h"
__device__ float shifted(float x);
extern __device__ float factor;
__global__ void scale(float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = shifted(y[i]) * factor; }
void further(float *y, int n);
int main(int argc, char **argv) {
    int n = size_of(argc, argv); float *y = filled<float>(n);
    scale<<<(n + 255) / 256, 256>>>(y, n);
    further(y, n);
    printed("y", y, n);
}
