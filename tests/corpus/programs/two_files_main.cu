// Two translation units, each with a kernel of the same (static) name and a template of its own.
#include "check.h"

void add_ten(int *x);

static __global__ void step(int *x) { *x += 1; }

template <int amount>
__global__ void many(int *x) {
    *x += amount;
}

int main() {
    int *x, got = 0;
    SUCCEED(cudaMalloc(&x, sizeof(int)));
    SUCCEED(cudaMemset(x, 0, sizeof(int)));
    step<<<1, 1>>>(x);
    many<100><<<1, 1>>>(x);
    add_ten(x);
    SUCCEED(cudaMemcpy(&got, x, sizeof got, cudaMemcpyDeviceToHost));
    REQUIRE(got == 1 + 100 + 10 + 100 + 1000);
    return pass();
}
