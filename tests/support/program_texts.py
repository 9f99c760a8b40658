"""Texts of small programs that several tests change, read or compile."""

from __future__ import annotations

#: A kernel and its launches, all tunable; two are in one line.
THREE_LAUNCHES = """\
__global__ void k(int *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = i; }
void f(int *a, int n) {
    k<<<n / 64, 64>>>(a, n);
    k<<<n / 32, 32>>>(a, n); k<<<n / 16, 16>>>(a, n);
}
"""

#: A program that is compiled with a header, and prints whether its kernel has run.
TIMES_FACTOR = """\
#include <cstdio>
#include <cstdlib>
#include "factor.h"
__global__ void scale(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= FACTOR;
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    float *a;
    cudaMalloc(&a, n * sizeof(float));
    cudaMemset(a, 0, n * sizeof(float));
    scale<<<(n + 255) / 256, 256>>>(n, a);
    printf("%d\\n", cudaDeviceSynchronize());
}
"""

#: A block adds up its row: lanes tell each other, and warps leave their sums in slots.
SUM_OF_ROW = """\
__global__ void NAME(int n, float *a) {
    __shared__ float s[32];
    float t = 0;
    for (int j = threadIdx.x; j < n; j += blockDim.x) t += a[blockIdx.x * n + j];
    for (int k = 16; k; k /= 2) t += __shfl_xor_sync(~0u, t, k);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = t;
    __syncthreads();
    t = 0;
    for (int w = 0; w < blockDim.x / 32; ++w) t += s[w];
    if (threadIdx.x == 0) a[blockIdx.x * n] = t;
}
"""

#: A module that the emulated machine executes.
PTX_MODULE = """\
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .f32 table[4] = {0f3F800000, 0f40000000, 0f40400000, 0f40800000};
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
{
    .reg .pred %p<3>;
    .reg .f32 %f<4>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;
    .shared .align 4 .b8 part[128];
    ld.param.u64 %rd1, [k_param_0];
    ld.param.u32 %r1, [k_param_1];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra $L_end;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.s32 %rd3, %r5, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4+8];
    fma.rn.f32 %f2, %f1, 0f40000000, %f1;
    atom.global.add.f32 %f3, [%rd4], %f2;
    st.global.f32 [%rd4], %f3;
    bar.sync 0;
$L_end:
    ret;
}
"""
