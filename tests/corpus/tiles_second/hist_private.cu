/* 256-bin byte histogram; every block keeps COPIES private histograms in
 * shared memory and merges them into the global one at the end. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

static const int NUM_BINS = 256;

/* tuning knobs */
static const int THREADS_PER_BLOCK = 256;
static const int BYTES_PER_THREAD = 32;
static const int COPIES = 4;

__global__ void histogram_kernel(const unsigned char *data, unsigned int *bins, int n)
{
    __shared__ unsigned int local[COPIES * NUM_BINS];

    for (int i = threadIdx.x; i < COPIES * NUM_BINS; i += THREADS_PER_BLOCK)
        local[i] = 0;
    __syncthreads();

    unsigned int *mine = local + (threadIdx.x % COPIES) * NUM_BINS;
    int start = blockIdx.x * THREADS_PER_BLOCK * BYTES_PER_THREAD + threadIdx.x;
    for (int k = 0; k < BYTES_PER_THREAD; k++) {
        int pos = start + k * THREADS_PER_BLOCK;
        if (pos < n)
            atomicAdd(&mine[data[pos]], 1u);
    }
    __syncthreads();

    for (int b = threadIdx.x; b < NUM_BINS; b += THREADS_PER_BLOCK) {
        unsigned int total = 0;
        for (int c = 0; c < COPIES; c++)
            total += local[c * NUM_BINS + b];
        if (total > 0)
            atomicAdd(&bins[b], total);
    }
}

static void generate(unsigned char *p, int n)
{
    unsigned int x = 0x9e3779b9u;
    for (int i = 0; i < n; i++) {
        x = x * 69069u + 1u;
        /* sum of two bytes: a triangle, some bins are hit far more often */
        p[i] = (unsigned char)((((x >> 24) & 0xff) + ((x >> 15) & 0xff)) >> 1);
    }
}

int main(int argc, char **argv)
{
    int n = (argc > 1) ? atoi(argv[1]) : 4 * 1024 * 1024;
    if (n <= 0) {
        fprintf(stderr, "usage: %s [number of bytes]\n", argv[0]);
        return 1;
    }

    unsigned char *h_data = new unsigned char[n];
    unsigned int h_bins[NUM_BINS];
    unsigned int ref[NUM_BINS];
    generate(h_data, n);

    unsigned char *d_data = NULL;
    unsigned int *d_bins = NULL;
    cudaMalloc((void **)&d_data, n);
    cudaMalloc((void **)&d_bins, sizeof(h_bins));
    cudaMemcpy(d_data, h_data, n, cudaMemcpyHostToDevice);
    cudaMemset(d_bins, 0, sizeof(h_bins));

    int per_block = THREADS_PER_BLOCK * BYTES_PER_THREAD;
    int num_blocks = (n + per_block - 1) / per_block;
    histogram_kernel<<<num_blocks, THREADS_PER_BLOCK>>>(d_data, d_bins, n);

    cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) {
        fprintf(stderr, "launch: %s\n", cudaGetErrorString(status));
        return 1;
    }
    status = cudaMemcpy(h_bins, d_bins, sizeof(h_bins), cudaMemcpyDeviceToHost);
    if (status != cudaSuccess) {
        fprintf(stderr, "memcpy: %s\n", cudaGetErrorString(status));
        return 1;
    }

    memset(ref, 0, sizeof(ref));
    for (int i = 0; i < n; i++)
        ref[h_data[i]]++;

    bool ok = true;
    unsigned long long checksum = 0;
    for (int b = 0; b < NUM_BINS; b++) {
        checksum += (unsigned long long)h_bins[b] * (b + 1);
        if (h_bins[b] != ref[b]) {
            if (ok)
                printf("bin %d: got %u, want %u\n", b, h_bins[b], ref[b]);
            ok = false;
        }
    }
    printf("checksum %llu\n", checksum);
    printf("%s\n", ok ? "PASS" : "FAIL");

    cudaFree(d_data);
    cudaFree(d_bins);
    delete[] h_data;
    return ok ? 0 : 1;
}
