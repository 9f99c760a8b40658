// EXPECT: tunable
// FLAGS: -std=c++17
#include "front.h"
#include "c014.cuh"
#include "./c014.cuh"
using lib::fill; using lib::Context;
using lib::detail::fill_kernel;
namespace app { using namespace lib; static void run(float *y, int n) { scale_kernel<<<(n + 255) / 256, 256>>>(y, 3.0f, n); [[maybe_unused]] int unused; [[likely]] fill_kernel<<<(n + 255) / 256, 256>>>(y, 1.5f, n); } }
__global__ void fill_some(float *y, int n, float a = 2.0f, int from = 0) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a + from; }
struct Guard { ~Guard() { cudaDeviceSynchronize(); } };
int main(int argc, char **argv) try {
    int n = size_of(argc, argv); float *y = filled<float>(n);
    fill(y, n); Context context; context.scale(y, 2.0f, n); app::run(y, n);
    fill_some<<<(n + 255) / 256, 256>>>(y, n);
    fill_some<<<(n + 1_k - 1) / 1_k, 1000>>>(y, n, 3.0f);
    fill_some<<<(n + 255) / 256, 256>>>(y, n, 3.0f, 0x1'0);
    { Guard g; if (int m = n / 2; m > 3) fill_some<<<(m + 255) / 256, 256>>>(y, m); else fill_some<<<1, 32>>>(y, m); }
    for (auto &&m : {n, n / 2, n / 4}) fill_some<<<(m + 255) / 256, 256>>>(y, m);
    do fill_some<<<(n + 255) / 256, 256>>>(y, n); while (false);
    goto end; end: fill_some<<<(n + 255) / 256, 256>>>(y, n);
    printed("y", y, n);
} catch (...) { return 1; }
