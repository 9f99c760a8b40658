// EXPECT: tunable
// WHY: control: what is loaded, and whether anything is stored, depends on a byte
// SIZES: 100,1000,4001
#include "data.h"


__global__ void chosen(const unsigned char *which, const float *a, const float *b, float *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (which[i] > 200) return;
    if (which[i] > 100) to[i] = a[i] * 2;
    else if (which[i] > 50) to[i] = b[which[i] % n] + 1;
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv);
    const unsigned char *which = on_device(drawn<unsigned char>(n, 256));
    const float *a = on_device(drawn<float>(n, 1000)), *b = on_device(drawn<float>(n, 50, 3));
    float *to = on_device(drawn<float>(n, 7));
    chosen<<<(n + 95) / 96, 96>>>(which, a, b, to, n);
    printed("to", to, n);
}
