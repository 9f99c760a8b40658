// EXPECT: tunable
// FLAGS: -std=c++20
#include <cstdio>
#include <cstdlib>
#include <array>
#include <tuple>
#include <utility>
#include <functional>
struct Size { int n, m; };
struct Odd { int v; Odd operator+(int k) const { static int c; printf("+%d\n", ++c); return {v + k}; } operator int() const { return v; } };
template <class T> __global__ void mul(T *y, T a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] *= a; }
__global__ void mul(float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] *= 3; }
Size size_of(int n) { return {n, 3}; }
std::tuple<Odd, int> odd_of(int n) { return {Odd{n}, n}; }
auto unknown(int n) { return Size{n, 3}; }
int main(int argc, char **argv) {
    const int N = argc > 1 ? atoi(argv[1]) : 1000;
    float *y; cudaMallocManaged(&y, N * 4);
    for (int i = 0; i < N; i++) y[i] = 2 * i;
    auto [n, half] = Size{N, 2};
    const auto [g, b] = std::pair<int, int>{(n + 255) / 256, 256};
    auto [s1, s2] = size_of(N);
    Size whole = size_of(N);
    auto &[w1, w2] = whole;
    auto [o1, o2] = odd_of(N);
    auto [u1, u2] = unknown(N);
    auto [a1, a2] = std::array<int, 2>{N, N};
    mul<<<(n + 255) / 256, 256>>>(y, 2.0f, n);
    mul<<<g + 0, b * 1>>>(y, 2.0f, n);
    mul<<<(s1 + 255) / 256, 256>>>(y, 2.0f, s1);
    mul<<<(w1 + 255) / 256, 256>>>(y, 2.0f, w1);
    mul<<<(a1 + 255) / 256, 256>>>(y, 2.0f, a1);
    mul<<<(o1 + 255) / 256, 256>>>(y, 2.0f, o2);
    mul<<<(u1 + 255) / 256, 256>>>(y, 2.0f, u1);
    auto f = [&](int k, float a) { mul<<<(k + 255) / 256, 256>>>(y, a, k); };
    f(n / 2, 3);
    auto h = [&](auto k) { mul<<<(k + 255) / 256, 256>>>(y, 1.f, k); };
    h(n / 2);
    { const int size = u1; mul<<<(size + 255) / 256, 256>>>(y, 2.0f, size); }
    cudaDeviceSynchronize(); double s = 0; for (int i = 0; i < n; i++) s += y[i]; printf("%g\n", s);
}
