#ifndef C014
#define C014
namespace lib { namespace detail { template <class T> __global__ void fill_kernel(T *y, T value, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = value + i % 7; } }
inline namespace v1 {
template <class T = float> inline cudaError_t fill(T *y, int n, T value = T(1), cudaStream_t stream = nullptr) { detail::fill_kernel<T><<<(n + 255) / 256, 256, 0, stream>>>(y, value, n); return cudaGetLastError(); }
struct Context { int threads = 128; cudaStream_t stream = nullptr; template <class T> void scale(T *y, T a, int n) const; [[nodiscard]] int blocks(int n) const noexcept { return (n + threads - 1) / threads; } };
template <class T> __global__ void scale_kernel(T *y, T a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] *= a; }
template <class T> void Context::scale(T *y, T a, int n) const { scale_kernel<<<blocks(n), threads, 0, stream>>>(y, a, n); }
} }
constexpr unsigned long long operator""_k(unsigned long long v) { return v * 1000; }
#endif
