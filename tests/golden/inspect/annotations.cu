// Annotations that have no effect: each says why.
struct shape { int n; };
__global__ void k(shape p, int n, float *a, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = f;
}
#pragma cutune kernel k1 data(p.n)  // expect CT233: annotation ignored: 'p.n' is a member, whose value is not seen at the launch; pass it as an integer argument
__global__ void k1(shape p, int n, float *a, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = f;
}
#pragma cutune kernel k2 data(N)  // expect CT232: annotation ignored: 'N' is no integer parameter of kernel 'k2'; it has: n; did you mean 'n'?
__global__ void k2(shape p, int n, float *a, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = f;
}
#pragma cutune kernel k3 data(a)  // expect CT232: annotation ignored: 'a' is no integer parameter of kernel 'k3'; it has: n
__global__ void k3(shape p, int n, float *a, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = f;
}
#pragma cutune kernel k4 data(f)  // expect CT232: annotation ignored: 'f' is no integer parameter of kernel 'k4'; it has: n
__global__ void k4(shape p, int n, float *a, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = f;
}
#pragma cutune kernel k5 block(x: 33..40)  // expect CT234: annotation ignored: no thread block of 32 threads or more satisfies it
__global__ void k5(shape p, int n, float *a, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = f;
}
#pragma cutune kernel k6 block(x: 32..64) where(x > 64)  // expect CT234: annotation ignored: no thread block of 32 threads or more satisfies it
__global__ void k6(shape p, int n, float *a, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = f;
}
#pragma cutune kernel k7 block(y: 1..4)  // expect CT237: annotation ignored: kernel 'k7' does not index y; leave y out
__global__ void k7(shape p, int n, float *a, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = f;
}
#pragma cutune kernel k8 where(x <= n)  // expect CT239: annotation ignored: its condition holds 'n'; only x, y and z may occur in it
__global__ void k8(shape p, int n, float *a, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = f;
}
#pragma cutune kernel k9 grid(ceil(n / y))  // expect CT235: annotation ignored: write the grid in x as ceil(g / x) or g / x, with g a formula of integer parameters, or as keep; as a number only where block(...) does not name x
__global__ void k9(shape p, int n, float *a, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = f;
}
#pragma cutune kernel k10 grid(ceil((n < 4) / x))  // expect CT235: annotation ignored: write the grid in x as ceil(g / x) or g / x, with g a formula of integer parameters, or as keep; as a number only where block(...) does not name x
__global__ void k10(shape p, int n, float *a, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = f;
}
#pragma cutune kernel k11 grid(n)  // expect CT235: annotation ignored: write the grid in x as ceil(g / x) or g / x, with g a formula of integer parameters, or as keep; as a number only where block(...) does not name x
__global__ void k11(shape p, int n, float *a, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = f;
}
#pragma cutune kernel k12 grid(ceil(p.n / x))  // expect CT233: annotation ignored: 'p.n' is a member, whose value is not seen at the launch; pass it as an integer argument
__global__ void k12(shape p, int n, float *a, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = f;
}
#pragma cutune kernel k13 data(  // expect CT103: pragma ignored: not understood at 'its end'
__global__ void k13(shape p, int n, float *a, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = f;
}
#pragma cutune kernel k14 block(x: 64, 128) grid(1)  // expect CT235: annotation ignored: write the grid in x as ceil(g / x) or g / x, with g a formula of integer parameters, or as keep; as a number only where block(...) does not name x
__global__ void k14(shape p, int n, float *a, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = f;
}
#pragma cutune kernel none data(n)  // expect CT231: annotation ignored: no kernel is named 'none'; known: k, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13, k14, silent
#pragma cutune kernel silent data(n)  // expect CT236: annotation of kernel 'silent' names no dimension; add block(x: 32..1024) for those in which any block gives the same results
__global__ void silent(int n, float *a) {
    __shared__ float b;
    b = a[threadIdx.x];
    a[threadIdx.x + blockIdx.x * blockDim.x] = b;
}
