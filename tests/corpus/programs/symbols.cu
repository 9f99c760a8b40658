// __constant__ and __device__ variables: copied to, from, found by address and size.
#include "check.h"

__constant__ int table[8];
__constant__ float factor = 2.5f;
__device__ int counter = 40;
__device__ double results[4] = {1.0, 2.0};
static __device__ int hidden = 7;

__global__ void use(int *out) {
    int i = threadIdx.x;
    out[i] = table[i] * (int)(factor * 2.0f) + hidden;
    if (i == 0) {
        counter += 2;
        results[2] = results[0] + results[1];
    }
}

int main() {
    int values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got[8], *out, count = 0;
    double sums[4];
    size_t size = 0;
    void *address = nullptr;
    SUCCEED(cudaMemcpyToSymbol(table, values, sizeof values));
    SUCCEED(cudaMemcpyToSymbol(table, values + 3, sizeof(int), 2 * sizeof(int)));
    SUCCEED(cudaMalloc(&out, sizeof got));
    use<<<1, 8>>>(out);
    SUCCEED(cudaDeviceSynchronize());
    SUCCEED(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; ++i) REQUIRE(got[i] == (i == 2 ? 4 : values[i]) * 5 + 7);
    SUCCEED(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    REQUIRE(count == 42);
    SUCCEED(cudaMemcpyFromSymbol(sums, results, sizeof sums));
    REQUIRE(sums[2] == 3.0 && sums[3] == 0.0);
    SUCCEED(cudaGetSymbolSize(&size, results));
    REQUIRE(size == 32);
    SUCCEED(cudaGetSymbolAddress(&address, counter));
    SUCCEED(cudaMemset(address, 0, sizeof(int)));
    SUCCEED(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    REQUIRE(count == 0);
    EXPECT(cudaErrorInvalidValue, cudaMemcpyToSymbol(table, values, sizeof values, 4));
    EXPECT(cudaErrorInvalidSymbol, cudaMemcpyToSymbol((const void *)&count, values, 4));
    return pass();
}
