// Launches through pointers. Behind each are the kernels to which it may lead, or why it stays.
#include <cstdio>
#define ID const int i = blockIdx.x * blockDim.x + threadIdx.x
typedef void (*Kernel)(int, float *);
Kernel foreign();
__global__ void abroad(int n, float *x);
__global__ void declared(int n, float *x);
template <class K, class... A>
void early(K k, int g, int b, A... a) { k<<<g, b>>>(a...); }  // CT281
__global__ void add(int n, float *x) { ID; if (i < n) x[i] += 1; }
static __global__ void twice(int n, float *x) { ID; if (i < n) x[i] *= 2; }
namespace {
__global__ void hidden(int n, float *x) { ID; if (i < n) x[i] -= 3; }
}
namespace outer { namespace inner {
__global__ void deep(int n, float *x) { ID; if (i < n) x[i] += 5; }
} }
__global__ void over(int n, float *x) { ID; if (i < n) x[i] += 11; }
__global__ void over(int n, double *x) { ID; if (i < n) x[i] += 12; }
__global__ void bits(int n, unsigned int *x) { ID; if (i < n) x[i] ^= 1u; }
__global__ void more(const int n, float x[], float f) { ID; if (i < n) x[i] += f; }
__global__ void back(int n, float *__restrict__ x, float f) { ID; if (i < n) x[i] -= f; }
__global__ void by_256(int n, float *x, float f) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) x[i] *= f;
}
template <int K, class T> __global__ void power(int n, T *x) {
    ID;
    if (i < n) for (int k = 0; k < K; ++k) x[i] *= T(-1);
}
template <class T, int K = 2> __global__ void filled(int n, T *x) { ID; if (i < n) x[i] += K; }
__global__ void dynamic(int n, float *x) {
    extern __shared__ float s[];
    ID;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n) x[i] = s[blockDim.x - 1 - threadIdx.x];
}
struct Scale {
    float f;
    static int copies;
    Scale(float g) : f(g) {}
    __host__ __device__ Scale(const Scale &o) : f(o.f) {
#ifndef __CUDA_ARCH__
        ++copies;
#endif
    }
};
int Scale::copies = 0;
__global__ void by_class(int n, float *x, Scale s) { ID; if (i < n) x[i] *= s.f; }
void host(int n, float *) { printf("host %d\n", n); }

template <class F> void any(F k, dim3 g, dim3 b, int n, float *x) {
    k<<<g, b>>>(n, x, 1.5f);  // back by_256 more
}
void timed(void (*k)(int, float *, float), dim3 g, dim3 b, int n, float *x) {
    for (int i = 0; i < 2; ++i) k<<<g, b>>>(n, x, 0.5f);  // back by_256 more
}
void one(Kernel k, int n, float *x, cudaStream_t s) {
    k<<<(n + 127) / 128, 128, 0, s>>>(n, x);  // add declared deep filled hidden power twice
}
void with_memory(Kernel k, int n, float *x, int b) {
    k<<<(n + b - 1) / b, b, b * sizeof(float)>>>(n, x);  // add CT211 hidden twice
}
void classes(void (*k)(int, float *, Scale), int n, float *x) {
    k<<<(n + 127) / 128, 128>>>(n, x, Scale(2));  // by_class
}
void strange(Kernel k, int n, float *x) {
    k<<<(n + 127) / 128, 128>>>(n, x);  // add hidden twice
}
template <void (*K)(int, float *)> void fixed(int n, float *x) {
    K<<<(n + 127) / 128, 128>>>(n, x);  // add hidden twice
}
template <class F> void reference(F &k, int n, float *x) {
    k<<<(n + 127) / 128, 128>>>(n, x);  // add bits hidden twice
}
template <class F> void forwarded(F &&k, int n, float *x) {
    k<<<(n + 127) / 128, 128>>>(n, x);  // add bits hidden twice
}
struct Bench {
    Kernel fn;
    void go(int g, int b, int n, float *x) {
        fn<<<g, b>>>(n, x);  // add bits hidden twice
        this->fn<<<g, b>>>(n, x);  // add bits hidden twice
    }
};
void bench(Bench b, int n, float *x) { b.go((n + 127) / 128, 128, n, x); }
int asked = 0;
Kernel get(Kernel k) { ++asked; return k; }
int next(int &i) { return i++; }
void expressions(int n, float *x) {
    const int b = 128, g = (n + b - 1) / b;
    get(add)<<<g, b>>>(n, x);  // add bits hidden twice
    Kernel table[] = {twice, abroad, hidden};
    int i = 0;
    table[next(i)]<<<g, b>>>(n, x);  // add bits hidden twice
    (*table[next(i)])<<<g, b>>>(n, x);  // add bits hidden twice
    (n > 5 ? add : twice)<<<g, b>>>(n, x);  // add bits hidden twice
    if (n) table[2]<<<g, b>>>(n, x); else table[2]<<<g, 2 * b>>>(n, x);  // add bits hidden twice add bits hidden twice
    { auto add = twice; add<<<g, b>>>(n, x); }  // add bits hidden twice
    for (Kernel each : {add, hidden, abroad}) each<<<g, b>>>(n, x);  // add hidden twice
    printf("%d %d\n", i, asked);
}
void show(const char *what, const float *x) {
    float v[2];
    cudaMemcpy(v, x + 77, sizeof v, cudaMemcpyDeviceToHost);
    printf("%s %g %g %s\n", what, v[0], v[1], cudaGetErrorString(cudaGetLastError()));
}
int main() {
    const int n = 1000, b = 128, g = (n + b - 1) / b;
    float *x;
    cudaMalloc(&x, n * sizeof(double));
    cudaMemset(x, 0, n * sizeof(double));
    early(add, g, b, n, x);
    any(more, dim3(g), b, n, x); any(&back, dim3(g), b, n, x); any(by_256, 4, 256, n, x);
    show("any", x);
    timed(more, g, b, n, x); timed(back, g, b, n, x); timed(by_256, 4, 256, n, x);
    show("timed", x);
    one(add, n, x, 0); one(abroad, n, x, 0); one(foreign(), n, x, 0); one(twice, n, x, 0);
    one(hidden, n, x, 0); one(&outer::inner::deep, n, x, 0); one(over, n, x, 0);
    one(declared, n, x, 0); one(power<3, float>, n, x, 0); one(filled<float>, n, x, 0);
    one(host, n, x, 0);
    cudaGetLastError();
    show("one", x);
    with_memory(dynamic, n, x, 64); with_memory(add, n, x, 64);
    show("with memory", x);
    Scale::copies = 0;
    classes(by_class, n, x);
    printf("copies %d\n", Scale::copies);
    strange(reinterpret_cast<Kernel>(bits), n, x);
    fixed<add>(n, x); fixed<twice>(n, x);
    reference(add, n, x); forwarded(hidden, n, x); forwarded(add, n, x);
    bench({add}, n, x);
    show("classes", x);
    expressions(n, x);
    show("expressions", x);
}
__global__ void declared(int n, float *x) { ID; if (i < n) x[i] += 13; }
