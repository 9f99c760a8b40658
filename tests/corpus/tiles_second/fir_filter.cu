/*
 * fir_filter.cu
 *
 * y[i] = sum_k h[k] * x[i - k],  x[i] = 0 for i < 0.
 *
 * A block produces OUT_PER_BLOCK outputs. It first brings the window of
 * inputs it needs (OUT_PER_BLOCK + NTAPS - 1 samples) into shared memory.
 */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NTAPS 64

#define BLOCK_DIM 128
#define OUT_PER_THREAD 4
#define OUT_PER_BLOCK (BLOCK_DIM * OUT_PER_THREAD)
#define WINDOW (OUT_PER_BLOCK + NTAPS - 1)

typedef struct {
    int n;
    const float *x;
    float *y;
} fir_args_t;

__constant__ float c_taps[NTAPS];

__global__ void fir_kernel(fir_args_t args)
{
    __shared__ float win[WINDOW];

    const int out0 = blockIdx.x * OUT_PER_BLOCK;
    const int in0 = out0 - (NTAPS - 1);

    for (int w = threadIdx.x; w < WINDOW; w += BLOCK_DIM) {
        int g = in0 + w;
        win[w] = (g >= 0 && g < args.n) ? args.x[g] : 0.0f;
    }
    __syncthreads();

    float acc[OUT_PER_THREAD];
    for (int o = 0; o < OUT_PER_THREAD; o++)
        acc[o] = 0.0f;

    for (int k = 0; k < NTAPS; k++) {
        float h = c_taps[k];
#pragma unroll
        for (int o = 0; o < OUT_PER_THREAD; o++)
            acc[o] += h * win[threadIdx.x + o * BLOCK_DIM + (NTAPS - 1) - k];
    }

    for (int o = 0; o < OUT_PER_THREAD; o++) {
        int g = out0 + o * BLOCK_DIM + threadIdx.x;
        if (g < args.n)
            args.y[g] = acc[o];
    }
}

static void design_lowpass(float *h)
{
    /* windowed sinc, cutoff at 0.1 of the sample rate */
    const double pi = 3.14159265358979323846, fc = 0.1;
    double sum = 0.0;
    for (int k = 0; k < NTAPS; k++) {
        double t = k - (NTAPS - 1) / 2.0;
        double sinc = fabs(t) < 1e-9 ? 2.0 * fc : sin(2.0 * pi * fc * t) / (pi * t);
        double hamming = 0.54 - 0.46 * cos(2.0 * pi * k / (NTAPS - 1));
        h[k] = (float)(sinc * hamming);
        sum += h[k];
    }
    for (int k = 0; k < NTAPS; k++)
        h[k] = (float)(h[k] / sum);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1 << 20;
    assert(n > 0);

    float taps[NTAPS];
    design_lowpass(taps);

    float *x = (float *)malloc(sizeof(float) * n);
    float *y = (float *)malloc(sizeof(float) * n);
    uint32_t r = 99;
    for (int i = 0; i < n; i++) {
        r = r * 1103515245u + 12345u;
        x[i] = (float)((r >> 16) & 0x7fff) / 16384.0f - 1.0f + ((i / 200) % 2 ? 0.5f : -0.5f);
    }

    float *d_x, *d_y;
    cudaError_t e;
    e = cudaMalloc((void **)&d_x, sizeof(float) * n);
    assert(e == cudaSuccess);
    e = cudaMalloc((void **)&d_y, sizeof(float) * n);
    assert(e == cudaSuccess);
    e = cudaMemcpy(d_x, x, sizeof(float) * n, cudaMemcpyHostToDevice);
    assert(e == cudaSuccess);
    e = cudaMemcpyToSymbol(c_taps, taps, sizeof(taps));
    assert(e == cudaSuccess);

    fir_args_t args = { n, d_x, d_y };
    fir_kernel<<<(n + OUT_PER_BLOCK - 1) / OUT_PER_BLOCK, BLOCK_DIM>>>(args);
    e = cudaGetLastError();
    assert(e == cudaSuccess);
    e = cudaMemcpy(y, d_y, sizeof(float) * n, cudaMemcpyDeviceToHost);
    assert(e == cudaSuccess);

    int failed = 0;
    double checksum = 0.0;
    for (int i = 0; i < n; i++)
        checksum += fabs(y[i]);
    int stride = n / 50000 + 1;
    for (int i = 0; i < n; i += stride) {
        double want = 0.0;
        for (int k = 0; k < NTAPS && k <= i; k++)
            want += (double)taps[k] * x[i - k];
        if (!(fabs(want - y[i]) < 1e-4))
            failed++;
    }
    printf("%d samples, checksum %.5f, failed %d\n", n, checksum, failed);
    printf("%s\n", failed ? "FAIL" : "PASS");

    (void)e;
    cudaFree(d_x);
    cudaFree(d_y);
    free(x);
    free(y);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
