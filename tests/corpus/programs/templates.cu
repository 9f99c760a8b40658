// Kernels as templates over types and functors, and cudaLaunchKernelEx.
#include "check.h"

struct Square {
    template <class T>
    __device__ T operator()(T x) const {
        return x * x;
    }
};

struct Scale {
    double by;
    template <class T>
    __device__ T operator()(T x) const {
        return (T)(x * by);
    }
};

template <class T, class F>
__global__ void apply(int n, T *x, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = f(x[i]);
}

template <class T, class F>
void check_apply(F f, T factor_of_three) {
    const int n = 100;
    T host[n], *device;
    for (int i = 0; i < n; ++i) host[i] = (T)3;
    SUCCEED(cudaMalloc(&device, sizeof host));
    SUCCEED(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    apply<<<2, 64>>>(n, device, f);
    SUCCEED(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) REQUIRE(host[i] == factor_of_three);
    SUCCEED(cudaFree(device));
}

int main() {
    check_apply<float>(Square(), 9.0f);
    check_apply<double>(Square(), 9.0);
    check_apply<int>(Scale{2.5}, 7);
    check_apply<long long>(Square(), 9);
    check_apply<unsigned char>(Scale{2.0}, 6);
    int *x, host = 5;
    SUCCEED(cudaMalloc(&x, sizeof host));
    SUCCEED(cudaMemcpy(x, &host, sizeof host, cudaMemcpyHostToDevice));
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 32;
    SUCCEED(cudaLaunchKernelEx(&config, apply<int, Square>, 1, x, Square()));
    SUCCEED(cudaMemcpy(&host, x, sizeof host, cudaMemcpyDeviceToHost));
    REQUIRE(host == 25);
    return pass();
}
