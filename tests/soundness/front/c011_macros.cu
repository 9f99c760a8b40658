// EXPECT: partly
#include "front.h"
#define CONCAT(a, b) a##b
#define KERNEL(name) CONCAT(name, _kernel)
#define DEFINE(name, op) __global__ void KERNEL(name)(float *y, const float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] op x[i]; }
#define GRID(n, b) ((n) + (b) - 1) / (b), (b)
#define CHECK(...) do { __VA_ARGS__; if (cudaGetLastError() != cudaSuccess) std::printf("failed %s\n", #__VA_ARGS__); } while (0)
#define LAUNCH(k, n, ...) k<<<GRID(n, 256)>>>(__VA_ARGS__)
#define LBRACE {
#define RBRACE }
#define ARROWS <<<
DEFINE(add, +=)
DEFINE(sub, -=)
__global__ void mul(float *y, float a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] *= a; }
int main(int argc, char **argv) LBRACE
    int n = size_of(argc, argv); float *x = filled<float>(n), *y = filled<float>(n, 3);
    KERNEL(add)<<<GRID(n, 256)>>>(y, x, n);
    add_kernel<<<GRID(n, 128)>>>(y, x, n);
    LAUNCH(sub_kernel, n, y, x, n);
    CHECK(mul<<<(n + 255) / 256, 256>>>(y, 2.0f, n));
    if (n > 10) LBRACE mul<<<(n + 63) / 64, 64>>>(y, 3.0f, n); RBRACE
    mul ARROWS (n + 63) / 64, 64 >>>(y, 3.0f, n);
    const char *text = R"x(mul<<<1, 2>>>(y); )" { )x"; std::printf("%s %s\n", text, "mul<<<(n + 255) / 256, 256>>>(y, 2.0f, n);");
    /* mul<<<1, 2>>>(y); { */ // mul<<<1, 2>>>( \
       mul<<<1, 2>>>(y);
    char quote = '"'; char brace = '{'; std::printf("%c%c ??( ??/n\n", quote, brace);
    printed("y", y, n);
RBRACE
