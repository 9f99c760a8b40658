// Kernels of a header, and their launch.
#pragma once

__global__ void of_header(int n, float *to, const float *from) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int k = 0; k < 4; ++k) to[i] += from[i] * k;
}
__global__ void of_header(int n, double *to, const double *from) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int k = 0; k < 4; ++k) to[i] -= from[i] * k;
}
template <class T>
void in_header(int n, T *to, const T *from) {
    of_header<<<n / 32 + 1, 32>>>(n, to, from);
}
