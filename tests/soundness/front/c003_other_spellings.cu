// EXPECT: tunable
#include <cstdio>
#include <cstdlib>
__global__ void ad\
d(float *y, const float *x, int n) <% int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y<:i:> += x[i]; %>
__global__ void mul(float *y, const float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] *= x[i]; }
__global__ void sub(float *y, const float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] -= x[i]; }
int main(int argc, char **argv) <%
    int n = argc > 1 ? atoi(argv<:1:>) : 1000;
    float *x, *y; cudaMallocManaged(&x, n * 4); cudaMallocManaged(&y, n * 4);
    for (int i = 0; i < n; i++) <% x<:i:> = i; y[i] = 2 * i; %>
    add<<<(n + 255) / 256, 256>>>(y, x, n);
    mul <<< // grid
      (n + 255) / 256, /* the
      block */ 256
      >>> // now the arguments
      (y, x, n);
    su\
b<\
<<(n + 255) / 256, 256>\
>>(y, x, n);
    add
    /* comment */
    <<<
    (n + 127) / 128 // grid
    ,
    128
    /* */
    >>>
    (y,
     x,
     n);
    mul<\
<\
<(n + 63) / 64, 64>>>(y, x, n);
    cudaDeviceSynchronize(); double s = 0; for (int i = 0; i < n; i++) s += y[i]; printf("%g\n", s);
%>
