// Vector addition with a guard, compared with the host.

#include "check.h"

__global__ void add(int n, const float *a, const float *b, float *c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? std::atoi(argv[1]) : 1000;
    float *a = new float[n], *b = new float[n], *c = new float[n];
    for (int i = 0; i < n; ++i) a[i] = 0.5f * i, b[i] = 3.0f - i;
    float *da, *db, *dc;
    const size_t bytes = n * sizeof(float);
    SUCCEED(cudaMalloc(&da, bytes));
    SUCCEED(cudaMalloc(&db, bytes));
    SUCCEED(cudaMalloc(&dc, bytes));
    SUCCEED(cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice));
    SUCCEED(cudaMemcpy(db, b, bytes, cudaMemcpyHostToDevice));
    add<<<(n + 255) / 256, 256>>>(n, da, db, dc);
    SUCCEED(cudaGetLastError());
    SUCCEED(cudaDeviceSynchronize());
    SUCCEED(cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) REQUIRE(c[i] == a[i] + b[i]);
    SUCCEED(cudaFree(da));
    SUCCEED(cudaFree(db));
    SUCCEED(cudaFree(dc));
    return pass();
}
