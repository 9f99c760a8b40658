/* Out-of-place matrix transpose through a padded shared tile.
 * A block of TILE_DIM x BLOCK_ROWS threads moves a TILE_DIM x TILE_DIM tile,
 * so every thread handles TILE_DIM/BLOCK_ROWS rows.
 */
#include <stdio.h>
#include <stdlib.h>

enum {
    TILE_DIM   = 32,
    BLOCK_ROWS = 8
};

static void die_if(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(e));
        exit(EXIT_FAILURE);
    }
}

__global__ void transpose(float *out, const float *in, int width, int height)
{
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];

    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) {
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y + j) * width + x];
    }

    __syncthreads();

    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) {
        if (x < height && y + j < width)
            out[(size_t)(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
    }
}

int main(int argc, char *argv[])
{
    int width = 1024, height = 1024;
    int i, j;

    if (argc > 1) width = height = atoi(argv[1]);
    if (argc > 2) height = atoi(argv[2]);
    if (width <= 0 || height <= 0) {
        fprintf(stderr, "usage: %s [width [height]]\n", argv[0]);
        return 1;
    }

    size_t n = (size_t)width * height;
    float *in = (float *)malloc(n * sizeof(float));
    float *out = (float *)malloc(n * sizeof(float));
    if (!in || !out) {
        fprintf(stderr, "out of memory\n");
        return 1;
    }
    for (size_t k = 0; k < n; k++)
        in[k] = (float)((k * 2654435761u) % 10007u);

    float *d_in, *d_out;
    die_if(cudaMalloc((void **)&d_in, n * sizeof(float)), "cudaMalloc");
    die_if(cudaMalloc((void **)&d_out, n * sizeof(float)), "cudaMalloc");
    die_if(cudaMemset(d_out, 0, n * sizeof(float)), "cudaMemset");
    die_if(cudaMemcpy(d_in, in, n * sizeof(float), cudaMemcpyHostToDevice), "copy in");

    dim3 dimBlock(TILE_DIM, BLOCK_ROWS, 1);
    dim3 dimGrid((width + TILE_DIM - 1) / TILE_DIM,
                 (height + TILE_DIM - 1) / TILE_DIM, 1);

    transpose<<<dimGrid, dimBlock>>>(d_out, d_in, width, height);
    die_if(cudaGetLastError(), "transpose launch");
    die_if(cudaDeviceSynchronize(), "transpose");
    die_if(cudaMemcpy(out, d_out, n * sizeof(float), cudaMemcpyDeviceToHost), "copy out");

    int errors = 0;
    for (i = 0; i < height; i++)
        for (j = 0; j < width; j++)
            if (out[(size_t)j * height + i] != in[(size_t)i * width + j])
                errors++;

    /* weight by position, a plain sum would not notice a missing transpose */
    double checksum = 0.0;
    for (size_t k = 0; k < n; k++)
        checksum += (double)out[k] * (double)(k % 101 + 1);

    printf("%d x %d, checksum %.1f, %d errors\n", width, height, checksum, errors);
    puts(errors == 0 ? "PASS" : "FAIL");

    cudaFree(d_in);
    cudaFree(d_out);
    free(in);
    free(out);
    return errors != 0;
}
