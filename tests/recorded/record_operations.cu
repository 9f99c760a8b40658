// Runs the kernels operation_0, operation_1, ... of a cubin on a GPU.
// record_operations MODULE INPUTS OUTPUTS: inputs are kernels, threads (32-bit), then per kernel and
// thread three 64-bit words; outputs one word each. tests/recorded/record_operations.py calls it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

static void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    FILE* in = fopen(argv[2], "rb");
    uint32_t size[2];
    if (!in || fread(size, 4, 2, in) != 2) return 2;
    std::vector<uint64_t> inputs(size_t(size[0]) * size[1] * 3), outputs(size_t(size[0]) * size[1]);
    if (fread(inputs.data(), 8, inputs.size(), in) != inputs.size()) return 2;
    fclose(in);
    cudaLibrary_t library;
    check(cudaLibraryLoadFromFile(&library, argv[1], 0, 0, 0, 0, 0, 0), "load");
    uint64_t *from, *to;
    check(cudaMalloc(&from, inputs.size() * 8), "malloc");
    check(cudaMalloc(&to, outputs.size() * 8), "malloc");
    check(cudaMemcpy(from, inputs.data(), inputs.size() * 8, cudaMemcpyHostToDevice), "copy");
    check(cudaMemset(to, 0, outputs.size() * 8), "set");
    for (uint32_t k = 0; k < size[0]; k++) {
        cudaKernel_t kernel;
        check(cudaLibraryGetKernel(&kernel, library, ("operation_" + std::to_string(k)).c_str()),
              "kernel");
        uint64_t *a = from + size_t(k) * size[1] * 3, *b = to + size_t(k) * size[1];
        void* arguments[] = {&a, &b};
        check(cudaLaunchKernel((const void*)kernel, dim3(size[1] / 32), dim3(32), arguments, 0, 0),
              "launch");
    }
    check(cudaMemcpy(outputs.data(), to, outputs.size() * 8, cudaMemcpyDeviceToHost), "copy");
    FILE* out = fopen(argv[3], "wb");
    fwrite(outputs.data(), 8, outputs.size(), out);
    fclose(out);
    printf("%u kernels\n", size[0]);
}
