// EXPECT: tunable
#include "front.h"
#define BODY(op) \
    int i = blockIdx.x * blockDim.x + threadIdx.x; \
    if (i < n) y[i] op a;
__global__ void add(float *y, float a, int n) {
    BODY(+=)
}
#if 0
this isn't "code ( {
#endif
__global__ void
mul(float *y,
    float a, int n)
{
    BODY(*=)
}
int main(int argc, char **argv)
{
    int n = size_of(argc, argv); float *y = filled<float>(n);
    add
        <<<(n + 255) / 256,
           256>>>
        (y, 2.0f, n);
    mul<<<(n + 255) / 256, 256>>>(y, 3.0f, \
        n);
    const char *t = R"(a
b)"; printf("%d\n", (int)t[1]);
    printed("y", y, n);
}
