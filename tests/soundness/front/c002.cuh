#ifndef C002
#define C002
template <class T> __global__ void scale(T *y, T a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] *= a; }
inline void twice(float *y, int n) {
    scale<<<(n + 255) / 256, 256>>>(y, 2.0f, n);
}
#endif
#ifdef NAME
inline void NAME(float *y, int n) { scale<<<(n + 127) / 128, 128>>>(y, 3.0f, n); }
#undef NAME
#endif
