// A call that the emulated device lacks fails with an error of its own, not with a crash.
#include "check.h"

int main() {
    cudaGraph_t graph;
    EXPECT(cudaErrorNotSupported, cudaGraphCreate(&graph, 0));
    EXPECT(cudaErrorNotSupported, cudaGetLastError());
    return pass();
}
