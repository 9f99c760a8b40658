// EXPECT: tunable
#include "front.h"
#if 0
This isn't ) code: int broken( struct { [
#elif 0
 ) (
#endif
#ifdef NOT_THERE
int broken(
 struct { [
#else
int whole();
#endif
#ifdef NAMED
namespace named {
#endif
__global__ void add(float *y, const float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += x[i]; }
#ifdef NAMED
}
using namespace named;
#endif
int main(int argc, char **argv) {
    int n = size_of(argc, argv); float *x = filled<float>(n), *y = filled<float>(n, 3);
#ifdef NOT_THERE
    if (n > 3) {
#else
    {
#endif
        add<<<(n + 255) / 256, 256>>>(y, x, n);
    }
    printed("y", y, n);
}
