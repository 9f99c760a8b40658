// EXPECT: tunable
#include "front.h"
__global__ void add(float *y, float größe, int länge) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < länge) y[i] += größe; }
namespace outer { inline namespace v2 { template <class T> __global__ void mul(T *y, T a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] *= a; } } }
struct Größen { int länge, \u00e4hnlich; };
void führeAus(float *y, Größen größen) {
    const int blöcke = (größen.länge + 255) / 256;
    add<<<blöcke, 256>>>(y, 2.0f, größen.länge);
    outer::mul<<<(größen.\u00e4hnlich + 127) / 128, 128>>>(y, 3.0f, größen.ähnlich);
    { using namespace outer; const auto 数 = größen.länge; mul<<<(数 + 255) / 256, 256>>>(y, 4.0f, 数); }
    { using outer::v2::mul; mul<float><<<blöcke, 256>>>(y, 0.5f, größen.länge); /* “<<<” */ }
}
int main(int argc, char **argv) {
    int n = size_of(argc, argv); float *y = filled<float>(n);
    führeAus(y, {n, n / 2}); std::printf("größe <<<%d>>>\n", n);
    printed("y", y, n);
}
