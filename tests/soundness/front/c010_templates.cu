// EXPECT: tunable
// FLAGS: -std=c++20 --extended-lambda
#include "front.h"
#include <type_traits>
#include <tuple>
template <class T, class Op> __global__ void apply(T *y, Op op, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = op(y[i]); }
template <int K, class T> __global__ void addk(T *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += K; }
template <auto V> __global__ void addv(float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += V; }
template <class T> void each(T *y, int n) {
    const auto run = [=]<class U>(U *p, auto m) {
        if constexpr (std::is_same_v<U, float>) addk<3><<<(m + 255) / 256, 256>>>(p, m);
        else if constexpr (sizeof(U) == 4) { addk<5><<<(m + 127) / 128, 128>>>(p, m); }
        else addk<7, U><<<(m + 127) / 128, 128>>>(p, m);
    };
    run(y, n);
    apply<<<(n + 255) / 256, 256>>>(y, [] __device__(T v) { return v * 2; }, n);
    switch (n % 3) { case 0: addv<1><<<(n + 255) / 256, 256>>>((float *)y, n); break; case 1: { addv<2><<<(n + 255) / 256, 256>>>((float *)y, n); } break; default: addv<'c'><<<(n + 255) / 256, 256>>>((float *)y, n); }
}
template <class... T> void all(int n, T *...p) { (each(p, n), ...); (addv<4u><<<(n + 255) / 256, 256>>>((float *)p, n), ...); }
int main(int argc, char **argv) {
    int n = size_of(argc, argv); auto *x = filled<float>(n); auto *y = filled<int>(n, 3); auto *z = filled<double>(n, 5);
    all(n, x, y, z);
    [[maybe_unused]] auto later = [&, m = n / 2] { for (int k = 0; k < 2; ++k) addv<9><<<(m + 255) / 256, 256>>>(x, m); };
    later();
    printed("x", x, n); printed("y", y, n); printed("z", z, n);
}
